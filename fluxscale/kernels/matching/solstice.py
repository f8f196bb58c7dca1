"""Kernel for Solstice: perfect matchings of the entries above a threshold that is halved when there are none left."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale._numba import kernel
from fluxscale.kernels.matching.active_edges import activate, deactivate_matched
from fluxscale.kernels.matching.birkhoff import take, with_room, write
from fluxscale.kernels.matching.hopcroft_karp import augment

Ints = npt.NDArray[Any]


@kernel
def big_slices(indptr: Ints, index: Ints, real: Ints, stuffed: Ints) -> tuple[Ints, Ints]:
    """Slice a stuffed matrix until its demand is served.

    The last matching, less the entries that fell below the threshold, is where the search for the next one starts. At
    threshold 1 there always is one, as the line sums are equal.

    Parameters
    ----------
    indptr, index, real, stuffed
        The matrix as `quick_stuff` returns it.

    Returns
    -------
    matchings, durations
        As in `Decomposition`.
    """
    n = len(indptr) - 1
    left_edge, right_mate = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int32)
    layer, queue = np.empty(n + 1, dtype=np.int32), np.empty(2 * n, dtype=np.int32)
    cursor = np.empty(n, dtype=np.int64)
    end, index, residual = indptr[:-1].copy(), index.copy(), stuffed.copy()
    origin, unserved = np.arange(len(index)), real.copy()
    matchings, durations = np.empty((64, n), dtype=np.int32), np.empty(64, dtype=np.int64)
    count = 0
    left = unserved.sum()
    threshold = 1
    while left > 0 and 2 * threshold <= residual.max():
        threshold *= 2
    activate(indptr, end, index, residual, origin, threshold)
    while left > 0:
        if augment(indptr, end, index, left_edge, right_mate, layer, queue, cursor) > 0:
            threshold //= 2
            activate(indptr, end, index, residual, origin, threshold)
            continue
        duration, served = take(residual, origin, unserved, left_edge)
        left -= served
        if served > 0:
            matchings, durations = with_room(matchings, durations, count)
            write(index, origin, real, left_edge, matchings[count])
            durations[count] = duration
            count += 1
        deactivate_matched(end, index, residual, origin, threshold, left_edge, right_mate)
    return matchings[:count].copy(), durations[:count].copy()
