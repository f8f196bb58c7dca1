"""Amounts and speeds as integers of one unit, so that a transfer which is cut can be counted exactly.

One unit is the largest part of a bit that makes every plane's rate a whole number of units per tick.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance

Ints = npt.NDArray[Any]

LIMIT = 2**60
"""Largest sum of amounts: what is left of 64 bits keeps sums and differences safe."""


@dataclass(frozen=True, eq=False)
class Work:
    """What legs have to send and how fast planes send it.

    Attributes
    ----------
    leg_amount
        int64 ``[L]``: units to send; for legs of a given duration, ticks.
    leg_fixed
        bool ``[L]``: legs of an op with a given duration. Every plane sends one of their units a tick, without latency.
    plane_speed
        int64 ``[P]``: units that a circuit of a plane sends in a tick.
    plane_injection
        int64 ``[P]``: units that a host hands to its NIC in a tick (at least 1, rounded down).
    units_per_byte
        Units in one byte.
    """

    leg_amount: Ints
    leg_fixed: npt.NDArray[Any]
    plane_speed: Ints
    plane_injection: Ints
    units_per_byte: int


def work(instance: Instance) -> Work:
    """Amounts of an instance's legs in exact units.

    Sending ``leg_amount`` over one plane takes ``ceil(amount / speed)`` ticks, which is the op's duration less the
    plane's latency.

    Parameters
    ----------
    instance
        The problem.

    Raises
    ------
    InputError
        If the amounts do not fit 64 bits: odd rates on long transfers.
    """
    leg_op = derive(instance).leg_op
    per_second = 10**9 // instance.tick_ns
    shared = math.gcd(per_second, *(int(rate) for rate in instance.plane_rate_bps.tolist()))
    units_per_byte = 8 * (per_second // shared)
    fixed = instance.op_fixed_ticks[leg_op] >= 0
    total = float(instance.op_bytes[leg_op].sum(dtype=np.float64)) * units_per_byte
    if total >= LIMIT or float(instance.op_fixed_ticks[leg_op][fixed].sum(dtype=np.float64)) >= LIMIT:
        raise InputError(
            f"all transfers together carry {total:.3g} units of 1/{units_per_byte // 8} bit, more than 2**60",
            field="fabric.rate",
            maybe="use rates of whole Gb/s.",
        )
    amount = np.where(fixed, instance.op_fixed_ticks[leg_op], instance.op_bytes[leg_op] * units_per_byte)
    injection = np.maximum(instance.injection_rate_bps // shared, 1)
    return Work(amount.astype(np.int64), fixed, instance.plane_rate_bps // shared, injection, units_per_byte)
