"""Sunflow's event loop: whenever ports fall idle, waiting transfers whose ports are all idle start, oldest first.

When a transfer ends, only those that wait for its ports are looked at, port by port, and a heap of each port's oldest
candidate puts them in order of arrival; where many ports fall idle at once, all that wait are gone through instead.
During one instant ports only become busy, so whoever was refused is not looked at again before the next one.
"""

from __future__ import annotations

import numpy as np

from fluxscale._numba import inlined, kernel
from fluxscale.kernels.event_heap import pop_event, push_event
from fluxscale.kernels.list_schedule import release
from fluxscale.kernels.ports import NEVER, op_duration, reset
from fluxscale.kernels.reactive.on_demand import request_commit, request_start
from fluxscale.kernels.reactive.waiting_lists import enter, leave, make_lists


@inlined
def idle_start(
    op, now, leg_indptr, option_indptr, option_plane, option_tx_lane, option_rx_lane, delay, all_stop, duplex, boundary,
    lane_free, peer, port_open, port_epoch, plane_open, plane_busy, plane_epoch, plane_change, leg_option,
):  # numpydoc ignore=PR01  # fmt: skip
    """Start of an op whose circuits are up or can be set from ``now`` on, on all its legs; else ``NEVER``.

    Picks each leg's option (earliest start, then first) into ``leg_option``.
    """
    start = now
    for leg in range(leg_indptr[op], leg_indptr[op + 1]):
        best = NEVER
        for option in range(option_indptr[leg], option_indptr[leg + 1]):
            plane, a, b = option_plane[option], option_tx_lane[option], option_rx_lane[option]
            if lane_free[a] > now or lane_free[b] > now:
                continue
            time = request_start(
                now, plane, a, b, delay, all_stop, duplex, boundary, lane_free, peer, port_open, port_epoch, plane_open,
                plane_busy, plane_epoch, plane_change,
            )  # fmt: skip
            # later than this: a duplex port's other direction or the all-stop plane is still in use
            if time <= now + delay[plane] and time < best:
                best = time
                leg_option[leg] = option
        start = max(start, best)
        if best == NEVER:
            break
    return start


