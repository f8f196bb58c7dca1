"""Just-in-time shifting: the same plan at the same iteration time, with data appearing just when its circuit does.

The Flux paper (arXiv 2609.25949) reports NIC buffers a thousand times smaller than those of periodic schedulers, for
schedules whose producers finish when their circuit is ready; how it gets them it does not say. Here orders, planes and
iteration time stay as they are, and only starts move. Three moves make all candidates:

- *delay producers*: ops without circuits move later, up to the transfers they release, which stay;
- *all late*: everything moves as late as the iteration time allows, then transfers move back to as early as their
  producers and ports allow;
- *windows*: for a buffer size, conditions on when each leg may be released, met by delaying its last predecessor (a
  compute op, or a transfer whose own producer is then delayed in turn), as far as the iteration time allows. Sizes are
  bisected.

The smallest (largest peak of a port, total waiting) is kept. Transfers on all-stop planes do not move (a plane's
changes tie all of them together, so an early one would undo the gain elsewhere), and with a cyclic boundary the first
circuit of a port moves no earlier than it was, the last one no later than the wrap to the first allows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.instance import CYCLIC, Instance
from fluxscale.kernels.just_in_time_raise import ALWAYS, delay_producers, overflowing, windows
from fluxscale.schedule.circuits import stopping_planes
from fluxscale.solving.fixed_orders import FixedOrders, fix_orders
from fluxscale.solving.protocol import Plan

Ints = npt.NDArray[Any]

ROUNDS = 64
"""Most rounds of delaying producers and moving what follows, for one buffer size."""

WORK = 200_000_000
"""Ops, legs and edges that the rounds of the bisection may look at in all (some seconds); what is larger makes do with
the other moves."""


def shift(instance: Instance, plan: Plan, iteration_time_ticks: int) -> Plan:
    """Move starts so that the largest eager NIC buffer is small; never worse, never longer, as many set-ups.

    Parameters
    ----------
    instance
        The problem.
    plan
        A valid plan.
    iteration_time_ticks
        Its iteration time (the period when cyclic), which is kept.

    Returns
    -------
    Plan
        The plan as it was if it is not valid: that is for the check to say.
    """
    if not instance.n_legs or not _readable(instance, plan):
        return plan
    orders = fix_orders(instance, plan)
    floor, ceiling = bounds_of(orders, iteration_time_ticks)
    if (floor > orders.start).any() or (orders.start > ceiling).any():
        return plan
    if (orders.earliest(orders.start) != orders.start).any():
        return plan
    best = Best(orders)
    if best.rank == (0, 0):
        return plan
    best.take(_producers_late(orders, orders.start, ceiling))
    late = orders.latest(ceiling)
    _bisect(orders, floor, ceiling, late, best)
    back = orders.earliest(np.where(orders.has_legs, floor, late))
    best.take(_producers_late(orders, back, ceiling))
    return orders.plan(best.start)


def _readable(instance: Instance, plan: Plan) -> bool:
    """Whether every op has a start and every leg a plane that reaches both its ends."""
    start, plane = np.asarray(plan.op_start_ticks), np.asarray(plan.leg_plane)
    if start.shape != (instance.n_ops,) or plane.shape != (instance.n_legs,):
        return False
    if (plane < 0).any() or (plane >= instance.n_planes).any():
        return False
    switch = instance.attach[plane, instance.leg_tx]
    return bool(((switch >= 0) & (switch == instance.attach[plane, instance.leg_rx])).all())


class Best:
    """The best starts so far: smallest peak, then least waiting; what came first wins ties."""

    def __init__(self, orders: FixedOrders) -> None:
        self.orders = orders
        self.start = orders.start
        self.rank = _rank(orders, orders.start)

    def take(self, start: Ints) -> int:
        """Look at other starts, keep them if they are better, and return their peak in millibits."""
        start = self.orders.settle_back(self.orders.start, start)
        rank = _rank(self.orders, start)
        if rank < self.rank:
            self.start, self.rank = start, rank
        return rank[0]


def _rank(orders: FixedOrders, start: Ints) -> tuple[int, int]:
    peak, _, waiting = orders.peaks(start)
    return int(peak.max(initial=0)), waiting


def bounds_of(orders: FixedOrders, iteration_time_ticks: int) -> tuple[Ints, Ints]:
    """Earliest and latest start of each op by the boundary and the iteration time alone, int64.

    Transfers on all-stop planes are held where they are. With a cyclic boundary a port's first circuit comes up no
    earlier than it did, and its last one, where they differ, ends the delay before the next iteration's first.

    Parameters
    ----------
    orders
        The plan.
    iteration_time_ticks
        Its iteration time.
    """
    instance = orders.instance
    floor = orders.release.copy()
    ceiling = iteration_time_ticks - orders.op_ticks
    held = np.zeros(instance.n_legs, dtype=bool)
    if stopping_planes(instance).any():
        held = stopping_planes(instance)[orders.leg_plane]
    if instance.boundary == CYCLIC:
        _wrap_bounds(orders, iteration_time_ticks, floor, ceiling)
    ops = orders.leg_op[held]
    floor[ops] = ceiling[ops] = orders.start[ops]
    return floor, ceiling


def _wrap_bounds(orders: FixedOrders, period: int, floor: Ints, ceiling: Ints) -> None:
    """Keep what is first on a port no earlier, and what is last no later than the wrap to that allows."""
    instance, leg_op, plane = orders.instance, orders.leg_op, orders.leg_plane.astype(np.int64)
    duplex = instance.plane_duplex[plane]
    port_a = (plane * instance.n_endpoints + instance.leg_tx) * 2
    port_b = (plane * instance.n_endpoints + instance.leg_rx) * 2 + np.where(duplex, 0, 1)
    ports, peers = np.concatenate([port_a, port_b]), np.concatenate([port_b, port_a])
    legs = np.tile(np.arange(instance.n_legs), 2)
    start = orders.start[leg_op]
    end = start + orders.op_ticks[leg_op]
    by_start, by_end = np.lexsort((start[legs], ports)), np.lexsort((end[legs], ports))
    new = np.flatnonzero(np.r_[True, np.diff(ports[by_start]) != 0])
    first = by_start[new]
    last = by_end[np.r_[new[1:], len(ports)] - 1]
    first_start = np.zeros(int(ports.max(initial=0)) + 1, dtype=np.int64)
    first_start[ports[first]] = start[legs[first]]
    differ = np.zeros(len(first_start), dtype=bool)
    differ[ports[first]] = peers[first] != peers[last]
    at = differ[ports]
    op = leg_op[legs]
    np.maximum.at(floor, op[at], first_start[ports[at]])
    until = period + first_start[ports[at]] - instance.plane_delay_ticks[plane[legs[at]]]
    np.minimum.at(ceiling, op[at], until - orders.op_ticks[op[at]])


def _producers_late(orders: FixedOrders, start: Ints, ceiling: Ints) -> Ints:
    """Ops without legs as late as the transfers, which stay, and ``ceiling`` allow."""
    return orders.latest(np.where(orders.has_legs, start, ceiling))


def _bisect(orders: FixedOrders, floor: Ints, ceiling: Ints, late: Ints, best: Best) -> None:
    """Try buffer sizes, halving the stretch between what failed and what was reached."""
    budget = WORK // orders.size
    tries = min(16, budget // 8)
    rounds = min(ROUNDS, budget // max(1, 2 * tries))
    low, high = 0, best.rank[0]
    target = 0
    for _ in range(tries):
        reached = high
        for limit in (None, target):
            start, _ = raised(orders, orders.earliest(floor), late, target, rounds, limit=limit)
            reached = min(reached, best.take(_producers_late(orders, start, ceiling)))
            back = orders.earliest(np.where(orders.has_legs, floor, start))
            reached = min(reached, best.take(_producers_late(orders, back, ceiling)))
        if reached <= target:
            high = target
        else:
            low = target
        high = min(high, reached)
        if high - low <= max(1, high // 256):
            break
        target = (low + high) // 2


def raised(
    orders: FixedOrders, start: Ints, late: Ints, target: int, rounds: int, *, limit: int | None = None
) -> tuple[Ints, bool]:
    """Delay producers until every port's conditions for a buffer of ``target`` millibits hold, or cannot be met.

    Starts only grow and stay at most ``late``, so this ends; the smallest such starts are found.

    Parameters
    ----------
    orders
        The plan.
    start
        Starts that keep the orders.
    late
        Latest starts.
    target
        Buffer of a port in millibits.
    rounds
        Most rounds.
    limit
        None: the conditions are asked of all legs. Else only of those that are last in a buffer when it is fullest
        and above this many millibits, found one after another.

    Returns
    -------
    start, settled
        The starts, and whether nothing was left to delay.
    """
    n_legs = len(orders.leg_op)
    before, after = np.empty(n_legs, dtype=np.int32), np.empty(n_legs, dtype=np.int32)
    wait = np.empty(n_legs, dtype=np.int64)
    windows(
        orders.port_indptr, orders.port_legs, orders.amount, orders.leg_op, orders.port_handing,
        orders.port_sending, target, before, after, wait,
    )  # fmt: skip
    start = start.copy()
    active = np.full(n_legs, limit is None)
    new = 0
    for _ in range(rounds):
        if limit is not None:
            peak, at, released = orders.buffers(start)
            new = overflowing(
                orders.port_indptr, orders.port_legs, orders.leg_op, orders.op_ticks, start, released, peak, at, limit,
                active,
            )  # fmt: skip
            if not new and (peak <= limit).all():
                return start, True
        delayed = delay_producers(
            orders.arcs.order, orders.arcs.pred_indptr, orders.arcs.pred_index, orders.op_ticks,
            orders.instance.leg_indptr, before, np.where(active, after, ALWAYS), wait, late, start,
        )  # fmt: skip
        if not delayed and not new:
            return start, True
        start = orders.earliest(start)
    return start, False
