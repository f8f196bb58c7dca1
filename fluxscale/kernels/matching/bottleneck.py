"""Kernel for bottleneck matchings: of all maximum matchings, one whose smallest edge is largest.

The threshold method: with a threshold that is never below the answer, match what the edges above it allow; then grow
the alternating forest of the unmatched vertices and lower the threshold to the largest edge that leaves it, until a
free vertex is reached. That is the widest augmenting path, and augmenting by widest paths ends in a bottleneck
matching (Derigs and Zimmermann, An augmenting path method for solving linear bottleneck assignment problems, 1978).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale._numba import kernel
from fluxscale.kernels.matching.active_edges import activate
from fluxscale.kernels.matching.hopcroft_karp import augment, receivers

Ints = npt.NDArray[Any]


@kernel
def widest(
    indptr: Ints,
    index: Ints,
    value: Ints,
    threshold: int,
    left_edge: Ints,
    right_mate: Ints,
    layer: Ints,
    queue: Ints,
    best: Ints,
) -> int:
    """Smallest edge of the widest augmenting path, or the threshold if that is smaller.

    Parameters
    ----------
    indptr, index, value
        All edges, active or not; they count if their value is positive.
    threshold
        Edges of at least this value do not narrow a path any more.
    left_edge, right_mate, layer, queue
        As for `hopcroft_karp.augment`; the matching is only read.
    best
        Scratch: int64 ``[n_right]``.

    Returns
    -------
    threshold
        The new threshold, 0 if there is no augmenting path at all.
    """
    n_left, n_right = len(indptr) - 1, len(right_mate)
    best[:] = 0
    tail = 0
    for u in range(n_left):
        layer[u] = -1
        if left_edge[u] < 0:
            layer[u] = 0
            queue[tail] = u
            tail += 1
    head = 0
    while True:
        while head < tail:
            u = queue[head]
            head += 1
            for edge in range(indptr[u], indptr[u + 1]):
                v = index[edge]
                if value[edge] > best[v]:
                    best[v] = value[edge]
                    if best[v] >= threshold:
                        mate = right_mate[v]
                        if mate < 0:
                            return threshold
                        if layer[mate] < 0:
                            layer[mate] = 0
                            queue[tail] = mate
                            tail += 1
        threshold = 0
        for v in range(n_right):
            if best[v] > threshold and (right_mate[v] < 0 or layer[right_mate[v]] < 0):
                threshold = best[v]
        if threshold == 0:
            return 0
        for v in range(n_right):
            if best[v] >= threshold:
                mate = right_mate[v]
                if mate < 0:
                    return threshold
                if layer[mate] < 0:
                    layer[mate] = 0
                    queue[tail] = mate
                    tail += 1


@kernel
def descend(
    indptr: Ints,
    end: Ints,
    index: Ints,
    value: Ints,
    origin: Ints,
    threshold: int,
    left_edge: Ints,
    right_mate: Ints,
    layer: Ints,
    queue: Ints,
    cursor: Ints,
    best: Ints,
) -> int:
    """Complete a matching to a bottleneck matching.

    Parameters
    ----------
    indptr, end, index, value, origin
        The edges, as for `active_edges.activate`; those of at least the threshold are active.
    threshold
        A value that is not below the answer.
    left_edge, right_mate, layer, queue, cursor
        As for `hopcroft_karp.augment`.
    best
        As for `widest`.

    Returns
    -------
    threshold
        No edge of the matching is smaller; it is the smallest edge unless the given threshold was below that.
    """
    missing = augment(indptr, end, index, left_edge, right_mate, layer, queue, cursor)
    while missing > 0:
        lower = widest(indptr, index, value, threshold, left_edge, right_mate, layer, queue, best)
        if lower == 0:
            break
        threshold = lower
        activate(indptr, end, index, value, origin, threshold)
        missing = augment(indptr, end, index, left_edge, right_mate, layer, queue, cursor)
    return threshold


@kernel
def line_limit(indptr: Ints, index: Ints, value: Ints, n_right: int, size: int) -> int:
    """Upper limit of the smallest edge of a matching of some size: it takes that many rows, and that many columns.

    Parameters
    ----------
    indptr, index, value, n_right
        All edges.
    size
        Edges of the matching, at least 1.
    """
    n_left = len(indptr) - 1
    row_top, column_top = np.zeros(n_left, dtype=np.int64), np.zeros(n_right, dtype=np.int64)
    for u in range(n_left):
        for edge in range(indptr[u], indptr[u + 1]):
            row_top[u] = max(row_top[u], value[edge])
            column_top[index[edge]] = max(column_top[index[edge]], value[edge])
    row_top.sort()
    column_top.sort()
    return min(row_top[n_left - size], column_top[n_right - size])


@kernel
def bottleneck_matching(indptr: Ints, index: Ints, value: Ints, n_right: int) -> tuple[Ints, int]:
    """Bottleneck matching of a sparse graph.

    Parameters
    ----------
    indptr, index, value, n_right
        The edges; those that are not positive do not count.

    Returns
    -------
    matching
        Right vertex of each left one, int32, -1: none.
    smallest
        Its smallest edge, 0 if it is empty.
    """
    n_left = len(indptr) - 1
    index, value = index.copy(), value.copy()
    left_edge = np.full(n_left, -1, dtype=np.int64)
    right_mate = np.full(n_right, -1, dtype=np.int32)
    layer, queue = np.empty(n_left + 1, dtype=np.int32), np.empty(2 * n_left, dtype=np.int32)
    cursor, best = np.empty(n_left, dtype=np.int64), np.empty(n_right, dtype=np.int64)
    end, origin = indptr[:-1].copy(), np.arange(len(index))
    # How many edges a maximum matching has says how far down every matching must go at least.
    activate(indptr, end, index, value, origin, 1)
    size = n_left - augment(indptr, end, index, left_edge, right_mate, layer, queue, cursor)
    if size == 0:
        return receivers(index, left_edge), 0
    left_edge[:] = -1
    right_mate[:] = -1
    end[:] = indptr[:-1]
    limit = line_limit(indptr, index, value, n_right, size)
    activate(indptr, end, index, value, origin, limit)
    descend(indptr, end, index, value, origin, limit, left_edge, right_mate, layer, queue, cursor, best)
    smallest = 0
    for u in range(n_left):
        if left_edge[u] >= 0 and (smallest == 0 or value[left_edge[u]] < smallest):
            smallest = int(value[left_edge[u]])
    return receivers(index, left_edge), smallest
