"""Kernel for Birkhoff's decomposition: a matrix of equal line sums as a sum of perfect matchings."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale._numba import kernel
from fluxscale.kernels.matching.active_edges import activate, deactivate_matched
from fluxscale.kernels.matching.bottleneck import descend, line_limit

Ints = npt.NDArray[Any]


@kernel
def birkhoff(indptr: Ints, index: Ints, real: Ints, stuffed: Ints, bottleneck: bool) -> tuple[Ints, Ints]:
    """Take perfect matchings out of a stuffed matrix until its demand is served.

    Entries only become smaller, so the last bottleneck is a limit of the next, and what is left of the last matching
    above it is where the next one starts.

    Parameters
    ----------
    indptr, index, real, stuffed
        The matrix as `quick_stuff` returns it.
    bottleneck
        Whether each is to be a bottleneck matching, rather than any perfect matching.

    Returns
    -------
    matchings, durations
        As in `Decomposition`.
    """
    n = len(indptr) - 1
    left_edge, right_mate = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int32)
    layer, queue = np.empty(n + 1, dtype=np.int32), np.empty(2 * n, dtype=np.int32)
    cursor, best = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    end, index, residual = indptr[:-1].copy(), index.copy(), stuffed.copy()
    origin, unserved = np.arange(len(index)), real.copy()
    matchings, durations = np.empty((64, n), dtype=np.int32), np.empty(64, dtype=np.int64)
    count = 0
    left = unserved.sum()
    threshold = line_limit(indptr, index, residual, n, n) if bottleneck and left > 0 else 1
    activate(indptr, end, index, residual, origin, threshold)
    while left > 0:
        threshold = descend(
            indptr, end, index, residual, origin, threshold, left_edge, right_mate, layer, queue, cursor, best
        )
        duration, served = take(residual, origin, unserved, left_edge)
        left -= served
        if served > 0:
            matchings, durations = with_room(matchings, durations, count)
            write(index, origin, real, left_edge, matchings[count])
            durations[count] = duration
            count += 1
        deactivate_matched(end, index, residual, origin, threshold, left_edge, right_mate)
    return matchings[:count].copy(), durations[:count].copy()


@kernel
def take(residual: Ints, origin: Ints, unserved: Ints, left_edge: Ints) -> tuple[int, int]:
    """Take a perfect matching, as long as its smallest entry, out of the matrix.

    Parameters
    ----------
    residual
        What is left of each entry; changed in place.
    origin, unserved
        Where to find what is left of each entry's demand, which goes first, and that itself; changed in place.
    left_edge
        Matched entry of each row.

    Returns
    -------
    duration
        How long the matching must be held: less than its smallest entry if its demand is served earlier.
    served
        Demand that it serves.
    """
    smallest = residual[left_edge[0]]
    for edge in left_edge:
        smallest = min(smallest, residual[edge])
    duration = served = 0
    for edge in left_edge:
        residual[edge] -= smallest
        amount = int(min(smallest, unserved[origin[edge]]))
        unserved[origin[edge]] -= amount
        served += amount
        duration = max(duration, amount)
    return duration, served


@kernel
def write(index: Ints, origin: Ints, real: Ints, left_edge: Ints, matching: Ints) -> None:
    """Write down a matching without the pairs that have no demand at all.

    Parameters
    ----------
    index, origin, real
        Column of each entry, where to find its demand, and the demand.
    left_edge
        Matched entry of each row.
    matching
        Receives the columns, -1 for a pair without demand.
    """
    for u in range(len(left_edge)):
        edge = left_edge[u]
        matching[u] = index[edge] if real[origin[edge]] > 0 else -1


@kernel
def with_room(matchings: Ints, durations: Ints, count: int) -> tuple[Ints, Ints]:
    """Make room for one more matching: twice as much whenever it is full.

    Parameters
    ----------
    matchings, durations
        What there is, of which the first `count` are in use.
    count
        Matchings in use.

    Returns
    -------
    matchings, durations
        The same, or longer copies.
    """
    if count < len(durations):
        return matchings, durations
    more_matchings = np.empty((2 * count, matchings.shape[1]), dtype=np.int32)
    more_durations = np.empty(2 * count, dtype=np.int64)
    more_matchings[:count] = matchings
    more_durations[:count] = durations
    return more_matchings, more_durations
