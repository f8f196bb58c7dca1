"""A limit of the NIC buffers, kept by making producers wait rather than overflow.

The limit holds for the eager buffer of every transmit port of every plane. A plan is first shifted at its own iteration
time; where that is not enough, its orders are kept and producers are delayed until the windows of legs that fit the
buffer hold (:func:`fluxscale.kernels.just_in_time_raise.windows`), which may lengthen the iteration. If the orders do
not allow it (a port is to send first what is released last), ports send in other orders: by release, or depth first
(every transfer right after what releases it); of transfers released together the larger goes first. The windows are
sufficient, not necessary, so several sizes around the limit are tried, and of the plans whose measured peak keeps the
limit the shortest is taken. The last resort does one thing at a time, depth first. Finding none proves nothing; what
is provably impossible says :func:`fluxscale.bounds.buffer_floor.require_buffer`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance
from fluxscale.kernels.just_in_time import releases
from fluxscale.kernels.just_in_time_raise import depth_first
from fluxscale.schedule.circuits import make_schedule, stopping_planes
from fluxscale.schedule.handover import MILLIBITS
from fluxscale.solving.fixed_orders import FixedOrders, by_start, fix_orders
from fluxscale.solving.just_in_time import raised, shift
from fluxscale.solving.protocol import Plan

Ints = npt.NDArray[Any]

SIZES = ((1, 1), (3, 2), (2, 1), (4, 1), (1, 2), (1, 4), (0, 1))
"""Buffer sizes to try, as fractions of the limit."""

ROUNDS, ROUNDS_ALL = 256, 64
"""Most rounds of delaying producers for one size, one overflow after another and all at once."""

WORK = 4_000_000_000
"""Ops, legs and edges that all rounds may look at (about a minute); large instances get fewer rounds, but some."""

LONGEST = 16
"""Plans longer than this many times the given one are not looked for."""


@dataclass(frozen=True)
class Fitted:
    """A plan within the limit, or what was closest to it.

    Attributes
    ----------
    plan
        None where no plan within the limit was found.
    iteration_time_ticks
        Of that plan.
    port, peak_bytes
        The fullest port (plane x endpoints + endpoint) and its peak, of the plan or of the best try.
    """

    plan: Plan | None
    iteration_time_ticks: int
    port: int
    peak_bytes: int


def fit(instance: Instance, plan: Plan, iteration_time_ticks: int) -> Fitted:
    """Find a plan that keeps ``instance.nic_buffer_bytes``, as short as possible.

    Parameters
    ----------
    instance
        The problem, with a limit.
    plan
        A plan that is valid but for the limit.
    iteration_time_ticks
        Its iteration time.
    """
    limit = instance.nic_buffer_bytes
    shifted = shift(instance, plan, iteration_time_ticks)
    orders = fix_orders(instance, shifted, all_stop_moves=True)
    port, peak = _fullest(orders, orders.start)
    best = Fitted(shifted if peak <= limit else None, iteration_time_ticks, port, peak)
    if best.plan is not None:
        return best
    for tried in _other_orders(instance, shifted, orders):
        orders = tried
        for part, whole in SIZES:
            for some in (True, False):
                best = _better(best, _delayed(orders, limit * part // whole, iteration_time_ticks, limit, some))
        if best.plan is not None:
            break
    else:
        best = _better(best, _measured(orders, _one_at_a_time(orders), limit))
    if best.plan is None:
        return best
    again = shift(instance, best.plan, best.iteration_time_ticks)
    return Fitted(again, best.iteration_time_ticks, *_fullest(fix_orders(instance, again), again.op_start_ticks))


def _other_orders(instance: Instance, plan: Plan, orders: FixedOrders) -> Iterator[FixedOrders]:
    """The plan's orders, then others; all-stop planes keep theirs."""
    yield orders
    if stopping_planes(instance).any():
        return
    start, op_ticks = plan.op_start_ticks, orders.op_ticks
    amount = np.zeros(instance.n_ops, dtype=np.int64)
    np.maximum.at(amount, orders.leg_op, orders.amount)
    release = np.empty(instance.n_ops, dtype=np.int64)
    releases(instance.pred_indptr, instance.pred_index, op_ticks, start, release)
    key = np.where(orders.has_legs[: instance.n_ops], release, start)
    yield fix_orders(instance, plan, order=by_start(instance, key, op_ticks, -amount))
    derived = derive(instance)
    waits = (np.diff(instance.pred_indptr) + (derived.prev_on_device >= 0)).astype(np.int32)
    order = np.empty(instance.n_ops, dtype=np.int32)
    weight = np.where(orders.has_legs[: instance.n_ops], amount, -1)
    depth_first(derived.succ_indptr, derived.succ_index, derived.next_on_device, waits, weight, order)
    yield fix_orders(instance, plan, order=order)


def _one_at_a_time(orders: FixedOrders) -> Ints:
    """Starts along the order, each op after the end of the one before; ports are set before anything is released."""
    order = orders.arcs.order
    delay = int(orders.instance.plane_delay_ticks.max(initial=0))
    start = np.empty(orders.n_ops, dtype=np.int64)
    ticks = orders.op_ticks[order] + np.where(orders.has_legs[order], 0, delay)
    start[order] = np.cumsum(ticks) - orders.op_ticks[order]
    return orders.earliest(np.maximum(start, orders.release))


def _delayed(orders: FixedOrders, size_bytes: int, iteration_time_ticks: int, limit: int, some: bool) -> Fitted:
    """Delay producers of all, or of some (where a buffer overflows), for a buffer size; measure what comes of it."""
    late = np.full(orders.n_ops, LONGEST * max(1, iteration_time_ticks), dtype=np.int64)
    target, most = min(size_bytes * MILLIBITS, 2**62), min(limit * MILLIBITS, 2**62)
    first = orders.earliest(orders.release)
    budget = max(8, WORK // (6 * len(SIZES) * orders.size))
    rounds = min(ROUNDS if some else ROUNDS_ALL, budget)
    start, _ = raised(orders, first, late, target, rounds, limit=most if some else None)
    return _measured(orders, start, limit)


def _measured(orders: FixedOrders, start: Ints, limit: int) -> Fitted:
    port, peak = _fullest(orders, start)
    plan = orders.plan(start)
    ticks = make_schedule(orders.instance, plan.op_start_ticks, plan.leg_plane).iteration_time_ticks
    return Fitted(plan if peak <= limit else None, ticks, port, peak)


def _better(one: Fitted, two: Fitted) -> Fitted:
    """The shorter plan; without any, the one that came closer."""
    if one.plan is None and two.plan is None:
        return two if two.peak_bytes < one.peak_bytes else one
    if one.plan is None or two.plan is None:
        return one if two.plan is None else two
    return two if two.iteration_time_ticks < one.iteration_time_ticks else one


def _fullest(orders: FixedOrders, start: Ints) -> tuple[int, int]:
    peak, _, _ = orders.peaks(start)
    port = int(peak.argmax())
    return port, -(-int(peak[port]) // MILLIBITS)
