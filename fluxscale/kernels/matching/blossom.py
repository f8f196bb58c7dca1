"""Maximum-cardinality matching in general graphs."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import inlined, kernel


@kernel
def _common_base(a, b, mate, parent, base, mark, stamp):  # numpydoc ignore=PR01
    """Base of the blossom that an edge between two even vertices closes."""
    while True:
        a = base[a]
        mark[a] = stamp
        if mate[a] < 0:
            break
        a = parent[mate[a]]
    while True:
        b = base[b]
        if mark[b] == stamp:
            return b
        b = parent[mate[b]]


@kernel
def _shrink_side(v, lca, child, mate, parent, base, inside):  # numpydoc ignore=PR01
    """Mark the blossom's vertices from ``v`` up to its base, and let even ones be reached from the other side."""
    while base[v] != lca:
        inside[base[v]] = True
        inside[base[mate[v]]] = True
        parent[v] = child
        child = mate[v]
        v = parent[mate[v]]


@kernel
def _grow(root, edges, mate, parent, base, even, queue, inside, mark, stamp):  # numpydoc ignore=PR01
    """Search an augmenting path from a free vertex; returns its other end, -1 if there is none, and the stamp."""
    n = len(mate)
    for v in range(n):
        parent[v] = -1
        base[v] = v
        even[v] = False
    even[root] = True
    queue[0] = root
    first, last = 0, 1
    while first < last:
        v = queue[first]
        first += 1
        for to in range(n):
            if not edges[v, to] or base[v] == base[to] or mate[v] == to:
                continue
            if to == root or (mate[to] >= 0 and parent[mate[to]] >= 0):
                stamp += 1
                lca = _common_base(v, to, mate, parent, base, mark, stamp)
                inside[:] = False
                _shrink_side(v, lca, to, mate, parent, base, inside)
                _shrink_side(to, lca, v, mate, parent, base, inside)
                for u in range(n):
                    if inside[base[u]]:
                        base[u] = lca
                        if not even[u]:
                            even[u] = True
                            queue[last] = u
                            last += 1
            elif parent[to] < 0:
                parent[to] = v
                if mate[to] < 0:
                    return to, stamp
                even[mate[to]] = True
                queue[last] = mate[to]
                last += 1
    return -1, stamp


@inlined
def _flip(end, mate, parent):  # numpydoc ignore=PR01
    """Exchange matched and other edges from the end of an alternating path back to its root."""
    while end >= 0:
        before = parent[end]
        after = mate[before]
        mate[end] = before
        mate[before] = end
        end = after


@kernel
def blossom(edges, order, mate):  # numpydoc ignore=PR01
    """Grow a matching to one of maximum cardinality that covers the first vertices of ``order``, in place; O(V^3).

    Edmonds, "Paths, trees, and flowers" (Canad. J. Math. 17, 1965), with bases in place of contracted graphs as in
    Gabow (J. ACM 23, 1976). An augmenting path is searched from each free vertex in the given order. Where there is
    none, an alternating path of even length may still exchange the vertex for a matched one that comes later: sets
    of vertices that can be covered together form a matroid, so what is covered in the end is best for the first
    vertices, then the second ones, and so on.

    Parameters
    ----------
    edges
        bool ``[V, V]``, symmetric; the diagonal is not read.
    order
        int64 ``[V]``: all vertices, those that matter most first.
    mate
        int32 ``[V]``: partner of each vertex, -1: none; a matching of the graph to begin from.

    Returns
    -------
    int
        Number of matched vertices.
    """
    n = len(mate)
    rank = np.empty(n, dtype=np.int64)
    for i in range(n):
        rank[order[i]] = i
    for i in range(n):
        v = order[i]
        if mate[v] < 0:
            for k in range(n):
                to = order[k]
                if to != v and mate[to] < 0 and edges[v, to]:
                    mate[v] = to
                    mate[to] = v
                    break
    parent, base = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    queue, mark = np.empty(n, dtype=np.int32), np.zeros(n, dtype=np.int64)
    even, inside = np.empty(n, dtype=np.bool_), np.empty(n, dtype=np.bool_)
    stamp = 0
    for i in range(n):
        root = order[i]
        if mate[root] >= 0:
            continue
        end, stamp = _grow(root, edges, mate, parent, base, even, queue, inside, mark, stamp)
        if end < 0:
            last = root
            for v in range(n):
                if even[v] and rank[v] > rank[last]:
                    last = v
            if last != root:
                end = mate[last]
                mate[last] = -1
        if end >= 0:
            _flip(end, mate, parent)
    matched = 0
    for v in range(n):
        if mate[v] >= 0:
            matched += 1
    return matched


@kernel
def heavy_first(order_a, order_b, mate):  # numpydoc ignore=PR01
    """Match the ends of each edge that are both free, edge by edge in the given order."""
    for k in range(len(order_a)):
        a, b = order_a[k], order_b[k]
        if mate[a] < 0 and mate[b] < 0:
            mate[a] = b
            mate[b] = a


@kernel
def exchange_heavier(weights, order_a, order_b, rounds, mate):  # numpydoc ignore=PR01
    """Improve a matching in place: match two vertices, and their former partners, while that is heavier.

    Goes through the given edges (all that have weight) until nothing changes, at most ``rounds`` times.
    """
    for _ in range(rounds):
        changed = False
        for k in range(len(order_a)):
            a, b = order_a[k], order_b[k]
            c, d = mate[a], mate[b]
            if c == b:
                continue
            gain = weights[a, b]
            if c >= 0:
                gain -= weights[a, c]
            if d >= 0:
                gain -= weights[b, d]
            if c >= 0 and d >= 0:
                gain += weights[c, d]
            if gain <= 0:
                continue
            changed = True
            mate[a] = b
            mate[b] = a
            if c >= 0:
                mate[c] = -1
            if d >= 0:
                mate[d] = -1
            if c >= 0 and d >= 0 and weights[c, d] > 0:
                mate[c] = d
                mate[d] = c
        if not changed:
            break
