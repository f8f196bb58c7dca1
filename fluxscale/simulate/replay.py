"""Replay: execute a schedule in integer time, as a fabric and its hosts would, with or without stragglers.

What the schedule decides is kept: the order on devices and ports, the circuits and their changes, and no op starts
before its planned time. What happens is computed: an op starts when its predecessors, its device and its circuits
allow it. So a valid schedule runs exactly as planned, and with jitter lateness spreads along the planned orders.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import CheckFailedError, InputError
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import CYCLIC, Instance
from fluxscale.kernels.replay import precedence_rank, run, wrap_need
from fluxscale.kernels.replay_links import Fabric, Legs, Rows, link, new_links
from fluxscale.schedule.circuits import op_ends
from fluxscale.schedule.schedule import Schedule
from fluxscale.simulate.jitter import jittered
from fluxscale.units import MAX_TICKS

Ints = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Replay:
    """What happened when a schedule was executed.

    Attributes
    ----------
    iteration_time_ticks
        Largest end; with a cyclic boundary the period.
    op_start_ticks, op_end_ticks
        int64 ``[n]``: when each op ran.
    late_ops
        Number of ops that started later than planned.
    max_lateness_ticks
        Largest lateness of a start.
    plane_dark_ticks
        int64 ``[P]``: dark time in all, one delay for each circuit set up (per-port) or for each change of
        the whole plane (all-stop). A change between two cyclic iterations is not counted.
    stretch
        Iteration time over the planned one (1.0: as planned).
    """

    iteration_time_ticks: int
    op_start_ticks: Ints
    op_end_ticks: Ints
    late_ops: int
    max_lateness_ticks: int
    plane_dark_ticks: Ints
    stretch: float


def replay(instance: Instance, schedule: Schedule, *, jitter: float = 0.0, seed: int = 0) -> Replay:
    """Execute a schedule.

    Parameters
    ----------
    instance
        The problem.
    schedule
        The schedule; its circuits are used as they are.
    jitter
        Every op takes longer by a factor drawn from [1, 1 + jitter]. 0: exactly as planned.
    seed
        Root seed of the factors; an op's factor depends on the seed and its number only.

    Raises
    ------
    InputError
        The schedule is for another instance, or the jitter is not a number from 0 to 1000.
    CheckFailedError
        A transfer has no circuit, or the planned orders contradict the precedence, so that ops wait for each other.
    """
    if not (math.isfinite(jitter) and 0 <= jitter <= 1000):
        raise InputError("jitter must be a number from 0 to 1000", field="jitter", value=jitter)
    if schedule.instance_sha256 != instance.sha256:
        raise InputError(
            "the schedule is for another instance", field="instance_sha256", value=schedule.instance_sha256
        )
    if float(schedule.iteration_time_ticks) * (1 + jitter) + instance.n_ops >= MAX_TICKS:
        raise InputError("the jittered iteration does not fit 64 bits", field="jitter", value=jitter)
    derived = derive(instance)
    planned = schedule.op_start_ticks
    planned_end = op_ends(instance, planned, schedule.leg_plane)
    leg_op, delay = derived.leg_op, instance.plane_delay_ticks
    # Where a change takes no time, nothing has to stop for it.
    all_stop = instance.plane_all_stop & (delay > 0)
    fabric = Fabric(instance.n_endpoints, delay, all_stop, instance.plane_duplex, instance.boundary)
    rows = Rows(
        _row_order(schedule),
        schedule.circuit_plane,
        schedule.circuit_tx,
        schedule.circuit_rx,
        schedule.circuit_up_from_ticks,
        schedule.circuit_up_to_ticks,
    )
    legs = Legs(
        _leg_order(instance, planned, planned_end),
        leg_op,
        schedule.leg_plane,
        instance.leg_tx,
        instance.leg_rx,
        planned[leg_op],
        planned_end[leg_op],
    )
    links = new_links(instance.n_legs, len(rows.tx))
    setups = np.zeros(instance.n_planes, dtype=np.int64)
    n_groups, stray = link(fabric, rows, legs, links, setups)
    if stray >= 0:
        _refuse_stray(instance, schedule, int(stray))

    duration = jittered(planned_end - planned, jitter, seed)
    start, end = planned.copy(), planned_end
    pending = np.diff(instance.pred_indptr) + (derived.prev_on_device >= 0) + np.diff(instance.leg_indptr)
    pending = pending.astype(np.int32)
    ran = run(
        duration,
        pending,
        derived.succ_indptr,
        derived.succ_index,
        derived.next_on_device,
        instance.leg_indptr,
        leg_op,
        links,
        n_groups,
        start,
        end,
    )
    if ran < instance.n_ops:
        _refuse_deadlock(instance, planned, pending, instance.n_ops - ran)

    total = int(end.max(initial=0))
    if instance.boundary == CYCLIC:
        need = wrap_need(fabric, legs._replace(start=start[leg_op], end=end[leg_op]), links.leg_group)
        total = max(total, int(need), schedule.iteration_time_ticks)
    late = start - planned
    planned_total = schedule.iteration_time_ticks
    return Replay(
        iteration_time_ticks=total,
        op_start_ticks=start,
        op_end_ticks=end,
        late_ops=int(np.count_nonzero(late)),
        max_lateness_ticks=int(late.max(initial=0)),
        plane_dark_ticks=setups * delay,
        stretch=total / planned_total if planned_total else 1.0,
    )


def _leg_order(instance: Instance, start: Ints, end: Ints) -> Ints:
    """Legs by planned start; legs that take no time come first, in the order of precedence."""
    derived = derive(instance)
    leg_op = derived.leg_op
    leg_start = start[leg_op]
    if len(leg_op) == 0 or int((end - start)[leg_op].min()) > 0:
        return np.argsort(leg_start, kind="stable").astype(np.int32)
    rank = np.full(instance.n_ops, -1, dtype=np.int32)
    scratch = np.empty(2 * instance.n_ops + len(instance.pred_index) + 1, dtype=np.int32)
    by_time = np.lexsort((end, start)).astype(np.int32)
    precedence_rank(by_time, instance.pred_indptr, instance.pred_index, derived.prev_on_device, rank, scratch)
    return np.lexsort((rank[leg_op], end[leg_op], leg_start)).astype(np.int32)


def _row_order(schedule: Schedule) -> Ints:
    """Circuit rows by opening; rows of no length come first."""
    up_from, up_to = schedule.circuit_up_from_ticks, schedule.circuit_up_to_ticks
    if np.any(up_to == up_from):
        return np.lexsort((up_to, up_from)).astype(np.int32)
    return np.argsort(up_from, kind="stable").astype(np.int32)


def _refuse_stray(instance: Instance, schedule: Schedule, leg: int) -> None:
    names = instance.names
    op = int(derive(instance).leg_op[leg])
    circuit = f"{names.endpoint(int(instance.leg_tx[leg]))} -> {names.endpoint(int(instance.leg_rx[leg]))}"
    where = (
        f"at {int(schedule.op_start_ticks[op]) * instance.tick_ns} ns on {names.plane(int(schedule.leg_plane[leg]))}"
    )
    raise CheckFailedError(
        f"{names.op(op)}: no circuit {circuit} is up for its whole duration {where}. Maybe: run fluxscale check."
    )


def _refuse_deadlock(instance: Instance, planned: Ints, pending: Ints, count: int) -> None:
    stuck = np.flatnonzero(pending > 0)
    op = int(stuck[np.argmin(planned[stuck])])
    raise CheckFailedError(
        f"{instance.names.op(op)}: planned at {int(planned[op]) * instance.tick_ns} ns, never starts; {count} ops wait "
        f"for each other, because the planned orders contradict the precedence. Maybe: run fluxscale check."
    )
