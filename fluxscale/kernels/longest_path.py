"""Longest paths over precedence, device order and optional weighted arcs, in O(n + m)."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel


@kernel
def topological_order(pred_indptr, pred_index, prev_on_device, arc_indptr, arc_source):  # numpydoc ignore=PR01
    """Order the ops so that each comes after all that it waits for (depth-first over predecessors).

    Parameters
    ----------
    pred_indptr, pred_index
        CSR of predecessors.
    prev_on_device
        Op just before each op on its device, or -1.
    arc_indptr, arc_source
        CSR of further ops that each op waits for; ``arc_indptr`` of length 1: none.

    Returns
    -------
    order, count
        int32 ``[n]`` of which the first ``count`` entries are filled. ``count < n`` means that there is a cycle.
    """
    n = len(prev_on_device)
    with_arcs = len(arc_indptr) > 1
    order = np.empty(n, dtype=np.int32)
    state = np.zeros(n, dtype=np.int8)
    cursor = pred_indptr[:-1].copy()
    stack = np.empty(n, dtype=np.int32)
    count = 0
    for root in range(n):
        if state[root]:
            continue
        depth = 1
        stack[0] = root
        state[root] = 1
        while depth:
            op = stack[depth - 1]
            end = pred_indptr[op + 1]
            extra = arc_indptr[op + 1] - arc_indptr[op] if with_arcs else 0
            child = -1
            while child < 0 and cursor[op] <= end + extra:
                at = cursor[op]
                cursor[op] += 1
                if at < end:
                    other = pred_index[at]
                elif at == end:
                    other = prev_on_device[op]
                else:
                    other = arc_source[arc_indptr[op] + at - end - 1]
                if other >= 0:
                    if state[other] == 1:
                        return order, count
                    if state[other] == 0:
                        child = other
            if child >= 0:
                state[child] = 1
                stack[depth] = child
                depth += 1
            else:
                state[op] = 2
                order[count] = op
                count += 1
                depth -= 1
    return order, count


@kernel
def heads(
    order, pred_indptr, pred_index, prev_on_device, ticks, release, arc_indptr, arc_source, arc_gap
):  # numpydoc ignore=PR01
    """Earliest start of each op, and the predecessor that decides it.

    Parameters
    ----------
    order
        Topological order (:func:`topological_order`).
    ticks, release
        Duration and least start of each op.
    arc_gap
        Least time between the end of an arc's source and the start of its target.

    Returns
    -------
    head, critical
        int64 ``[n]`` and int32 ``[n]``; ``critical`` is -1 where the release time decides.
    """
    head = release.copy()
    critical = np.full(len(order), -1, dtype=np.int32)
    with_arcs = len(arc_indptr) > 1
    for op in order:
        best = head[op]
        via = -1
        for at in range(pred_indptr[op], pred_indptr[op + 1]):
            other = pred_index[at]
            if head[other] + ticks[other] > best:
                best, via = head[other] + ticks[other], other
        other = prev_on_device[op]
        if other >= 0 and head[other] + ticks[other] > best:
            best, via = head[other] + ticks[other], other
        if with_arcs:
            for at in range(arc_indptr[op], arc_indptr[op + 1]):
                other = arc_source[at]
                if head[other] + ticks[other] + arc_gap[at] > best:
                    best, via = head[other] + ticks[other] + arc_gap[at], other
        head[op] = best
        critical[op] = via
    return head, critical


@kernel
def tails(
    order, pred_indptr, pred_index, prev_on_device, ticks, least, arc_indptr, arc_source, arc_gap
):  # numpydoc ignore=PR01
    """Least time from the end of each op to the end of the iteration, int64 ``[n]``.

    Parameters as in :func:`heads`; ``least`` is known of each op's tail beforehand (usually 0).
    """
    tail = least.copy()
    with_arcs = len(arc_indptr) > 1
    for k in range(len(order) - 1, -1, -1):
        op = order[k]
        rest = tail[op] + ticks[op]
        for at in range(pred_indptr[op], pred_indptr[op + 1]):
            other = pred_index[at]
            tail[other] = max(tail[other], rest)
        other = prev_on_device[op]
        if other >= 0:
            tail[other] = max(tail[other], rest)
        if with_arcs:
            for at in range(arc_indptr[op], arc_indptr[op + 1]):
                other = arc_source[at]
                tail[other] = max(tail[other], rest + arc_gap[at])
    return tail
