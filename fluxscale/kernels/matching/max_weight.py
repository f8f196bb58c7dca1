"""Kernel for maximum-weight matchings of sparse bipartite graphs, exact and with a warm start.

A primal-dual method (H. W. Kuhn, 1955; R. Jonker and A. Volgenant, Computing 38, 1987) on integers. Every vertex has a
price, not negative, and the two prices of an edge are at least its weight, so the sum of prices is an upper bound of
any matching at any time. When every matched edge's prices are exactly its weight and every unmatched vertex's price is
0, the bound is reached: both are optimal. Such prices may begin anywhere, which is how one solution starts the next.

Weights are ``min(cap, value)``, so that one graph serves every duration of a circuit; an edge of value 0 is none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale._numba import kernel
from fluxscale.kernels.heap import heap_lift, heap_pop
from fluxscale.kernels.matching.max_weight_claim import claim, open_prices

Ints = npt.NDArray[Any]

_FAR = np.iinfo(np.int64).max


@kernel
def heaviest(
    row_start: Ints,
    row_stop: Ints,
    row_index: Ints,
    row_value: Ints,
    column_indptr: Ints,
    column_index: Ints,
    column_value: Ints,
    cap: int,
    floor: int,
    row_price: Ints,
    column_price: Ints,
    row_mate: Ints,
    column_mate: Ints,
) -> int:
    """Match for the largest sum of weights, or give up when it cannot be more than a floor.

    Parameters
    ----------
    row_start, row_stop, row_index, row_value
        Edges by row: those of row i are from ``row_start[i]`` to ``row_stop[i]``, with their columns and values.
    column_indptr, column_index, column_value
        The same edges by column.
    cap
        Largest weight that counts of an edge.
    floor
        Stop once the upper bound is not above it; -1: never.
    row_price, column_price
        int64: `column_price` is the start, any prices that are not negative; both are replaced.
    row_mate, column_mate
        int32: a matching to start from, -1: none; replaced. It may hold edges that are gone.

    Returns
    -------
    bound
        The sum of prices. Above the floor: the weight of the matching, which is maximum. Otherwise an upper bound, and
        the matching is not finished.
    """
    bound = open_prices(row_start, row_stop, row_index, row_value, cap, row_price, column_price, row_mate, column_mate)
    if bound <= floor:
        return bound
    bound = claim(
        row_start, row_stop, row_index, row_value, cap, floor, bound, row_price, column_price, row_mate, column_mate
    )
    if bound <= floor:
        return bound
    bound = settle(
        row_start, row_stop, row_index, row_value, cap, floor, bound, row_price, column_price, row_mate, column_mate
    )
    # Columns that a former price made unattractive: the same search from the other side. It leaves no row behind.
    if bound <= floor:
        return bound
    return settle(
        column_indptr[:-1],
        column_indptr[1:],
        column_index,
        column_value,
        cap,
        floor,
        bound,
        column_price,
        row_price,
        column_mate,
        row_mate,
    )


@kernel
def settle(
    start: Ints,
    stop: Ints,
    index: Ints,
    value: Ints,
    cap: int,
    floor: int,
    bound: int,
    own_price: Ints,
    other_price: Ints,
    own_mate: Ints,
    other_mate: Ints,
) -> int:
    """Match or give up every free vertex of one side that has a price, each by a shortest path.

    A path is as long as its edges' prices exceed their weights. It ends at a free vertex of the other side, or at one
    of the own side that leaves its mate as its price has come down to 0. All prices within that distance move with it.

    Parameters
    ----------
    start, stop, index, value, cap, floor, bound
        As for `heaviest`, of the own side; `bound` is the sum of prices.
    own_price, other_price, own_mate, other_mate
        Prices and mates of either side; changed in place.

    Returns
    -------
    bound
        The sum of prices.
    """
    n_other = len(other_price)
    distance = np.full(n_other, _FAR, dtype=np.int64)
    parent = np.empty(n_other, dtype=np.int32)
    reached = np.empty(n_other, dtype=np.int32)
    passed = np.empty(n_other, dtype=np.int32)
    # A vertex is put on the heap once for each time its distance falls, so at most once for each edge.
    heap = np.empty(len(index) + 1, dtype=np.int64)
    bits = 1
    while (1 << bits) < n_other:
        bits += 1
    mask = (1 << bits) - 1
    for root in range(len(start)):
        if own_mate[root] >= 0 or own_price[root] == 0:
            continue
        if bound <= floor:
            return bound
        shortest, end, leaver = own_price[root], -1, root
        reached_count, passed_count, size = 0, 0, 0
        own, here = root, 0
        while own >= 0:
            base = here + own_price[own]
            for edge in range(start[own], stop[own]):
                other = index[edge]
                there = base + other_price[other] - min(cap, value[edge])
                if there < shortest and there < distance[other] and value[edge] > 0:
                    if distance[other] == _FAR:
                        reached[reached_count] = other
                        reached_count += 1
                    distance[other] = there
                    parent[other] = own
                    if other_mate[other] < 0:
                        shortest, end = there, other
                    else:
                        heap_lift(heap, size, (there << bits) | other)
                        size += 1
            own = -1
            while size > 0 and (heap[0] >> bits) < shortest:
                other = heap[0] & mask
                here = heap[0] >> bits
                size = heap_pop(heap, size)
                if here > distance[other]:
                    continue
                passed[passed_count] = other
                passed_count += 1
                own = other_mate[other]
                if here + own_price[own] < shortest:
                    shortest, end, leaver = here + own_price[own], -1, own
                break
        own_price[root] -= shortest
        bound -= shortest
        for at in range(passed_count):
            other = passed[at]
            other_price[other] += shortest - distance[other]
            own_price[other_mate[other]] -= shortest - distance[other]
        other = end
        if end < 0:
            other = own_mate[leaver]
            own_mate[leaver] = -1
        while other >= 0:
            own = parent[other]
            before = own_mate[own]
            own_mate[own], other_mate[other] = other, own
            other = before
        for at in range(reached_count):
            distance[reached[at]] = _FAR
    return bound
