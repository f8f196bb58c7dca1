"""From a fixed order of all ops to the earliest schedule that keeps it, and to the path that makes it as long as it is."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel
from fluxscale.kernels.ports import commit, op_duration, op_earliest, reset

BY_NOTHING, BY_DATA, BY_PORT = 0, 1, 2


@kernel
def decode(
    succ_indptr, succ_index, next_on_device, in_degree, op_ticks, plane_class, leg_indptr, option_indptr, option_plane,
    option_tx_lane, option_rx_lane, delay, all_stop, duplex, boundary,
    lane_free, peer, last_op, port_epoch, plane_open, plane_busy, plane_epoch,
    order, ready, start, leg_option, binder, binding,
):  # numpydoc ignore=PR01  # fmt: skip
    """Start every op, in ``order`` (topological), as early as its predecessors and what is already on its ports allow.

    ``binder`` int32 ``[n]``: the op that an op waits for last; ``binding`` int8 ``[n]``: how (BY_NOTHING: the boundary, BY_DATA:
    precedence or device, BY_PORT). Returns the largest end and an op that has it.
    """
    reset(delay, boundary, lane_free, peer, last_op, port_epoch, plane_open, plane_busy, plane_epoch)
    ready[:] = 0
    binder[:] = -1
    best = np.int64(-1)
    final = -1
    for op in order:
        time = ready[op]
        binding[op] = BY_DATA if time > 0 else BY_NOTHING
        if leg_indptr[op] < leg_indptr[op + 1]:
            time = op_earliest(
                op, ready[op], leg_indptr, option_indptr, option_plane, option_tx_lane, option_rx_lane, delay, all_stop,
                duplex, boundary, lane_free, peer, port_epoch, plane_open, plane_busy, plane_epoch, leg_option,
            )  # fmt: skip
            if time > ready[op]:
                # which port decides is only a hint for the search, so column 0 stands in for the duration on every plane
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
                op, end, leg_indptr, option_plane, option_tx_lane, option_rx_lane, delay, all_stop, duplex,
                lane_free, peer, last_op, port_epoch, plane_open, plane_busy, plane_epoch, leg_option,
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
