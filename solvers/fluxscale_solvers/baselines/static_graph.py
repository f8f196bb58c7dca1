"""Parts of a graph of endpoints that hang together, and the circuits on which that depends."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[Any]


def components(n: int, a: Ints, b: Ints) -> Ints:
    """Label the parts of an undirected graph by their smallest endpoint, int64 ``[n]``.

    Parameters
    ----------
    n
        Number of endpoints.
    a, b
        Ends of its edges.
    """
    label = np.arange(n)
    while True:
        before = label.copy()
        least = np.minimum(label[a], label[b])
        np.minimum.at(label, label[a], least)
        np.minimum.at(label, label[b], least)
        np.minimum.at(label, a, least)
        np.minimum.at(label, b, least)
        label = label[label]
        if np.array_equal(label, before):
            return label


def bridges(n: int, peer: Ints, plane_duplex: Ints) -> Ints:
    """Circuits without which their part falls apart, bool ``[P, n]`` (true at both ends of a two-way circuit).

    Tarjan's low points (Inf. Proc. Lett. 2, 1974), on circuits of all planes, one-way ones read as two-way. Self-loops
    are no circuits.

    Parameters
    ----------
    n
        Number of endpoints.
    peer
        int32 ``[P, n]``: receiver of each endpoint's circuit, -1: none.
    plane_duplex
        bool ``[P]``: planes on which a circuit is listed from both its ends.
    """
    plane, tail = np.nonzero(peer >= 0)
    head = peer[plane, tail]
    kept = (tail != head) & (~plane_duplex[plane] | (tail < head))
    plane, tail, head = plane[kept], tail[kept], head[kept]
    edges: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for k, (a, b) in enumerate(zip(tail.tolist(), head.tolist(), strict=True)):
        edges[a].append((b, k))
        edges[b].append((a, k))
    depth, low = [-1] * n, [0] * n
    weak = np.zeros(peer.shape, dtype=bool)
    for root in range(n):
        if depth[root] >= 0:
            continue
        depth[root] = 0
        stack = [(root, -1, iter(edges[root]))]
        while stack:
            end, came_by, rest = stack[-1]
            for other, k in rest:
                if k == came_by:
                    continue
                if depth[other] < 0:
                    depth[other] = low[other] = depth[end] + 1
                    stack.append((other, k, iter(edges[other])))
                    break
                low[end] = min(low[end], depth[other])
            else:
                stack.pop()
                if stack:
                    above = stack[-1][0]
                    low[above] = min(low[above], low[end])
                    if low[end] > depth[above]:
                        weak[plane[came_by], tail[came_by]] = True
                        if plane_duplex[plane[came_by]]:
                            weak[plane[came_by], head[came_by]] = True
    return weak
