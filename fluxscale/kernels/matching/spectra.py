"""Kernel for a demand matrix as the fewest matchings possible: as many as a port has partners."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale._numba import kernel
from fluxscale.kernels.matching.eclipse import serve
from fluxscale.kernels.matching.max_weight import heaviest

Ints = npt.NDArray[Any]

_LARGEST_SUM = 1 << 60


@kernel
def fewest(
    indptr: Ints, index: Ints, demand: Ints, column_indptr: Ints, column_index: Ints, to_column: Ints
) -> tuple[Ints, Ints]:
    """Take matchings that hold every port with the most partners left, until no demand is left.

    By König's theorem such a matching always exists. It is held until none of those ports has demand left for its
    partner, so that each matching takes one off the largest number of partners. Of all such matchings the heaviest is
    taken, so that long demands go together.

    Parameters
    ----------
    indptr, index, demand, column_indptr, column_index, to_column
        As for `eclipse.greedy`.

    Returns
    -------
    matchings, durations
        As in `Decomposition`.
    """
    n = len(indptr) - 1
    start, stop = indptr[:-1].copy(), indptr[1:]
    index, to_column, residual = index.copy(), to_column.copy(), demand.copy()
    column_residual = np.empty_like(residual)
    column_residual[to_column] = residual
    row_price, column_price = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    row_mate, column_mate = np.full(n, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32)
    weight, column_weight = np.zeros_like(residual), np.zeros_like(residual)
    column_degree = np.empty(n, dtype=np.int64)
    most = degrees(start, stop, index, column_degree)
    matchings, durations = np.empty((most, n), dtype=np.int32), np.empty(most, dtype=np.int64)
    for at in range(most):
        partners = most - at
        # A port with the most partners counts for more than all demand of a matching. Weights lose their last bits if
        # sums would not fit otherwise, which is a matter of quality only.
        largest, shift = residual.max(), 0
        while (largest >> shift) + 1 > _LARGEST_SUM // (8 * n * (n + 1)):
            shift += 1
        bonus = n * ((largest >> shift) + 1) + 1
        column_weight[:] = 0
        for row in range(n):
            for edge in range(start[row], stop[row]):
                critical = int(stop[row] - start[row] == partners) + int(column_degree[index[edge]] == partners)
                weight[edge] = (residual[edge] >> shift) + 1 + bonus * critical
                column_weight[to_column[edge]] = weight[edge]
        heaviest(
            start,
            stop,
            index,
            weight,
            column_indptr,
            column_index,
            column_weight,
            4 * bonus,
            -1,
            row_price,
            column_price,
            row_mate,
            column_mate,
        )
        duration = 0
        for row in range(n):
            for edge in range(start[row], stop[row]):
                if index[edge] == row_mate[row] and (
                    stop[row] - start[row] == partners or column_degree[index[edge]] == partners
                ):
                    duration = max(duration, residual[edge])
        matchings[at] = row_mate
        durations[at] = duration
        serve(start, stop, index, residual, to_column, column_residual, row_mate, duration)
        degrees(start, stop, index, column_degree)
    return matchings, durations


@kernel
def degrees(start: Ints, stop: Ints, index: Ints, column_degree: Ints) -> int:
    """Count the partners that each port has demand for, or from.

    Parameters
    ----------
    start, stop, index
        Edges by row.
    column_degree
        Gets the number of each column.

    Returns
    -------
    most
        The largest number of a row or a column.
    """
    column_degree[:] = 0
    most = 0
    for row in range(len(start)):
        most = max(most, int(stop[row] - start[row]))
        for edge in range(start[row], stop[row]):
            column_degree[index[edge]] += 1
            most = max(most, int(column_degree[index[edge]]))
    return most
