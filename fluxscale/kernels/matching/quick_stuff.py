"""Kernel for QuickStuff: a demand matrix filled up with dummy demand until all line sums are equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale._numba import kernel

Ints = npt.NDArray[Any]
NEGATIVE, TOO_LARGE = -1, -2


@kernel
def quick_stuff(demand: Ints) -> tuple[int, Ints, Ints, Ints, Ints]:
    """Stuff the non-zero entries first, which keeps the matrix sparse, then what the lines still lack.

    Entries are visited row by row, and each gets as much as its row and its column still lack. After the non-zero
    entries no entry has both a row and a column that lack something, so the second round is a walk along the lines that
    do: at most 2n - 1 new entries.

    Parameters
    ----------
    demand
        int64 ``[n, n]``.

    Returns
    -------
    line_sum
        Sum of each row and each column after stuffing, or why there is none: `NEGATIVE`, `TOO_LARGE`.
    indptr, index
        CSR of the stuffed matrix by row, int64 and int32; a row's dummy entries come last.
    real, stuffed
        int64: demand of each entry, and demand and dummy together.
    """
    n = len(demand)
    row_lack, column_lack = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    indptr = np.zeros(n + 1, dtype=np.int64)
    status = 0
    for u in range(n):
        for v in range(n):
            amount = demand[u, v]
            if amount != 0:
                row_lack[u] -= amount
                column_lack[v] -= amount
                indptr[u + 1] += 1
                # A sum of positive numbers that has become too large for its integer comes out on the other side.
                if amount < 0:
                    status = NEGATIVE
                elif status == 0 and (row_lack[u] > 0 or column_lack[v] > 0):
                    status = TOO_LARGE
    line_sum = -int(min(row_lack.min(), column_lack.min())) if n > 0 else 0
    if status == 0 and line_sum > 2**62 // max(n, 1):
        status = TOO_LARGE
    if status < 0 or n == 0:
        nothing = np.zeros(0, dtype=np.int64)
        return status, indptr, nothing.astype(np.int32), nothing, nothing
    row_lack += line_sum
    column_lack += line_sum

    count = indptr.sum()
    index, real, stuffed = np.empty(count, np.int32), np.empty(count, np.int64), np.empty(count, np.int64)
    edge = 0
    for u in range(n):
        for v in range(n):
            amount = demand[u, v]
            if amount != 0:
                dummy = min(row_lack[u], column_lack[v])
                row_lack[u] -= dummy
                column_lack[v] -= dummy
                index[edge], real[edge], stuffed[edge] = v, amount, amount + dummy
                edge += 1

    more_row, more_column = np.empty(2 * n, np.int32), np.empty(2 * n, np.int32)
    more_amount = np.empty(2 * n, np.int64)
    more = 0
    u = v = 0
    while True:
        while u < n and row_lack[u] == 0:
            u += 1
        while v < n and column_lack[v] == 0:
            v += 1
        if u == n or v == n:
            break
        dummy = min(row_lack[u], column_lack[v])
        row_lack[u] -= dummy
        column_lack[v] -= dummy
        more_row[more], more_column[more], more_amount[more] = u, v, dummy
        more += 1
    return line_sum, *with_more(indptr, index, real, stuffed, more_row[:more], more_column[:more], more_amount[:more])


@kernel
def with_more(
    row_count: Ints, index: Ints, real: Ints, stuffed: Ints, more_row: Ints, more_column: Ints, more_amount: Ints
) -> tuple[Ints, Ints, Ints, Ints]:
    """Put the dummy entries behind the entries of their rows.

    Parameters
    ----------
    row_count
        Entries of each row before, shifted by one place.
    index, real, stuffed
        Those entries, as `quick_stuff` returns them.
    more_row, more_column, more_amount
        The dummy entries, by row.

    Returns
    -------
    indptr, index, real, stuffed
        As `quick_stuff` returns them.
    """
    n = len(row_count) - 1
    total = len(index) + len(more_row)
    indptr = np.zeros(n + 1, dtype=np.int64)
    new_index, new_real, new_stuffed = np.empty(total, np.int32), np.zeros(total, np.int64), np.empty(total, np.int64)
    at = before = more = 0
    for u in range(n):
        for _ in range(row_count[u + 1]):
            new_index[at], new_real[at], new_stuffed[at] = index[before], real[before], stuffed[before]
            at += 1
            before += 1
        while more < len(more_row) and more_row[more] == u:
            new_index[at], new_stuffed[at] = more_column[more], more_amount[more]
            at += 1
            more += 1
        indptr[u + 1] = at
    return indptr, new_index, new_real, new_stuffed
