"""Kernels that start a maximum-weight matching: prices of the rows, and the columns that they can have for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale._numba import kernel

Ints = npt.NDArray[Any]


@kernel
def open_prices(
    start: Ints,
    stop: Ints,
    index: Ints,
    value: Ints,
    cap: int,
    row_price: Ints,
    column_price: Ints,
    row_mate: Ints,
    column_mate: Ints,
) -> int:
    """Set the lowest prices of rows that the columns' allow, and keep of the matching what is tight with them.

    Parameters
    ----------
    start, stop, index, value, cap, row_price, column_price, row_mate, column_mate
        As for `heaviest`.

    Returns
    -------
    bound
        The sum of prices.
    """
    bound = column_price.sum()
    column_mate[:] = -1
    for row in range(len(start)):
        best, kept = 0, -1
        for edge in range(start[row], stop[row]):
            column = index[edge]
            gain = min(cap, value[edge]) - column_price[column]
            if gain > best:
                best, kept = gain, -1
            if gain == best and column == row_mate[row] and value[edge] > 0:
                kept = column
        if kept >= 0 and column_mate[kept] >= 0:
            kept = -1
        row_price[row] = best
        row_mate[row] = kept
        if kept >= 0:
            column_mate[kept] = row
        bound += best
    return bound


@kernel
def claim(
    start: Ints,
    stop: Ints,
    index: Ints,
    value: Ints,
    cap: int,
    floor: int,
    bound: int,
    row_price: Ints,
    column_price: Ints,
    row_mate: Ints,
    column_mate: Ints,
) -> int:
    """Let free rows claim columns, each at the price at which its second choice is as good (Jonker and Volgenant).

    That makes most of the matching at the cost of a look at a row's edges for each claim. A row that has lost its
    column claims again at once; one that could only claim without a raise waits for the second round or for `settle`.

    Parameters
    ----------
    start, stop, index, value, cap, floor, bound, row_price, column_price, row_mate, column_mate
        As for `heaviest`; `bound` is the sum of prices.

    Returns
    -------
    bound
        The sum of prices.
    """
    n = len(start)
    waiting = np.empty(n, dtype=np.int32)
    count = 0
    for row in range(n):
        if row_mate[row] < 0 and row_price[row] > 0:
            waiting[count] = row
            count += 1
    for _ in range(2):
        again = 0
        at = 0
        claims = 0
        while at < count and bound > floor:
            row = waiting[at]
            at += 1
            while row >= 0:
                first, second, chosen, other = 0, 0, -1, -1
                for edge in range(start[row], stop[row]):
                    gain = min(cap, value[edge]) - column_price[index[edge]]
                    if gain > first:
                        first, second, other, chosen = gain, first, chosen, index[edge]
                    elif gain > second:
                        second, other = gain, index[edge]
                bound += first - row_price[row]
                row_price[row] = first
                if chosen < 0:
                    break
                if first == second and column_mate[chosen] >= 0 and other >= 0:
                    chosen = other
                row_price[row] = second
                column_price[chosen] += first - second
                loser = column_mate[chosen]
                row_mate[row], column_mate[chosen] = chosen, row
                row = -1
                if loser >= 0:
                    row_mate[loser] = -1
                    claims += 1
                    if first > second and claims < 4 * n:
                        row = loser
                    else:
                        # Rows before `at` are done, so their places hold the rows of the next round.
                        waiting[again] = loser
                        again += 1
        count = again
    return bound
