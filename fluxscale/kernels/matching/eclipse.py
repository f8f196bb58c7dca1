"""Kernel for Eclipse: again and again the matching and duration that serve the most demand per time, delay included."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale._numba import kernel
from fluxscale.kernels.matching.eclipse_choice import best_choice, distinct
from fluxscale.kernels.matching.max_weight import heaviest

Ints = npt.NDArray[Any]

NO_WINDOW = -1


@kernel
def greedy(
    indptr: Ints,
    index: Ints,
    demand: Ints,
    column_indptr: Ints,
    column_index: Ints,
    to_column: Ints,
    delay: int,
    window: int,
) -> tuple[Ints, Ints, int]:
    """Play matchings until all demand is served, or the window is full.

    Parameters
    ----------
    indptr, index, demand
        Demand by row, positive and ascending within a row.
    column_indptr, column_index, to_column
        The same edges by column, and the place there of each edge of a row.
    delay, window
        Reconfiguration delay and the time for all; `NO_WINDOW`: until all is served.

    Returns
    -------
    matchings, durations
        As in `Decomposition`.
    solved
        Number of matching problems, finished or given up.
    """
    n = len(indptr) - 1
    start, stop = indptr[:-1].copy(), indptr[1:]
    index, to_column, residual = index.copy(), to_column.copy(), demand.copy()
    column_residual = np.empty_like(residual)
    column_residual[to_column] = residual
    row_price, column_price = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    row_mate, column_mate = np.full(n, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32)
    best_mate = np.full(n, -1, dtype=np.int32)
    rank = np.empty(len(index), dtype=np.int64)
    matchings, durations = np.empty((64, n), dtype=np.int32), np.empty(64, dtype=np.int64)
    count, solved, time_left = 0, 0, window
    left = residual.sum()
    while left > 0 and (window == NO_WINDOW or time_left > delay):
        longest = residual.max() if window == NO_WINDOW else min(residual.max(), time_left - delay)
        last = one_matching_left(start, stop, index, best_mate)
        duration = longest
        if not last:
            choices = distinct(residual, longest, rank)
            chosen, tries = best_choice(
                start,
                stop,
                index,
                residual,
                column_indptr,
                column_index,
                column_residual,
                choices,
                rank,
                delay,
                row_price,
                column_price,
                row_mate,
                column_mate,
                best_mate,
            )
            solved += tries
            duration = choices[chosen]
            if window != NO_WINDOW and duration < longest and time_left - duration - 2 * delay <= 0:
                # No further matching fits, so this one is held until the window ends.
                duration = longest
                solved += 1
                heaviest(
                    start,
                    stop,
                    index,
                    residual,
                    column_indptr,
                    column_index,
                    column_residual,
                    duration,
                    -1,
                    row_price,
                    column_price,
                    row_mate,
                    column_mate,
                )
                best_mate[:] = row_mate
        if count == len(durations):
            wider, longer = np.empty((2 * count, n), dtype=np.int32), np.empty(2 * count, dtype=np.int64)
            wider[:count], longer[:count] = matchings, durations
            matchings, durations = wider, longer
        matchings[count] = best_mate
        durations[count] = duration
        count += 1
        time_left -= duration + delay
        left -= serve(start, stop, index, residual, to_column, column_residual, best_mate, duration)
    return matchings[:count].copy(), durations[:count].copy(), solved


@kernel
def serve(
    start: Ints,
    stop: Ints,
    index: Ints,
    residual: Ints,
    to_column: Ints,
    column_residual: Ints,
    mate: Ints,
    duration: int,
) -> int:
    """Take what a matching serves off the demand, and keep each row ascending and without zeros.

    Parameters
    ----------
    start, stop, index, residual, to_column, column_residual
        As in `greedy`; changed in place.
    mate, duration
        The matching and how long it is held.

    Returns
    -------
    served
        Sum of what was taken.
    """
    served = 0
    for row in range(len(start)):
        if mate[row] < 0:
            continue
        at = start[row]
        while index[at] != mate[row]:
            at += 1
        column, place = index[at], to_column[at]
        taken = int(min(duration, residual[at]))
        served += taken
        less = residual[at] - taken
        while at > start[row] and residual[at - 1] > less:
            residual[at], index[at], to_column[at] = residual[at - 1], index[at - 1], to_column[at - 1]
            at -= 1
        residual[at], index[at], to_column[at] = less, column, place
        column_residual[place] = less
        if less == 0:
            start[row] += 1
    return served


@kernel
def one_matching_left(start: Ints, stop: Ints, index: Ints, mate: Ints) -> bool:
    """Say whether what is left is one matching, and if so write it down.

    Parameters
    ----------
    start, stop, index
        Edges by row.
    mate
        Gets the column of each row, -1: none.
    """
    for row in range(len(start)):
        if stop[row] - start[row] > 1:
            return False
    used = np.zeros(len(start), dtype=np.bool_)
    for row in range(len(start)):
        mate[row] = index[start[row]] if start[row] < stop[row] else -1
        if mate[row] >= 0:
            if used[mate[row]]:
                return False
            used[mate[row]] = True
    return True
