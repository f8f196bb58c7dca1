"""Kernel for maximum-cardinality matchings of sparse bipartite graphs, with a warm start (Hopcroft and Karp, 1973).

Left and right vertices are senders and receivers. Edges are a CSR by left vertex of which only the front part of each
row takes part (`active_edges`), so that one graph serves all thresholds of a search. A matching is kept as the edge of
each left vertex and the left vertex of each right vertex, -1 where there is none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale._numba import kernel

Ints = npt.NDArray[Any]


@kernel
def augment(
    indptr: Ints, end: Ints, index: Ints, left_edge: Ints, right_mate: Ints, layer: Ints, queue: Ints, cursor: Ints
) -> int:
    """Make a matching maximum: the more of it is there, the fewer phases it takes.

    Parameters
    ----------
    indptr, end, index
        Edges of left vertex u: those from ``indptr[u]`` to ``end[u]``, with their right vertices.
    left_edge, right_mate
        The matching, int64 ``[n_left]`` and int32 ``[n_right]``; changed in place. All its edges must exist.
    layer, queue, cursor
        Scratch: int32 ``[n_left + 1]``, int32 ``[2 n_left]`` and int64 ``[n_left]``.

    Returns
    -------
    missing
        Left vertices that stay without a partner.
    """
    n_left = len(end)
    while True:
        free = layers(indptr, end, index, left_edge, right_mate, layer, queue, cursor)
        if free <= 0:
            return -free
        # The free vertices are first in the queue; each looks for a shortest path that shares no vertex with the paths
        # found before it in this phase. The queue's second half holds the path.
        found = 0
        last = layer[n_left]
        for root in range(free):
            depth = 0
            queue[n_left] = queue[root]
            while depth >= 0:
                u = queue[n_left + depth]
                push = -1
                at = cursor[u]
                while at < end[u]:
                    mate = right_mate[index[at]]
                    if mate < 0:
                        push = -2
                        break
                    if depth < last and layer[mate] == depth + 1:
                        push = mate
                        break
                    at += 1
                cursor[u] = at
                if push >= 0:
                    depth += 1
                    queue[n_left + depth] = push
                elif push == -1:
                    layer[u] = -1
                    depth -= 1
                    if depth >= 0:
                        cursor[queue[n_left + depth]] += 1
                else:
                    while depth >= 0:
                        u = queue[n_left + depth]
                        layer[u] = -1
                        left_edge[u] = cursor[u]
                        right_mate[index[cursor[u]]] = u
                        depth -= 1
                    found += 1
        if found == free:
            return 0


@kernel
def layers(
    indptr: Ints, end: Ints, index: Ints, left_edge: Ints, right_mate: Ints, layer: Ints, queue: Ints, cursor: Ints
) -> int:
    """Layer the left vertices by their alternating distance from the free ones, up to the first free right vertex.

    Parameters
    ----------
    indptr, end, index, left_edge, right_mate, layer, queue, cursor
        As for `augment`; the last entry of `layer` gets the last layer of the shortest paths.

    Returns
    -------
    free
        Number of free left vertices (they are first in the queue), negated if no path exists.
    """
    n_left = len(end)
    tail = 0
    for u in range(n_left):
        if left_edge[u] < 0:
            layer[u] = 0
            cursor[u] = indptr[u]
            queue[tail] = u
            tail += 1
        else:
            layer[u] = -1
    free = tail
    head = 0
    while head < tail:
        u = queue[head]
        head += 1
        for edge in range(indptr[u], end[u]):
            mate = right_mate[index[edge]]
            if mate < 0:
                layer[n_left] = layer[u]
                return free
            if layer[mate] < 0:
                layer[mate] = layer[u] + 1
                cursor[mate] = indptr[mate]
                queue[tail] = mate
                tail += 1
    return -free


@kernel
def match_from(indptr: Ints, index: Ints, n_right: int, start: Ints) -> Ints:
    """Match a graph whose edges all count, from a partial matching of which some edges may be gone.

    Parameters
    ----------
    indptr, index, n_right
        CSR of the edges by left vertex, number of right vertices.
    start
        Right vertex of each left one, -1: none. What is no edge, or is used twice, is dropped.

    Returns
    -------
    matching
        Right vertex of each left one, int32, -1: none.
    """
    n_left = len(indptr) - 1
    left_edge = np.full(n_left, -1, dtype=np.int64)
    right_mate = np.full(n_right, -1, dtype=np.int32)
    for u in range(n_left):
        for edge in range(indptr[u], indptr[u + 1]):
            if index[edge] == start[u] and right_mate[start[u]] < 0:
                left_edge[u] = edge
                right_mate[start[u]] = u
    augment(
        indptr,
        indptr[1:],
        index,
        left_edge,
        right_mate,
        np.empty(n_left + 1, dtype=np.int32),
        np.empty(2 * n_left, dtype=np.int32),
        np.empty(n_left, dtype=np.int64),
    )
    return receivers(index, left_edge)


@kernel
def receivers(index: Ints, left_edge: Ints) -> Ints:
    """Right vertex of each left vertex, int32, from its matched edge.

    Parameters
    ----------
    index, left_edge
        As for `augment`.
    """
    matching = np.full(len(left_edge), -1, dtype=np.int32)
    for u in range(len(left_edge)):
        if left_edge[u] >= 0:
            matching[u] = index[left_edge[u]]
    return matching
