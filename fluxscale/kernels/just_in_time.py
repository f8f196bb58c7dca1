"""Fixed orders as arcs between ops, and the earliest and the latest starts that keep all of them.

With the orders of devices and ports fixed, every rule of the problem says how long after the end of one op another may
start at the earliest: predecessors and device neighbours at once, neighbours on a port at once or after the plane's
delay. ``order`` lists the ops so that all such arcs go forward; one pass along it or against it moves everything.

A change of an all-stop plane is an op of its own without duration (numbers from ``len(leg_indptr) - 1`` on): it
follows every leg before the change by the delay, and every leg after the change follows it.
"""

from __future__ import annotations

import numpy as np

from fluxscale._numba import inlined, kernel


@inlined
def _add(count, op, other, gap, arc_from, arc_gap):  # numpydoc ignore=PR01
    """Append the arc ``other -> op`` where there is one to append; returns the new number of arcs."""
    if other >= 0 and other != op:
        arc_from[count] = other
        arc_gap[count] = gap
        count += 1
    return count


@kernel
def link_ports(
    order, leg_indptr, leg_plane, leg_tx, leg_rx, n_endpoints, delay, duplex, change_plane, arc_indptr, arc_from,
    arc_gap,
):  # numpydoc ignore=PR01  # fmt: skip
    """Fill the arcs that the order of legs on each port makes: those into ``order[i]`` from ``arc_indptr[i]`` on.

    A lane (direction of a port) carries the legs of one circuit one after another; a leg after a change of circuit
    follows whatever the port carried before the change, in either direction, by the plane's delay. ``change_plane``:
    plane of each change of an all-stop plane. Room needed: two arcs a leg, four where duplex, and two more for each
    leg of a plane with changes. Returns the number of arcs.
    """
    n_ops = len(leg_indptr) - 1
    n_ports = len(delay) * n_endpoints * 2
    peer = np.full(n_ports, -1, dtype=np.int32)
    last = np.full((n_ports, 2), -1, dtype=np.int32)
    before = np.full((n_ports, 2), -1, dtype=np.int32)
    changed = np.full(len(delay), -1, dtype=np.int32)
    # legs since the last change of a plane, as linked lists
    newest = np.full(len(delay), -1, dtype=np.int32)
    older = np.full(len(leg_tx) if len(change_plane) else 0, -1, dtype=np.int32)
    leg_op = np.full(len(older), -1, dtype=np.int32)
    count = 0
    for i in range(len(order)):
        op = order[i]
        arc_indptr[i] = count
        if op >= n_ops:
            plane = change_plane[op - n_ops]
            leg = newest[plane]
            while leg >= 0:
                count = _add(count, op, leg_op[leg], delay[plane], arc_from, arc_gap)
                leg = older[leg]
            newest[plane] = -1
            changed[plane] = op
            continue
        for leg in range(leg_indptr[op], leg_indptr[op + 1]):
            plane = leg_plane[leg]
            a = (plane * n_endpoints + leg_tx[leg]) * 2
            b = (plane * n_endpoints + leg_rx[leg]) * 2
            if not duplex[plane]:
                b += 1
            for end in range(2):
                port = a if end == 0 else b
                other = b if end == 0 else a
                lane = end if duplex[plane] else 0
                if peer[port] != other:
                    peer[port] = other
                    before[port, 0], before[port, 1] = last[port, 0], last[port, 1]
                    last[port, 0] = -1
                    last[port, 1] = -1
                if last[port, lane] >= 0:
                    count = _add(count, op, last[port, lane], 0, arc_from, arc_gap)
                else:
                    count = _add(count, op, before[port, 0], delay[plane], arc_from, arc_gap)
                    count = _add(count, op, before[port, 1], delay[plane], arc_from, arc_gap)
                last[port, lane] = op
            if len(older):
                count = _add(count, op, changed[plane], 0, arc_from, arc_gap)
                leg_op[leg] = op
                older[leg] = newest[plane]
                newest[plane] = leg
    arc_indptr[len(order)] = count
    return count


@kernel
def earliest(
    order, pred_indptr, pred_index, prev_on_device, arc_indptr, arc_from, arc_gap, op_ticks, start
):  # numpydoc ignore=PR01
    """Raise ``start`` to the earliest starts that keep every arc and are no earlier than it was."""
    for i in range(len(order)):
        op = order[i]
        time = start[op]
        for at in range(pred_indptr[op], pred_indptr[op + 1]):
            other = pred_index[at]
            time = max(time, start[other] + op_ticks[other])
        other = prev_on_device[op]
        if other >= 0:
            time = max(time, start[other] + op_ticks[other])
        for at in range(arc_indptr[i], arc_indptr[i + 1]):
            other = arc_from[at]
            time = max(time, start[other] + op_ticks[other] + arc_gap[at])
        start[op] = time


@kernel
def latest(
    order, pred_indptr, pred_index, prev_on_device, arc_indptr, arc_from, arc_gap, op_ticks, start
):  # numpydoc ignore=PR01
    """Lower ``start`` to the latest starts that keep every arc and are no later than it was."""
    for i in range(len(order) - 1, -1, -1):
        op = order[i]
        time = start[op]
        for at in range(pred_indptr[op], pred_indptr[op + 1]):
            other = pred_index[at]
            start[other] = min(start[other], time - op_ticks[other])
        other = prev_on_device[op]
        if other >= 0:
            start[other] = min(start[other], time - op_ticks[other])
        for at in range(arc_indptr[i], arc_indptr[i + 1]):
            other = arc_from[at]
            start[other] = min(start[other], time - arc_gap[at] - op_ticks[other])


@kernel
def releases(pred_indptr, pred_index, op_ticks, start, release):  # numpydoc ignore=PR01
    """Release of every op: the end of its last predecessor, 0 without any."""
    for op in range(len(release)):
        time = np.int64(0)
        for at in range(pred_indptr[op], pred_indptr[op + 1]):
            time = max(time, start[pred_index[at]] + op_ticks[pred_index[at]])
        release[op] = time


@kernel
def settle_back(
    order, pred_indptr, pred_index, prev_on_device, arc_indptr, arc_from, arc_gap, op_ticks, leg_indptr, given,
    start,
):  # numpydoc ignore=PR01  # fmt: skip
    """Move back towards ``given`` every op without legs that moved later for nothing; no op with legs moves.

    An op stays if it ends when an op with legs is released: that is what moving it was for. Ops with legs keep their
    start and their release.
    """
    n_ops = len(leg_indptr) - 1
    needed = np.zeros(len(start), dtype=np.bool_)
    for op in range(n_ops):
        if leg_indptr[op] == leg_indptr[op + 1]:
            continue
        release = np.int64(0)
        for at in range(pred_indptr[op], pred_indptr[op + 1]):
            release = max(release, start[pred_index[at]] + op_ticks[pred_index[at]])
        for at in range(pred_indptr[op], pred_indptr[op + 1]):
            if start[pred_index[at]] + op_ticks[pred_index[at]] == release:
                needed[pred_index[at]] = True
    for op in range(n_ops):
        if leg_indptr[op] == leg_indptr[op + 1] and not needed[op]:
            start[op] = min(start[op], given[op])
    earliest(order, pred_indptr, pred_index, prev_on_device, arc_indptr, arc_from, arc_gap, op_ticks, start)
