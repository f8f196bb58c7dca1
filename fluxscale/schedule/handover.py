"""What a host hands to its NIC and what the NIC sends, in integers of one unit: millibits, and millibits per tick.

1 Mbit/s is one millibit per ns. Rates count in whole Mbit/s, rounded down.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance

Ints = npt.NDArray[Any]

MILLIBITS = 8000
"""Millibits in a byte."""


def sending_rates(instance: Instance) -> Ints:
    """Line rate of each plane, int64 ``[P]`` in millibits per tick."""
    return np.maximum(instance.plane_rate_bps // 10**6, 1) * instance.tick_ns


def handing_rates(instance: Instance) -> Ints:
    """Injection rate of each plane, int64 ``[P]`` in millibits per tick."""
    return np.maximum(instance.injection_rate_bps // 10**6, 1) * instance.tick_ns


def leg_ports(instance: Instance, leg_plane: Ints) -> Ints:
    """Transmit port of each leg, int64 ``[L]``: plane x endpoints + endpoint."""
    return leg_plane.astype(np.int64) * instance.n_endpoints + instance.leg_tx


def leg_amounts(instance: Instance, op_ticks: Ints, leg_plane: Ints) -> Ints:
    """Millibits of each leg; a transfer with a given duration and no bytes carries what its plane sends in that time.

    Parameters
    ----------
    instance
        The problem.
    op_ticks
        int64 ``[n]``: duration of each op.
    leg_plane
        int16 ``[L]``: plane of each leg.

    Raises
    ------
    InputError
        A port carries more than 2**62 millibits in one iteration.
    """
    leg_op = derive(instance).leg_op
    size = instance.op_bytes[leg_op]
    given = (instance.op_fixed_ticks[leg_op] >= 0) & (size == 0)
    ticks, rate = op_ticks[leg_op], sending_rates(instance)[leg_plane]
    rough = np.where(given, ticks * rate.astype(np.float64), size * float(MILLIBITS))
    port = leg_ports(instance, leg_plane)
    totals = np.bincount(port, weights=rough, minlength=instance.n_planes * instance.n_endpoints)
    if len(rough) and totals.max() >= 2.0**62:
        name = instance.names.endpoint(int(totals.argmax()) % instance.n_endpoints)
        raise InputError(f"{name} sends more than 2**62 millibits in one iteration: too much to measure its buffer")
    return np.where(given, ticks * rate, size * MILLIBITS)
