"""From a fixed order of all ops to the earliest schedule that keeps it.

And to the path that makes it as long as it is.
"""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel
from fluxscale.kernels.ports import commit, op_duration, op_earliest, reset

BY_NOTHING, BY_DATA, BY_PORT = 0, 1, 2


@kernel
def decode(
    succ_indptr, succ_index, next_on_device, in_degree, op_ticks, plane_class, leg_indptr, option_indptr, option_plane,
    option_tx_lane, option_rx_lane, delay, all_stop, duplex, boundary,
    lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch,
    order, ready, start, leg_option, binder, binding, every, saved_ready, saved_lanes, saved_ports, saved_planes,
):  # numpydoc ignore=PR01  # fmt: skip
    """Start every op, in ``order`` (topological), as early as its predecessors and what is already on its ports allow.

    Before each op whose position is a multiple of ``every`` (0: never), the state goes into the next row of the
    ``saved`` arrays: ready times int64 ``[K, n]``, lanes int64 ``[K, 2, lanes]``, ports int32 ``[K, 3, lanes]``,
    planes int64 ``[K, 3, P]``; :func:`evaluate` goes on from there. ``binder`` int32 ``[n]``: the op that an op waits
    for last; ``binding`` int8 ``[n]``: how (BY_NOTHING: the boundary, BY_DATA: precedence or device, BY_PORT).
    Returns the largest end and an op that has it.
    """
    reset(delay, boundary, lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch)
    ready[:] = 0
    binder[:] = -1
    best = np.int64(-1)
    final = -1
    for at in range(len(order)):
        if every > 0 and at % every == 0:
            row = at // every
            saved_ready[row] = ready
            saved_lanes[row, 0], saved_lanes[row, 1] = lane_free, port_open
            saved_ports[row, 0], saved_ports[row, 1], saved_ports[row, 2] = peer, last_op, port_epoch
            saved_planes[row, 0], saved_planes[row, 1], saved_planes[row, 2] = plane_open, plane_busy, plane_epoch
        op = order[at]
        time = ready[op]
        binding[op] = BY_DATA if time > 0 else BY_NOTHING
        if leg_indptr[op] < leg_indptr[op + 1]:
            time = op_earliest(
                op, ready[op], leg_indptr, option_indptr, option_plane, option_tx_lane, option_rx_lane, delay, all_stop,
                duplex, boundary, lane_free, peer, port_open, port_epoch, plane_open, plane_busy, plane_epoch,
                leg_option,
            )  # fmt: skip
            if time > ready[op]:
                # which port decides is only a hint for the search, so column 0 stands in for the duration on every
                # plane
                latest = np.int64(-1)
                binding[op] = BY_NOTHING
                binder[op] = -1
                for leg in range(leg_indptr[op], leg_indptr[op + 1]):
                    option = leg_option[leg]
                    plane = option_plane[option]
                    a, b = option_tx_lane[option], option_rx_lane[option]
                    if duplex[plane]:
                        b -= 1
                    for side in range(2):
                        port = a if side == 0 else b
                        other = last_op[port]
                        if other >= 0:
                            until = start[other] + op_ticks[other, 0]
                            if peer[port] != (b if side == 0 else a):
                                until += delay[plane]
                            if until > latest:
                                latest = until
                                binder[op] = other
                                binding[op] = BY_PORT
            end = time + op_duration(op, op_ticks, plane_class, leg_indptr, option_plane, leg_option)
            commit(
                op, end, leg_indptr, option_plane, option_tx_lane, option_rx_lane, delay, all_stop, duplex, boundary,
                lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch, leg_option,
            )  # fmt: skip
        else:
            end = time + op_ticks[op, 0]
        start[op] = time
        if end > best:
            best, final = end, op
        for i in range(succ_indptr[op], succ_indptr[op + 1]):
            successor = succ_index[i]
            if end > ready[successor]:
                ready[successor] = end
                binder[successor] = op
        successor = next_on_device[op]
        if successor >= 0 and end > ready[successor]:
            ready[successor] = end
            binder[successor] = op
    return best, final


@kernel
def evaluate(
    succ_indptr, succ_index, next_on_device, in_degree, op_ticks, plane_class, leg_indptr, option_indptr, option_plane,
    option_tx_lane, option_rx_lane, delay, all_stop, duplex, boundary,
    lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch,
    order, ready, leg_option, tail, limit, first, every, saved_ready, saved_lanes, saved_ports, saved_planes,
):  # numpydoc ignore=PR01  # fmt: skip
    """Value of an order that differs from the last decoded one at position ``first`` or later.

    Goes on from the saved state before ``first`` and gives up as soon as an op's end plus the longest path behind it
    (``tail`` int64 ``[n]``) exceeds ``limit``. Returns the largest end + tail seen: the iteration time if it is at
    most ``limit`` and at least the part before ``first`` needs, which the caller knows.
    """
    row = first // every
    ready[:] = saved_ready[row]
    lane_free[:] = saved_lanes[row, 0]
    port_open[:] = saved_lanes[row, 1]
    peer[:] = saved_ports[row, 0]
    last_op[:] = saved_ports[row, 1]
    port_epoch[:] = saved_ports[row, 2]
    plane_open[:] = saved_planes[row, 0]
    plane_busy[:] = saved_planes[row, 1]
    for plane in range(len(delay)):
        plane_epoch[plane] = saved_planes[row, 2, plane]
    best = np.int64(0)
    for at in range(row * every, len(order)):
        op = order[at]
        time = ready[op]
        if leg_indptr[op] < leg_indptr[op + 1]:
            time = op_earliest(
                op, ready[op], leg_indptr, option_indptr, option_plane, option_tx_lane, option_rx_lane, delay, all_stop,
                duplex, boundary, lane_free, peer, port_open, port_epoch, plane_open, plane_busy, plane_epoch,
                leg_option,
            )  # fmt: skip
            end = time + op_duration(op, op_ticks, plane_class, leg_indptr, option_plane, leg_option)
            commit(
                op, end, leg_indptr, option_plane, option_tx_lane, option_rx_lane, delay, all_stop, duplex, boundary,
                lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch, leg_option,
            )  # fmt: skip
        else:
            end = time + op_ticks[op, 0]
        if end + tail[op] > best:
            best = end + tail[op]
            if best > limit:
                return best
        for i in range(succ_indptr[op], succ_indptr[op + 1]):
            ready[succ_index[i]] = max(ready[succ_index[i]], end)
        successor = next_on_device[op]
        if successor >= 0:
            ready[successor] = max(ready[successor], end)
    return best
