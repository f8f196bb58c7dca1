"""Backfilling: move ops that wait for a port into earlier gaps, wherever that costs nothing.

List scheduling only appends, so an op of little urgency (a gradient bucket, say) is left behind all the urgent ones
although it would fit between two of them. One pass over the ops in order tries, for each that waits for a port, the
places since it became ready, earliest first, and takes the first that leaves the iteration no longer.
"""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel
from fluxscale.kernels.order_decode import decode, evaluate
from fluxscale.kernels.order_moves import move_before, share_port


@kernel
def settle(
    succ_indptr, succ_index, next_on_device, in_degree, op_ticks, plane_class, leg_indptr, option_indptr, option_plane,
    option_tx_lane, option_rx_lane, delay, all_stop, duplex, boundary,
    lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch,
    order, tail, evaluations, tries, every, saved_ready, saved_lanes, saved_ports, saved_planes,
):  # numpydoc ignore=PR01  # fmt: skip
    """Backfill ``order`` in place with at most ``evaluations`` trials, at most ``tries`` for one op.

    Other parameters as in :func:`fluxscale.kernels.order_search.search`. Returns the value, the trials and how many
    were taken.
    """
    n = len(order)
    position = np.empty(n, dtype=np.int32)
    ready = np.empty(n, dtype=np.int64)
    start = np.empty(n, dtype=np.int64)
    leg_option = np.zeros(len(option_indptr) - 1, dtype=np.int32)
    trial_option = np.zeros(len(option_indptr) - 1, dtype=np.int32)
    binder = np.empty(n, dtype=np.int32)
    binding = np.empty(n, dtype=np.int8)
    mark = np.zeros(n, dtype=np.int64)
    scratch = np.empty(n, dtype=np.int32)
    trial = np.empty(n, dtype=np.int32)
    value, _ = decode(
        succ_indptr, succ_index, next_on_device, in_degree, op_ticks, plane_class, leg_indptr, option_indptr,
        option_plane,
        option_tx_lane, option_rx_lane, delay, all_stop, duplex, boundary,
        lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch,
        order, ready, start, leg_option, binder, binding, every, saved_ready, saved_lanes, saved_ports, saved_planes,
    )  # fmt: skip
    for i in range(n):
        position[order[i]] = i
    todo = order.copy()
    used = 0
    taken = 0
    stamp = 0
    for v in todo:
        if leg_indptr[v] == leg_indptr[v + 1] or start[v] <= ready[v]:
            continue
        stop = position[v]
        first = stop
        while first > 0 and start[order[first - 1]] + op_ticks[order[first - 1], 0] > ready[v]:
            first -= 1
        tried = 0
        for at in range(first, stop):
            if tried == tries or used == evaluations:
                break
            if not share_port(
                order[at], v, leg_indptr, leg_option, option_tx_lane, option_rx_lane, option_plane, duplex
            ):
                continue
            trial[:] = order
            stamp += 1
            tried += 1
            moved = move_before(trial, position, at, v, succ_indptr, succ_index, next_on_device, mark, stamp, scratch)
            better = value + 1
            if moved:
                used += 1
                better = evaluate(
                    succ_indptr, succ_index, next_on_device, in_degree, op_ticks, plane_class, leg_indptr,
                    option_indptr,
                    option_plane, option_tx_lane, option_rx_lane, delay, all_stop, duplex, boundary,
                    lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch,
                    trial, ready, trial_option, tail, value, at, every, saved_ready, saved_lanes, saved_ports,
                    saved_planes,
                )  # fmt: skip
            if better <= value:
                order[:] = trial
                taken += 1
                value, _ = decode(
                    succ_indptr, succ_index, next_on_device, in_degree, op_ticks, plane_class, leg_indptr,
                    option_indptr,
                    option_plane, option_tx_lane, option_rx_lane, delay, all_stop, duplex, boundary,
                    lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch,
                    order, ready, start, leg_option, binder, binding, every, saved_ready, saved_lanes, saved_ports,
                    saved_planes,
                )  # fmt: skip
                break
            for i in range(at, stop + 1):
                position[order[i]] = i
        if used == evaluations:
            break
    return value, used, taken
