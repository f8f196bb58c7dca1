"""A planned schedule played by the fluid simulator: its circuits are the program, its starts the earliest times."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.instance import Instance
from fluxscale.instance.pairs import Pairs
from fluxscale.instance.work import work
from fluxscale.schedule.schedule import Schedule
from fluxscale.simulate.fluid import FluidSimulator
from fluxscale.simulate.windows import make_windows

Ints = npt.NDArray[Any]


def play_schedule(instance: Instance, schedule: Schedule) -> FluidSimulator:
    """Play a schedule under fluid rules; ops of a valid one start and end exactly as planned.

    Legs queue by pair and plane, because a plan says which plane carries what. Nothing starts before its planned start.

    Parameters
    ----------
    instance
        The problem.
    schedule
        Its schedule.

    Raises
    ------
    BackendError
        If a transfer's circuit is never up for long enough.
    """
    n, n_planes = instance.n_endpoints, instance.n_planes
    duplex = instance.plane_duplex[schedule.circuit_plane]
    leg_key = _key(instance.leg_tx, instance.leg_rx, schedule.leg_plane, n, n_planes)
    keys, leg_pair = np.unique(leg_key, return_inverse=True)
    tx = np.concatenate([schedule.circuit_tx, schedule.circuit_rx[duplex]])
    rx = np.concatenate([schedule.circuit_rx, schedule.circuit_tx[duplex]])
    plane = np.concatenate([schedule.circuit_plane, schedule.circuit_plane[duplex]])
    up_from = np.concatenate([schedule.circuit_up_from_ticks, schedule.circuit_up_from_ticks[duplex]])
    up_to = np.concatenate([schedule.circuit_up_to_ticks, schedule.circuit_up_to_ticks[duplex]])
    row_key = _key(tx, rx, plane, n, n_planes)
    at = np.minimum(np.searchsorted(keys, row_key), max(len(keys) - 1, 0))
    wanted = keys[at] == row_key if len(keys) else np.zeros(0, dtype=np.bool_)
    # A plan holds the circuit while the last bits travel; the latency comes after the sending here.
    amounts = work(instance)
    windows = make_windows(
        len(keys), at[wanted], plane[wanted], up_from[wanted], up_to[wanted], amounts.plane_speed,
        instance.plane_latency_ticks,
    )  # fmt: skip
    key_plane = (keys % n_planes).astype(np.int16)
    asked = Pairs(
        (keys // n_planes // n).astype(np.int32),
        (keys // n_planes % n).astype(np.int32),
        leg_pair.astype(np.int32).ravel(),
        np.arange(len(keys) + 1, dtype=np.int64),
        key_plane,
    )
    simulator = FluidSimulator(instance, not_before_ticks=schedule.op_start_ticks, asked=asked)
    simulator.play(windows)
    return simulator


def _key(tx: Ints, rx: Ints, plane: Ints, n: int, n_planes: int) -> Ints:
    return (tx.astype(np.int64) * n + rx) * n_planes + plane
