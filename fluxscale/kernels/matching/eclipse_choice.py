"""Kernel for the one choice of Eclipse: the duration whose heaviest matching serves the most per time, delay included.

The search is exact, but few durations are solved. Prices of any kind bound the service of all durations at once
(`bound_all`), and a duration whose bound is not above the best is left out. A solution starts from the last one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale._numba import kernel
from fluxscale.kernels.matching.max_weight import heaviest

Ints = npt.NDArray[Any]


@kernel
def best_choice(
    start: Ints,
    stop: Ints,
    index: Ints,
    residual: Ints,
    column_indptr: Ints,
    column_index: Ints,
    column_residual: Ints,
    choices: Ints,
    rank: Ints,
    delay: int,
    row_price: Ints,
    column_price: Ints,
    row_mate: Ints,
    column_mate: Ints,
    best_mate: Ints,
) -> tuple[int, int]:
    """Find the duration whose heaviest matching serves the most per time; of equal ones the longest.

    Parameters
    ----------
    start, stop, index, residual, column_indptr, column_index, column_residual
        Edges and demand by row and by column, as for `heaviest`.
    choices, rank
        Durations, ascending, and the place there of each edge's residual, as `distinct` returns them.
    delay
        Reconfiguration delay.
    row_price, column_price, row_mate, column_mate
        Start and end of the searches, as for `heaviest`.
    best_mate
        Gets the matching.

    Returns
    -------
    chosen, tries
        Place of the duration, number of matching problems.
    """
    bound = np.full(len(choices), np.iinfo(np.int64).max, dtype=np.int64)
    bound_all(start, stop, index, residual, column_price, choices, rank, bound)
    chosen, served, tries = -1, 0, 0
    while True:
        # Which one to try next is a matter of speed only, so that floats may decide.
        following, most = -1, 0.0
        for at in range(len(choices)):
            if bound[at] < 0:
                continue
            if chosen >= 0 and bound[at] <= to_beat(served, choices[chosen], choices[at], delay):
                bound[at] = -1
            elif bound[at] / (choices[at] + delay) >= most:
                following, most = at, bound[at] / (choices[at] + delay)
        if following < 0:
            return chosen, tries
        floor = -1 if chosen < 0 else to_beat(served, choices[chosen], choices[following], delay)
        weight = heaviest(
            start,
            stop,
            index,
            residual,
            column_indptr,
            column_index,
            column_residual,
            choices[following],
            floor,
            row_price,
            column_price,
            row_mate,
            column_mate,
        )
        tries += 1
        if weight > floor:
            chosen, served = following, weight
            best_mate[:] = row_mate
        bound[following] = -1
        bound_all(start, stop, index, residual, column_price, choices, rank, bound)


@kernel
def bound_all(
    start: Ints, stop: Ints, index: Ints, residual: Ints, price: Ints, choices: Ints, rank: Ints, bound: Ints
) -> None:
    """Lower the bounds of all durations to what the columns' prices prove.

    With the columns' prices given, a row's lowest price is max(0, min(duration, residual) - price) over its edges: as
    the duration grows past the row's residuals, a constant that is overtaken by a slope of 1 between any two of them.
    All rows are summed up as differences from one duration to the next.

    Parameters
    ----------
    start, stop, index, residual, choices, rank
        As for `best_choice`; residuals ascend within a row.
    price
        Prices of the columns.
    bound
        Upper bound of the service of each duration; lowered in place.
    """
    n = len(choices)
    constant, slope = np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    longest_row = 0
    for row in range(len(start)):
        longest_row = max(longest_row, stop[row] - start[row])
    cheapest = np.empty(longest_row + 1, dtype=np.int64)
    for row in range(len(start)):
        if start[row] == stop[row]:
            continue
        # Cheapest column of the edges that last longer than a duration.
        least = np.iinfo(np.int64).max
        for edge in range(stop[row] - 1, start[row] - 1, -1):
            least = min(least, price[index[edge]])
            cheapest[edge - start[row]] = least
        base, begin = 0, 0
        for edge in range(start[row], stop[row]):
            end = min(rank[edge] + 1, n)
            if begin < end:
                # From `turn` on, the edges that are not over yet are worth more than those that are.
                overtake = base + cheapest[edge - start[row]]
                turn = begin
                if choices[begin] <= overtake:
                    turn = end
                    if choices[end - 1] > overtake:
                        turn = begin + np.searchsorted(choices[begin:end], overtake, side="right")
                constant[begin] += base
                constant[turn] -= base
                constant[turn] -= cheapest[edge - start[row]]
                slope[turn] += 1
                constant[end] += cheapest[edge - start[row]]
                slope[end] -= 1
                begin = end
            base = max(base, residual[edge] - price[index[edge]])
        constant[begin] += base
        constant[n] -= base
    total = price.sum()
    level, rate = 0, 0
    for at in range(n):
        level += constant[at]
        rate += slope[at]
        bound[at] = min(bound[at], total + level + rate * choices[at])


@kernel
def to_beat(served: int, duration: int, other: int, delay: int) -> int:
    """Service that another duration must exceed to be better; one that is longer need only be as good.

    Parameters
    ----------
    served, duration
        Service and duration of the best.
    other
        The other duration.
    delay
        Reconfiguration delay.

    Returns
    -------
    limit
        ``served * (other + delay) / (duration + delay)``, rounded down, or up and less 1, without overflow.
    """
    time, base = other + delay, duration + delay
    whole, rest = served // base, served % base
    if rest < 1 << 31 and time < 1 << 31:
        quotient, rest = (rest * time) // base, (rest * time) % base
    else:
        # Long multiplication and division, bit by bit.
        quotient, part = 0, 0
        for bit in range(61, -1, -1):
            part = 2 * part + (rest if (time >> bit) & 1 else 0)
            quotient = 2 * quotient + part // base
            part %= base
        rest = part
    limit = whole * time + quotient
    return limit - 1 if rest == 0 and other > duration else limit


@kernel
def distinct(residual: Ints, longest: int, rank: Ints) -> Ints:
    """Sort the distinct residuals up to a longest duration, which is one of them even if no residual is.

    Parameters
    ----------
    residual
        Demand that is left of each edge.
    longest
        Largest duration.
    rank
        Gets the place of each edge's residual; the number of choices if it is above the longest.

    Returns
    -------
    choices
        Ascending.
    """
    choices = np.unique(np.append(np.minimum(residual[residual > 0], longest), longest))
    for edge in range(len(residual)):
        rank[edge] = len(choices) if residual[edge] > longest else np.searchsorted(choices, residual[edge])
    return choices
