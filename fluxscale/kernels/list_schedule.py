"""List scheduling: event-driven with a lazy heap, O((n + moves) log n).

Compute ops start as soon as their predecessors and their device allow: the device orders are given, so there is
nothing to decide. Transfers and gangs wait in a heap keyed by the earliest start that they had when they were last
looked at. An op whose time has moved on when it comes up goes back with its new key, instead of every waiting op
being looked at in every step. (Ports fill up, so a key is mostly too small; it is too large when the op's circuit has
been set for another transfer meanwhile, and then the op just comes later.)
"""

from __future__ import annotations

import numpy as np

from fluxscale._numba import inlined, kernel
from fluxscale.kernels.heap import heap_lift, heap_pop
from fluxscale.kernels.ports import commit, op_duration, op_earliest, reset


@kernel
def list_schedule(
    succ_indptr, succ_index, next_on_device, in_degree, op_ticks, plane_class, leg_indptr, option_indptr, option_plane,
    option_tx_lane, option_rx_lane, delay, all_stop, duplex, boundary,
    lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch,
    rank, op_of_rank, offset, coarse, start, leg_option, order,
):  # numpydoc ignore=PR01  # fmt: skip
    """Schedule every op; returns how many were reached (n, unless the precedence has a cycle).

    Parameters: a ``Problem``, a ``Ports``; ``rank`` int32 ``[n]`` breaks ties (lower first) and ``op_of_rank``
    inverts it; ``offset`` int64 ``[n]`` or empty is added to the earliest start in the heap's key, so that an urgent
    op can be committed before one that could start earlier; ``coarse``: low bits of the time that the key leaves out,
    so that time and rank fit 63 bits. Results: ``start`` int64 ``[n]``, ``leg_option`` int32 ``[L]`` (the option that
    each leg took), ``order`` int32 ``[n]`` (order of commitment, a topological order).
    """
    n = len(start)
    reset(delay, boundary, lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch)
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
            if leg_indptr[op] < leg_indptr[op + 1]:
                time = op_earliest(
                    op, ready[op], leg_indptr, option_indptr, option_plane, option_tx_lane, option_rx_lane, delay,
                    all_stop,
                    duplex, boundary, lane_free, peer, port_open, port_epoch, plane_open, plane_busy, plane_epoch,
                    leg_option,
                )  # fmt: skip
                if with_offset:
                    time += offset[op]
                heap_lift(keys, size, ((time >> coarse) << rank_bits) | rank[op])
                size += 1
                continue
            start[op] = ready[op]
            order[done] = op
            done += 1
            depth = release(
                op, ready[op] + op_ticks[op, 0], succ_indptr, succ_index, next_on_device, ready, waiting, stack, depth
            )
        if size == 0:
            break
        root = keys[0]
        op = op_of_rank[root & rank_mask]
        time = op_earliest(
            op, ready[op], leg_indptr, option_indptr, option_plane, option_tx_lane, option_rx_lane, delay, all_stop,
            duplex, boundary, lane_free, peer, port_open, port_epoch, plane_open, plane_busy, plane_epoch, leg_option,
        )  # fmt: skip
        key = (((time + offset[op] if with_offset else time) >> coarse) << rank_bits) | rank[op]
        size = heap_pop(keys, size)
        if key > root:
            heap_lift(keys, size, key)
            size += 1
            continue
        start[op] = time
        order[done] = op
        done += 1
        end = time + op_duration(op, op_ticks, plane_class, leg_indptr, option_plane, leg_option)
        commit(
            op, end, leg_indptr, option_plane, option_tx_lane, option_rx_lane, delay, all_stop, duplex, boundary,
            lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch, leg_option,
        )  # fmt: skip
        depth = release(op, end, succ_indptr, succ_index, next_on_device, ready, waiting, stack, depth)
    return done


@inlined
def release(op, end, succ_indptr, succ_index, next_on_device, ready, waiting, stack, depth):  # numpydoc ignore=PR01
    """Tell an op's successors (and the next op of its device) that it ends; push those that wait for nothing more."""
    for i in range(succ_indptr[op], succ_indptr[op + 1]):
        successor = succ_index[i]
        ready[successor] = max(ready[successor], end)
        waiting[successor] -= 1
        if waiting[successor] == 0:
            stack[depth] = successor
            depth += 1
    successor = next_on_device[op]
    if successor >= 0:
        ready[successor] = max(ready[successor], end)
        waiting[successor] -= 1
        if waiting[successor] == 0:
            stack[depth] = successor
            depth += 1
    return depth
