"""Kernels over precedence graphs: topological order, reachability as packed bits, longest paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale._numba import kernel

Ints = npt.NDArray[Any]


@kernel
def topological_order(n: int, succ_indptr: Ints, succ_index: Ints) -> Ints:
    """Order the nodes so that every arc leads forward (Kahn's algorithm).

    Returns
    -------
    order
        int64 ``[n]``, or shorter where the graph has a cycle: the nodes on and behind cycles are missing.
    """
    waits = np.zeros(n, dtype=np.int64)
    for arc in range(len(succ_index)):
        waits[succ_index[arc]] += 1
    order = np.empty(n, dtype=np.int64)
    filled = 0
    for node in range(n):
        if waits[node] == 0:
            order[filled] = node
            filled += 1
    done = 0
    while done < filled:
        node = order[done]
        done += 1
        for arc in range(succ_indptr[node], succ_indptr[node + 1]):
            after = succ_index[arc]
            waits[after] -= 1
            if waits[after] == 0:
                order[filled] = after
                filled += 1
    return order[:filled]


@kernel
def reach_bits(order: Ints, succ_indptr: Ints, succ_index: Ints, column: Ints, words: int) -> Ints:
    """Collect, for every node, the marked nodes that can be reached from it, one bit each.

    Parameters
    ----------
    order
        All nodes in topological order.
    succ_indptr, succ_index
        CSR of successors.
    column
        int64 ``[n]``: bit number of a marked node, -1 for the others.
    words
        Number of 64-bit words that hold all bits.

    Returns
    -------
    bits
        uint64 ``[n, words]``; a node does not reach itself.
    """
    bits = np.zeros((len(order), words), dtype=np.uint64)
    for position in range(len(order) - 1, -1, -1):
        node = order[position]
        for arc in range(succ_indptr[node], succ_indptr[node + 1]):
            after = succ_index[arc]
            for word in range(words):
                bits[node, word] |= bits[after, word]
            bit = column[after]
            if bit >= 0:
                bits[node, bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
    return bits


@kernel
def longest_paths(src: Ints, dst: Ints, weight: Ints, value: Ints, limit: int) -> bool:
    """Raise ``value`` in place to the least solution of ``value[dst] >= value[src] + weight`` (Bellman and Ford).

    Parameters
    ----------
    src, dst, weight
        The arcs, int64. One pass suffices where they are sorted by the topological position of ``src``.
    value
        int64 ``[n]``: lower bounds on entry, the solution on return.
    limit
        Give up as soon as a value exceeds this (a cheap test for positive cycles).

    Returns
    -------
    found
        False where there is a cycle of positive length, or a value above ``limit``.
    """
    for _ in range(len(value) + 1):
        changed = False
        for arc in range(len(src)):
            reached = value[src[arc]] + weight[arc]
            if reached > value[dst[arc]]:
                if reached > limit:
                    return False
                value[dst[arc]] = reached
                changed = True
        if not changed:
            return True
    return False