@kernel
def sunflow(
    succ_indptr, succ_index, next_on_device, in_degree, op_ticks, plane_class, leg_indptr, option_indptr, option_plane,
    option_tx_lane, option_rx_lane, delay, all_stop, duplex, boundary,
    lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch,
    plane_change, held, rank, op_of_rank, shape, n_shapes, start, leg_option,
):  # numpydoc ignore=PR01  # fmt: skip
    """Run every op; returns how many were reached (n, unless the precedence has a cycle).

    Parameters as in :func:`fluxscale.kernels.reactive.on_demand.on_demand`, and ``shape`` int32 ``[n]``, below
    ``n_shapes``: ops of one shape have the same legs.

    Events are ends of transfers (number: the op) and releases (number: n + rank); all events of an instant come before
    the transfers that start then.
    """
    n, n_ports = len(start), len(lane_free)
    everyone = n_ports
    reset(delay, boundary, lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch)
    plane_open[:] = 0
    plane_change[:] = -1
    peer[:] = held
    per_plane = n_ports // max(1, len(delay))
    waiting = in_degree.copy()
    ready = np.zeros(n, dtype=np.int64)
    times, numbers = np.empty(n + 1, dtype=np.int64), np.empty(n + 1, dtype=np.int32)
    stack = np.empty(n + 1, dtype=np.int32)
    refused_at = np.full(n, -1, dtype=np.int64)
    # the first of each shape stands in the lists of its ports, the others behind it
    first_alike, last_alike = np.full(n_shapes, -1, dtype=np.int32), np.empty(n_shapes, dtype=np.int32)
    next_alike = np.full(n, -1, dtype=np.int32)
    arrival = np.empty(n, dtype=np.int64)
    shape_nodes, easy, node_list, node_other, node_shape, list_indptr = make_lists(
        leg_indptr, option_indptr, option_plane, option_tx_lane, option_rx_lane, all_stop, duplex, shape, n_shapes,
        n_ports,
    )  # fmt: skip
    list_size, node_at = np.zeros(n_ports, dtype=np.int32), np.empty(len(node_list), dtype=np.int64)
    entry_node, entry_other = np.empty(len(node_list), dtype=np.int32), np.empty(len(node_list), dtype=np.int32)
    entry_arrival = np.empty(len(node_list), dtype=np.int64)
    # all that wait in order of arrival (-1: gone), with the lanes of those that have but one option
    queue, queue_at = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    queue_tx, queue_rx = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    # streams of one instant: the ports that have fallen idle, and (number n_ports) the queue from some place on
    found, changed_at = np.empty(n_ports + 1, dtype=np.int32), np.full(n_ports, -1, dtype=np.int64)
    todo = np.empty(n_ports + 1, dtype=np.int32)
    next_arrival, next_stream = np.empty(n_ports + 1, dtype=np.int64), np.empty(n_ports + 1, dtype=np.int32)
    size = depth = done = queued = n_waiting = 0
    arrivals = np.int64(0)
    instant = -1
    for op in range(n - 1, -1, -1):
        if waiting[op] == 0:
            stack[depth] = op
            depth += 1
    while True:
        while depth > 0:
            depth -= 1
            op = stack[depth]
            if leg_indptr[op] < leg_indptr[op + 1]:
                size = push_event(times, numbers, size, ready[op], n + rank[op])
                continue
            start[op] = ready[op]
            done += 1
            end = ready[op] + op_ticks[op, 0]
            depth = release(op, end, succ_indptr, succ_index, next_on_device, ready, waiting, stack, depth)
        if size == 0:
            break
        now = times[0]
        instant += 1
        if queued > 2 * n_waiting:
            kept = 0
            for k in range(queued):
                if queue[k] >= 0:
                    queue[kept], queue_tx[kept], queue_rx[kept] = queue[k], queue_tx[k], queue_rx[k]
                    queue_at[queue[kept]] = kept
                    kept += 1
            queued = kept
        at = queued - 1
        n_todo = walk = 0
        while size > 0 and times[0] == now:
            number = numbers[0]
            size = pop_event(times, numbers, size)
            if number < n:
                for leg in range(leg_indptr[number], leg_indptr[number + 1]):
                    plane = option_plane[leg_option[leg]]
                    if all_stop[plane] and plane_busy[plane] <= now:
                        walk = n  # whoever waits for this plane may go on now
                    node = shape_nodes[shape[number]] + 2 * (leg_option[leg] - option_indptr[leg_indptr[number]])
                    for port in node_list[node : node + 2]:
                        if changed_at[port] < instant and list_size[port] > 0:
                            changed_at[port] = instant
                            todo[n_todo] = port
                            n_todo += 1
                            walk += list_size[port]
                continue
            op = op_of_rank[number - n]
            s = shape[op]
            arrival[op] = arrivals
            arrivals += 1
            option = option_indptr[leg_indptr[op]]
            single = option_indptr[leg_indptr[op + 1]] == option + 1
            queue[queued], queue_at[op] = op, queued
            queue_tx[queued] = option_tx_lane[option] if single else -1
            queue_rx[queued] = option_rx_lane[option] if single else -1
            queued += 1
            n_waiting += 1
            if first_alike[s] >= 0:
                next_alike[last_alike[s]] = op
            else:
                first_alike[s] = op
                enter(
                    s, arrival[op], shape_nodes, node_list, node_other, list_indptr, list_size, node_at, entry_node,
                    entry_other, entry_arrival,
                )  # fmt: skip
            last_alike[s] = op
        if walk + queued - 1 - at >= n_waiting:
            at = -1
            n_todo = 0
        todo[n_todo] = everyone
        n_todo += 1
        n_next = 0
        while True:
            while n_todo > 0:
                # find the oldest of a stream that can start
                n_todo -= 1
                stream = todo[n_todo]
                best = NEVER
                if stream == everyone:
                    first, stop = at + 1, np.int64(queued)
                else:
                    wide = duplex[stream // per_plane]
                    if lane_free[stream] > now and not (wide and lane_free[stream + 1] <= now):
                        continue
                    first, stop = list_indptr[stream], list_indptr[stream] + list_size[stream]
                for k in range(first, stop):
                    if stream == everyone:
                        at = k
                        op = queue[k]
                        if op < 0 or first_alike[shape[op]] != op:
                            continue
                        a, b = queue_tx[k], queue_rx[k]
                        if a >= 0 and (lane_free[a] > now or lane_free[b] > now):
                            continue
                    else:
                        if entry_arrival[k] >= best or lane_free[entry_other[k]] > now:
                            continue
                        op = first_alike[node_shape[entry_node[k]]]
                    if not easy[shape[op]] or stream == everyone:
                        if refused_at[op] == instant:
                            continue
                        time = idle_start(
                            op, now, leg_indptr, option_indptr, option_plane, option_tx_lane, option_rx_lane, delay,
                            all_stop, duplex, boundary, lane_free, peer, port_open, port_epoch, plane_open, plane_busy,
                            plane_epoch, plane_change, leg_option,
                        )  # fmt: skip
                        if time == NEVER:
                            refused_at[op] = instant
                            continue
                    best = arrival[op]
                    found[stream] = op
                    if stream == everyone:
                        break
                if best < NEVER:
                    n_next = push_event(next_arrival, next_stream, n_next, best, stream)
            if n_next == 0:
                break
            stream = next_stream[0]
            n_next = pop_event(next_arrival, next_stream, n_next)
            todo[0] = stream
            n_todo = 1
            op = found[stream]
            s = shape[op]
            if first_alike[s] != op:
                continue
            time = idle_start(
                op, now, leg_indptr, option_indptr, option_plane, option_tx_lane, option_rx_lane, delay, all_stop,
                duplex, boundary, lane_free, peer, port_open, port_epoch, plane_open, plane_busy, plane_epoch,
                plane_change, leg_option,
            )  # fmt: skip
            if time == NEVER:
                refused_at[op] = instant
                continue
            start[op] = time
            done += 1
            end = time + op_duration(op, op_ticks, plane_class, leg_indptr, option_plane, leg_option)
            request_commit(
                op, now, end, leg_indptr, option_plane, option_tx_lane, option_rx_lane, delay, all_stop, duplex,
                boundary, lane_free, peer, port_open, port_epoch, plane_open, plane_busy, plane_epoch, plane_change,
                leg_option,
            )  # fmt: skip
            size = push_event(times, numbers, size, end, op)
            depth = release(op, end, succ_indptr, succ_index, next_on_device, ready, waiting, stack, depth)
            queue[queue_at[op]] = -1
            n_waiting -= 1
            first_alike[s] = next_alike[op]
            leave(s, shape_nodes, node_list, list_indptr, list_size, node_at, entry_node, entry_other, entry_arrival)
            if next_alike[op] >= 0:
                enter(
                    s, arrival[next_alike[op]], shape_nodes, node_list, node_other, list_indptr, list_size, node_at,
                    entry_node, entry_other, entry_arrival,
                )  # fmt: skip
    return done
