"""The schedule beside its instance, ready to be checked: shapes tested, times tamed, durations recomputed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.instance.instance import Instance
from fluxscale.schedule.schedule import Schedule
from fluxscale.units import MAX_TICKS
from fluxscale.validate.violations import say_time

Ints = npt.NDArray[Any]

LIMIT = MAX_TICKS // 2
"""Times beyond it are violations, and are clipped to it, so that no sum of the checks leaves 64 bits."""


@dataclass(frozen=True)
class Facts:
    """What the checks look at.

    Attributes
    ----------
    instance, schedule
        As given.
    start, end
        int64 ``[n]``: of each op, from its start and our own reckoning of its duration.
    leg_op
        int32 ``[L]``: the op that a leg belongs to.
    leg_plane
        int64 ``[L]``: as in the schedule, 0 where that is no plane at all.
    leg_ok
        bool ``[L]``: whether both ends of the leg hang on one switch of its plane.
    period
        Claimed iteration time, clipped like all times.
    """

    instance: Instance
    schedule: Schedule
    start: Ints
    end: Ints
    leg_op: Ints
    leg_plane: Ints
    leg_ok: Ints
    period: int

    def time(self, ticks: Any) -> str:
        """A time in words."""
        return say_time(ticks, self.instance.tick_ns)


def gather(instance: Instance, schedule: Schedule) -> Facts:
    """Put a schedule beside its instance.

    Raises
    ------
    InputError
        If the schedule is for another instance, or its columns have wrong lengths.
    """
    if schedule.instance_sha256 != instance.sha256:
        raise InputError(
            "the schedule is for another instance",
            field="instance_sha256",
            value=schedule.instance_sha256,
            maybe=f"check it with the job, the fabric and the settings it was made for; this one is {instance.sha256}.",
        )
    _test_shapes(instance, schedule)
    leg_op = np.repeat(np.arange(instance.n_ops, dtype=np.int32), np.diff(instance.leg_indptr))
    plane = schedule.leg_plane.astype(np.int64)
    is_plane = (plane >= 0) & (plane < instance.n_planes)
    plane[~is_plane] = 0
    leg_ok = is_plane & on_one_switch(instance, plane, instance.leg_tx, instance.leg_rx)
    start = np.clip(schedule.op_start_ticks, -LIMIT, LIMIT)
    end = start + durations(instance, leg_op, plane)
    period = max(-LIMIT, min(LIMIT, int(schedule.iteration_time_ticks)))
    return Facts(instance, schedule, start, end, leg_op, plane, leg_ok, period)


def _test_shapes(instance: Instance, schedule: Schedule) -> None:
    rows = schedule.circuit_plane.shape
    for name, expected in (
        ("op_start_ticks", (instance.n_ops,)),
        ("leg_plane", (instance.n_legs,)),
        ("circuit_plane", (schedule.circuit_plane.size,)),
        ("circuit_tx", rows),
        ("circuit_rx", rows),
        ("circuit_up_from_ticks", rows),
        ("circuit_up_to_ticks", rows),
    ):
        shape = getattr(schedule, name).shape
        if shape != expected:
            raise InputError(f"the column has shape {shape}, not {expected}", field=name)
    claimed = schedule.iteration_time_ticks
    if isinstance(claimed, bool) or not isinstance(claimed, (int, np.integer)):
        raise InputError("the iteration time is no integer", field="iteration_time_ticks", value=claimed)


def on_one_switch(instance: Instance, plane: Ints, tx: Ints, rx: Ints) -> Ints:
    """Whether two endpoints hang on one switch of a plane, bool; all numbers must be in range."""
    if instance.n_planes == 0 or instance.n_endpoints == 0:
        return np.zeros(len(plane), dtype=bool)
    switch = instance.attach[plane, tx]
    return (switch >= 0) & (switch == instance.attach[plane, rx])


def durations(instance: Instance, leg_op: Ints, leg_plane: Ints) -> Ints:
    """Duration of each op in ticks, int64 ``[n]``; a gang takes as long as its slowest leg.

    Exact: latency + ceil(bytes x 8 / rate) is worked out in Python's integers, once for each size and plane.
    """
    ticks = np.clip(instance.op_fixed_ticks, 0, LIMIT)
    legs = np.flatnonzero(instance.op_fixed_ticks[leg_op] < 0)
    if not len(legs) or instance.n_planes == 0:
        return ticks
    op = leg_op[legs]
    sizes, which = np.unique(instance.op_bytes[op], return_inverse=True)
    table = np.empty((len(sizes), instance.n_planes), dtype=np.int64)
    nanobits = sizes.astype(object) * (8 * 10**9)
    for p in range(instance.n_planes):
        bits_a_tick = int(instance.plane_rate_bps[p]) * instance.tick_ns
        exact = int(instance.plane_latency_ticks[p]) - (-nanobits // bits_a_tick)
        table[:, p] = np.minimum(exact, LIMIT)
    first = np.flatnonzero(np.r_[True, op[1:] != op[:-1]])
    ticks[op[first]] = np.maximum.reduceat(table[which, leg_plane[legs]], first)
    return ticks
