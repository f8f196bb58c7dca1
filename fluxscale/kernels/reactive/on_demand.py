"""Circuits on request: transfers are served in order of release, each keeps its circuits until its end.

The rule for one request (``request_start``) is also what :mod:`fluxscale.kernels.reactive.sunflow` starts transfers by.
Lanes and ports are numbered as in :mod:`fluxscale.kernels.ports`. What differs from the rule there: a circuit is set
after the request, never ahead of it. So a port that holds nothing at a dark start costs the delay too, and an all-stop
plane opens an epoch only for requests that are known when the plane falls silent.
"""

from __future__ import annotations

import numpy as np

from fluxscale._numba import inlined, kernel
from fluxscale.kernels.event_heap import pop_event, push_event
from fluxscale.kernels.list_schedule import release
from fluxscale.kernels.ports import DARK, commit, op_duration, op_earliest, reset


@inlined
def request_start(
    ready, plane, a, b, delay, all_stop, duplex, boundary, lane_free, peer, port_open, port_epoch, plane_open,
    plane_busy, plane_epoch, plane_change,
):  # numpydoc ignore=PR01  # fmt: skip
    """Start of a transfer that asks at ``ready`` for the circuit of lanes ``a`` and ``b``, given all that is committed.

    The circuit still in place (or, but for a dark start, the first one of two ports): as soon as its lanes are free.
    Else the delay after both ports, or the whole all-stop plane, are idle. ``plane_change`` int64 ``[P]`` is when an
    all-stop plane's last change begins: a request that comes no later joins it, if its ports are not part of it yet.
    """
    port_b = b - 1 if duplex[plane] else b
    free = max(lane_free[a], lane_free[b])
    if (peer[a] == port_b and peer[port_b] == a) or (boundary != DARK and peer[a] < 0 and peer[port_b] < 0):
        return max(ready, free, port_open[a], plane_open[plane])
    if all_stop[plane]:
        epoch = plane_epoch[plane]
        if ready <= plane_change[plane] and port_epoch[a] != epoch and port_epoch[port_b] != epoch:
            return plane_open[plane]
        return max(ready, plane_busy[plane]) + delay[plane]
    if duplex[plane]:
        free = max(free, lane_free[a + 1], lane_free[b - 1])
    return max(ready, free) + delay[plane]


@inlined
def request_op(
    op, ready, leg_indptr, option_indptr, option_plane, option_tx_lane, option_rx_lane, delay, all_stop, duplex,
    boundary, lane_free, peer, port_open, port_epoch, plane_open, plane_busy, plane_epoch, plane_change, leg_option,
):  # numpydoc ignore=PR01  # fmt: skip
    """Start of an op that asks for its circuits at ``ready``: each leg on its earliest plane, then the first."""
    start = ready
    for leg in range(leg_indptr[op], leg_indptr[op + 1]):
        first = option_indptr[leg]
        best = ready
        for option in range(first, option_indptr[leg + 1]):
            time = request_start(
                ready, option_plane[option], option_tx_lane[option], option_rx_lane[option], delay, all_stop, duplex,
                boundary, lane_free, peer, port_open, port_epoch, plane_open, plane_busy, plane_epoch, plane_change,
            )  # fmt: skip
            if option == first or time < best:
                best = time
                leg_option[leg] = option
        start = max(start, best)
    return start


@inlined
def request_commit(
    op, ready, end, leg_indptr, option_plane, option_tx_lane, option_rx_lane, delay, all_stop, duplex, boundary,
    lane_free, peer, port_open, port_epoch, plane_open, plane_busy, plane_epoch, plane_change, leg_option,
):  # numpydoc ignore=PR01  # fmt: skip
    """Set the circuits of an op that asked for them at ``ready``, and hold their ports until ``end``."""
    first, stop = leg_indptr[op], leg_indptr[op + 1]
    for leg in range(first, stop):
        option = leg_option[leg]
        plane = option_plane[option]
        a, b = option_tx_lane[option], option_rx_lane[option]
        port_b = b - 1 if duplex[plane] else b
        if peer[a] == port_b and peer[port_b] == a:
            continue
        up = request_start(
            ready, plane, a, b, delay, all_stop, duplex, boundary, lane_free, peer, port_open, port_epoch, plane_open,
            plane_busy, plane_epoch, plane_change,
        )  # fmt: skip
        found = boundary != DARK and peer[a] < 0 and peer[port_b] < 0
        # a request that joins a change starts when the plane opens; later than that means another change
        if all_stop[plane] and not found and up > plane_open[plane]:
            plane_change[plane] = up - delay[plane]
            plane_open[plane] = up
            plane_epoch[plane] += 1
        port_open[a] = up
        port_open[port_b] = up
        port_epoch[a] = plane_epoch[plane]
        port_epoch[port_b] = plane_epoch[plane]
        peer[a] = port_b
        peer[port_b] = a
    for leg in range(first, stop):
        option = leg_option[leg]
        plane = option_plane[option]
        a, b = option_tx_lane[option], option_rx_lane[option]
        lane_free[a] = end
        lane_free[b] = end
        if all_stop[plane]:
            port_epoch[a] = plane_epoch[plane]
            port_epoch[b - 1 if duplex[plane] else b] = plane_epoch[plane]
            plane_busy[plane] = max(plane_busy[plane], end)


