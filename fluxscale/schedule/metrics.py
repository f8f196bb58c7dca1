"""Figures of a schedule: reconfigurations and how much of the circuits' time carries data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fluxscale.instance.derived import derive
from fluxscale.instance.instance import CYCLIC, Instance
from fluxscale.kernels.circuits import count_setups
from fluxscale.schedule.circuits import op_ends
from fluxscale.schedule.schedule import Schedule


@dataclass(frozen=True)
class Metrics:
    """Figures of a schedule.

    Attributes
    ----------
    reconfigurations
        Circuit set-ups: rows before which one of the two ports held another circuit, or, with a dark boundary, none.
    circuit_utilisation
        Share of the circuits' up time in which data flows (a duplex circuit counts both directions), or None without
        circuits.
    """

    reconfigurations: int
    circuit_utilisation: float | None


def metrics(instance: Instance, schedule: Schedule) -> Metrics:
    """Measure a valid schedule.

    Parameters
    ----------
    instance
        The problem.
    schedule
        Its schedule.
    """
    order = np.argsort(schedule.circuit_up_from_ticks, kind="stable")
    size = instance.n_planes * instance.n_endpoints * 2
    last_a, last_b = np.full(size, -1, dtype=np.int32), np.full(size, -1, dtype=np.int32)
    setups = 0
    for _ in range(2 if instance.boundary == CYCLIC else 1):
        setups = count_setups(
            order, schedule.circuit_plane, schedule.circuit_tx, schedule.circuit_rx, instance.n_endpoints,
            instance.plane_duplex,
            instance.boundary, last_a, last_b,
        )  # fmt: skip
    up = schedule.circuit_up_to_ticks - schedule.circuit_up_from_ticks
    directions = np.where(instance.plane_duplex[schedule.circuit_plane], 2, 1)
    up_ticks = float((up * directions).sum())
    ends = op_ends(instance, schedule.op_start_ticks, schedule.leg_plane)
    busy = float((ends - schedule.op_start_ticks)[derive(instance).leg_op].sum())
    return Metrics(int(setups), busy / up_ticks if up_ticks else None)
