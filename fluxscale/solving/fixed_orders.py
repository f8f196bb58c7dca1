"""A plan with its orders fixed: the earliest and the latest starts that keep them, and the buffers that starts give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fluxscale.instance.derived import Derived, derive
from fluxscale.instance.instance import CYCLIC, DARK, Instance
from fluxscale.kernels import just_in_time as passes
from fluxscale.kernels.buffers import port_peaks
from fluxscale.kernels.just_in_time_raise import epochs, legs_by_port
from fluxscale.kernels.toposort import topological_order
from fluxscale.schedule.circuits import op_ends, stopping_planes
from fluxscale.schedule.handover import handing_rates, leg_amounts, leg_ports, sending_rates
from fluxscale.solving.protocol import Plan

Ints = npt.NDArray[Any]


class Arcs(NamedTuple):
    """Arguments of the passes: a topological order, and what each op follows; see the kernels for shapes."""

    order: Ints
    pred_indptr: Ints
    pred_index: Ints
    prev_on_device: Ints
    arc_indptr: Ints
    arc_from: Ints
    arc_gap: Ints
    op_ticks: Ints


@dataclass(frozen=True, eq=False)
class FixedOrders:
    """The orders of a plan, as arcs between its ops, and its legs port by port.

    Attributes
    ----------
    instance, derived, leg_plane
        As given.
    n_ops
        Ops and changes of all-stop planes: the length of all arrays of starts below.
    arcs
        The orders.
    has_legs
        bool ``[n_ops]``.
    start
        int64 ``[n_ops]``: the plan's own starts.
    release
        int64 ``[n_ops]``: the boundary's earliest start of each op.
    amount, leg_op, port_indptr, port_legs
        Millibits and op of each leg; legs of each transmit port in the order in which it sends them.
    port_handing, port_sending
        int64 ``[ports]``: millibits per tick.
    """

    instance: Instance
    derived: Derived
    leg_plane: Ints
    n_ops: int
    arcs: Arcs
    has_legs: Ints
    start: Ints
    release: Ints
    amount: Ints
    leg_op: Ints
    port_indptr: Ints
    port_legs: Ints
    port_handing: Ints
    port_sending: Ints

    @property
    def size(self) -> int:
        """Ops, edges and port neighbours that one pass looks at."""
        return self.n_ops + len(self.arcs.pred_index) + len(self.arcs.arc_from) + len(self.leg_op)

    @property
    def op_ticks(self) -> Ints:
        """Duration of each op; changes of all-stop planes have none."""
        return self.arcs.op_ticks

    def earliest(self, start: Ints) -> Ints:
        """The earliest starts that keep the orders and are no earlier than ``start``."""
        start = start.copy()
        passes.earliest(*self.arcs, start)
        return start

    def latest(self, start: Ints) -> Ints:
        """The latest starts that keep the orders and are no later than ``start``."""
        start = start.copy()
        passes.latest(*self.arcs, start)
        return start

    def settle_back(self, given: Ints, start: Ints) -> Ints:
        """Move ops without legs back towards ``given`` where being late gains nothing."""
        start = start.copy()
        passes.settle_back(*self.arcs, self.instance.leg_indptr, given, start)
        return start

    def buffers(self, start: Ints) -> tuple[Ints, Ints, Ints]:
        """Eager peak of each transmit port in millibits, and when; and the release of each op."""
        ports = len(self.port_indptr) - 1
        released = np.zeros(self.instance.n_ops, dtype=np.int64)
        passes.releases(self.instance.pred_indptr, self.instance.pred_index, self.op_ticks, start, released)
        peak, at = np.zeros(ports, dtype=np.int64), np.zeros(ports, dtype=np.int64)
        port_peaks(
            self.port_indptr, self.port_legs, released[self.leg_op], start[self.leg_op], self.amount,
            self.port_handing, self.port_sending, peak, at,
        )  # fmt: skip
        return peak, at, released

    def peaks(self, start: Ints) -> tuple[Ints, Ints, int]:
        """Eager peak of each transmit port in millibits, and when; and the ticks that ops wait in all."""
        peak, at, released = self.buffers(start)
        waiting = (start[: self.instance.n_ops] - released)[self.has_legs[: self.instance.n_ops]]
        return peak, at, int(waiting.sum())

    def plan(self, start: Ints) -> Plan:
        """The plan with other starts."""
        return Plan(start[: self.instance.n_ops].copy(), self.leg_plane)


def fix_orders(
    instance: Instance, plan: Plan, *, all_stop_moves: bool = False, order: Ints | None = None
) -> FixedOrders:
    """Read the orders of a valid plan.

    Parameters
    ----------
    instance
        The problem.
    plan
        A valid plan.
    all_stop_moves
        Whether transfers on all-stop planes will move: then the plane's changes become ops of their own.
    order
        Another topological order of the ops, from which to read the orders on ports; not for all-stop planes, whose
        changes belong to the plan. The plan's starts need not keep it: begin with :meth:`FixedOrders.earliest`.
    """
    derived = derive(instance)
    start = np.asarray(plan.op_start_ticks, dtype=np.int64)
    leg_plane = np.asarray(plan.leg_plane, dtype=np.int16)
    ends = op_ends(instance, start, leg_plane)
    op_ticks = ends - start
    order = by_start(instance, start, op_ticks) if order is None else order
    changes: list[tuple[int, int, int]] = []
    if all_stop_moves:
        for plane in np.flatnonzero(stopping_planes(instance)).tolist():
            changes += _changes(instance, derived, plane, order, start, ends, leg_plane)
    changes.sort()
    extra = len(changes)
    n_ops = instance.n_ops + extra
    where = np.array([position for position, _, _ in changes], dtype=np.int64)
    order = np.insert(order, where, np.arange(instance.n_ops, n_ops))
    starts = np.concatenate([start, np.array([time for _, _, time in changes], dtype=np.int64)])
    op_ticks = np.concatenate([op_ticks, np.zeros(extra, dtype=np.int64)])
    indptr = np.concatenate([instance.pred_indptr, np.full(extra, instance.pred_indptr[-1])])
    before = np.concatenate([derived.prev_on_device, np.full(extra, -1, dtype=np.int32)])
    change_plane = np.array([plane for _, plane, _ in changes], dtype=np.int64)

    room = instance.n_legs * ((4 if instance.plane_duplex.any() else 2) + (2 if extra else 0))
    arc_indptr = np.zeros(n_ops + 1, dtype=np.int64)
    arc_from, arc_gap = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int64)
    n_arcs = passes.link_ports(
        order, instance.leg_indptr, leg_plane, instance.leg_tx, instance.leg_rx, instance.n_endpoints,
        instance.plane_delay_ticks, instance.plane_duplex, change_plane, arc_indptr, arc_from, arc_gap,
    )  # fmt: skip
    arcs = Arcs(order, indptr, instance.pred_index, before, arc_indptr, arc_from[:n_arcs], arc_gap[:n_arcs], op_ticks)

    has_legs = np.zeros(n_ops, dtype=bool)
    has_legs[: instance.n_ops] = np.diff(instance.leg_indptr) > 0
    boundary = np.zeros(n_ops, dtype=np.int64)
    if instance.boundary == DARK and instance.n_legs:
        first = instance.leg_indptr[:-1][has_legs[: instance.n_ops]]
        delays = instance.plane_delay_ticks[leg_plane]
        boundary[np.flatnonzero(has_legs)] = np.maximum.reduceat(delays, first)
    ports = leg_ports(instance, leg_plane)
    n_ports = instance.n_planes * instance.n_endpoints
    port_indptr = np.zeros(n_ports + 1, dtype=np.int64)
    np.cumsum(np.bincount(ports, minlength=n_ports), out=port_indptr[1:])
    port_legs = np.empty(instance.n_legs, dtype=np.int32)
    legs_by_port(order, instance.leg_indptr, ports, port_indptr, port_legs)
    return FixedOrders(
        instance, derived, leg_plane, n_ops, arcs, has_legs, starts, boundary,
        leg_amounts(instance, op_ticks[: instance.n_ops], leg_plane), derived.leg_op, port_indptr, port_legs,
        np.repeat(handing_rates(instance), instance.n_endpoints),
        np.repeat(sending_rates(instance), instance.n_endpoints),
    )  # fmt: skip


def by_start(instance: Instance, start: Ints, op_ticks: Ints, first: Ints | None = None) -> Ints:
    """A topological order of the ops by start, int32 ``[n]``; of ops with equal starts those with less ``first``.

    Ops without duration go before those that start with them; among themselves they follow the precedence.

    Parameters
    ----------
    instance
        The problem.
    start
        int64 ``[n]``: no op's is before the end of a predecessor.
    op_ticks
        int64 ``[n]``: durations.
    first
        int64 ``[n]``, or None: the precedence decides.
    """
    rank, _ = topological_order(instance.pred_indptr, instance.pred_index, instance.device_indptr, instance.device_ops)
    lasting = op_ticks > 0
    if first is None:
        return rank[np.argsort((start * 2 + lasting)[rank], kind="stable")]
    return rank[np.lexsort((np.where(lasting, first, 0)[rank], (start * 2 + lasting)[rank]))]


def _changes(
    instance: Instance, derived: Derived, plane: int, order: Ints, start: Ints, ends: Ints, leg_plane: Ints
) -> list[tuple[int, int, int]]:
    """Changes of an all-stop plane: position in the order of the first op after it, the plane, the time it is over."""
    position = np.empty(instance.n_ops, dtype=np.int64)
    position[order] = np.arange(instance.n_ops)
    legs = np.flatnonzero(leg_plane == plane)
    if not len(legs):
        return []
    legs = legs[np.argsort(position[derived.leg_op[legs]], kind="stable")]
    leg_start, leg_end = start[derived.leg_op], ends[derived.leg_op]
    epoch = np.zeros(instance.n_legs, dtype=np.int64)
    delay = int(instance.plane_delay_ticks[plane])
    epochs(
        legs, leg_start, leg_end, instance.leg_tx, instance.leg_rx, instance.n_endpoints, delay,
        bool(instance.plane_duplex[plane]), instance.boundary == CYCLIC, epoch,
    )  # fmt: skip
    first = np.flatnonzero(np.diff(epoch[legs])) + 1
    over = np.maximum.accumulate(leg_end[legs])[first - 1] + delay
    where = position[derived.leg_op[legs[first]]]
    return [(int(p), plane, int(t)) for p, t in zip(where, over, strict=True)]