@kernel
def on_demand(
    succ_indptr, succ_index, next_on_device, in_degree, op_ticks, plane_class, leg_indptr, option_indptr, option_plane,
    option_tx_lane, option_rx_lane, delay, all_stop, duplex, boundary,
    lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch,
    plane_change, held, rank, op_of_rank, ahead, start, leg_option,
):  # numpydoc ignore=PR01  # fmt: skip
    """Serve every transfer in order of release; returns how many ops were reached (n, unless there is a cycle).

    Parameters: a ``Problem``, a ``Ports``; ``plane_change`` int64 ``[P]`` is scratch; ``held`` int32 ``[lanes]``: the
    port to which each port's circuit leads at the start, -1 for none (read without ``ahead``); ``rank`` int32 ``[n]``
    breaks ties (lower first) and ``op_of_rank`` inverts it; ``ahead``: circuits are set as soon as the ports fall idle,
    by the rule of :mod:`fluxscale.kernels.ports`. Results: ``start`` int64 ``[n]``, ``leg_option`` int32 ``[L]``.

    A transfer enters the queue as soon as its release is known, which is before any later one is served: whoever is not
    known yet waits for one that is still in the queue.
    """
    n = len(start)
    reset(delay, boundary, lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch)
    if not ahead:
        plane_open[:] = 0
        plane_change[:] = -1
        peer[:] = held
    waiting = in_degree.copy()
    ready = np.zeros(n, dtype=np.int64)
    times, numbers = np.empty(n + 1, dtype=np.int64), np.empty(n + 1, dtype=np.int32)
    stack = np.empty(n + 1, dtype=np.int32)
    size = 0
    depth = 0
    done = 0
    for op in range(n - 1, -1, -1):
        if waiting[op] == 0:
            stack[depth] = op
            depth += 1
    while True:
        while depth > 0:
            depth -= 1
            op = stack[depth]
            if leg_indptr[op] < leg_indptr[op + 1]:
                size = push_event(times, numbers, size, ready[op], rank[op])
                continue
            start[op] = ready[op]
            done += 1
            end = ready[op] + op_ticks[op, 0]
            depth = release(op, end, succ_indptr, succ_index, next_on_device, ready, waiting, stack, depth)
        if size == 0:
            break
        op = op_of_rank[numbers[0]]
        size = pop_event(times, numbers, size)
        if ahead:
            time = op_earliest(
                op, ready[op], leg_indptr, option_indptr, option_plane, option_tx_lane, option_rx_lane, delay, all_stop,
                duplex, boundary, lane_free, peer, port_open, port_epoch, plane_open, plane_busy, plane_epoch,
                leg_option,
            )  # fmt: skip
        else:
            time = request_op(
                op, ready[op], leg_indptr, option_indptr, option_plane, option_tx_lane, option_rx_lane, delay, all_stop,
                duplex, boundary, lane_free, peer, port_open, port_epoch, plane_open, plane_busy, plane_epoch,
                plane_change, leg_option,
            )  # fmt: skip
        start[op] = time
        done += 1
        end = time + op_duration(op, op_ticks, plane_class, leg_indptr, option_plane, leg_option)
        if ahead:
            commit(
                op, end, leg_indptr, option_plane, option_tx_lane, option_rx_lane, delay, all_stop, duplex, boundary,
                lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch, leg_option,
            )  # fmt: skip
        else:
            request_commit(
                op, ready[op], end, leg_indptr, option_plane, option_tx_lane, option_rx_lane, delay, all_stop, duplex,
                boundary, lane_free, peer, port_open, port_epoch, plane_open, plane_busy, plane_epoch, plane_change,
                leg_option,
            )  # fmt: skip
        depth = release(op, end, succ_indptr, succ_index, next_on_device, ready, waiting, stack, depth)
    return done
