"""List scheduling where every leg has one simplex, per-port plane and ops last equally long on all planes.

Same answer, faster.

The thousand-GPU presets are of this kind. The general kernel asks each leg for its options, port kind and rule; left
out, the same event loop takes a third of the time (measured on the 127,008-op instance of the benchmarks).
"""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel
from fluxscale.kernels.heap import heap_lift, heap_pop
from fluxscale.kernels.list_schedule import release


@kernel
def list_schedule_simple(
    succ_indptr, succ_index, next_on_device, in_degree, op_ticks, leg_indptr, tx_lane, rx_lane, leg_delay, first_free,
    lane_free, peer, rank, op_of_rank, offset, coarse, start, order,
):  # numpydoc ignore=PR01  # fmt: skip
    """Schedule every op; see :func:`fluxscale.kernels.list_schedule.list_schedule`.

    ``op_ticks`` int64 ``[n]``; ``tx_lane``, ``rx_lane`` int32 ``[L]``; ``leg_delay`` int64 ``[L]``: delay of the
    leg's plane; ``first_free`` int64 ``[L]``: earliest start that the boundary allows (the delay where it is dark,
    else 0).
    """
    n = len(start)
    lane_free[:] = 0
    peer[:] = -1
    waiting = in_degree.copy()
    ready = np.zeros(n, dtype=np.int64)
    keys = np.empty(n + 1, dtype=np.int64)
    stack = np.empty(n + 1, dtype=np.int32)
    with_offset = len(offset) > 0
    rank_bits = 1
    while (1 << rank_bits) < n:
        rank_bits += 1
    rank_mask = (np.int64(1) << rank_bits) - 1
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
            if leg_indptr[op] == leg_indptr[op + 1]:
                start[op] = ready[op]
                order[done] = op
                done += 1
                end = ready[op] + op_ticks[op]
                depth = release(op, end, succ_indptr, succ_index, next_on_device, ready, waiting, stack, depth)
                continue
            time = ready[op]
            for leg in range(leg_indptr[op], leg_indptr[op + 1]):
                a, b = tx_lane[leg], rx_lane[leg]
                free_a, free_b = lane_free[a], lane_free[b]
                if peer[a] >= 0 and peer[a] != b:
                    free_a += leg_delay[leg]
                if peer[b] >= 0 and peer[b] != a:
                    free_b += leg_delay[leg]
                time = max(time, first_free[leg], max(free_a, free_b))
            ready[op] = time
            if with_offset:
                time += offset[op]
            heap_lift(keys, size, ((time >> coarse) << rank_bits) | rank[op])
            size += 1
        if size == 0:
            break
        root = keys[0]
        op = op_of_rank[root & rank_mask]
        time = ready[op]
        for leg in range(leg_indptr[op], leg_indptr[op + 1]):
            a, b = tx_lane[leg], rx_lane[leg]
            free_a, free_b = lane_free[a], lane_free[b]
            if peer[a] >= 0 and peer[a] != b:
                free_a += leg_delay[leg]
            if peer[b] >= 0 and peer[b] != a:
                free_b += leg_delay[leg]
            time = max(time, free_a, free_b)
        size = heap_pop(keys, size)
        key = (((time + offset[op] if with_offset else time) >> coarse) << rank_bits) | rank[op]
        if key > root:
            heap_lift(keys, size, key)
            size += 1
            continue
        start[op] = time
        order[done] = op
        done += 1
        end = time + op_ticks[op]
        for leg in range(leg_indptr[op], leg_indptr[op + 1]):
            a, b = tx_lane[leg], rx_lane[leg]
            lane_free[a] = end
            lane_free[b] = end
            peer[a] = b
            peer[b] = a
        depth = release(op, end, succ_indptr, succ_index, next_on_device, ready, waiting, stack, depth)
    return done
