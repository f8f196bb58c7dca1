"""Maximum matchings of sparse bipartite graphs: as many edges as possible, and with the smallest as large as can be.

A matching is an int32 array: right vertex (receiver) of each left vertex (sender), -1: none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.kernels.matching.bottleneck import bottleneck_matching
from fluxscale.kernels.matching.hopcroft_karp import match_from

Ints = npt.NDArray[Any]


def max_cardinality(indptr: Ints, index: Ints, n_right: int, start: Ints | None = None) -> Ints:
    """Match as many vertices as possible.

    J. E. Hopcroft and R. M. Karp, An n^5/2 algorithm for maximum matchings in bipartite graphs, SIAM J. Comput. 2
    (1973): at most in the order of sqrt(n) passes over the edges, and one or two when the start is nearly maximum.

    Parameters
    ----------
    indptr, index
        CSR of the edges by left vertex: right vertices, each less than `n_right`; the order within a row is free.
    n_right
        Number of right vertices.
    start
        A matching to start from, such as that of the graph before some edges were removed. Pairs that are no edges of
        this graph are dropped, and so is the second use of a right vertex.

    Returns
    -------
    matching
        int32 ``[n_left]``.
    """
    indptr, index = _graph(indptr, index, n_right)
    if start is None:
        start = np.full(len(indptr) - 1, -1, dtype=np.int32)
    elif len(start) != len(indptr) - 1:
        raise InputError("the start needs an entry for each left vertex", field="start", value=len(start))
    return match_from(indptr, index, n_right, np.asarray(start, dtype=np.int32))


def bottleneck(matrix: Ints) -> tuple[Ints, int]:
    """Maximum matching of the positive entries whose smallest entry is as large as possible.

    By augmenting along widest paths: U. Derigs and U. Zimmermann, An augmenting path method for solving linear
    bottleneck assignment problems, Computing 19 (1978). Where no perfect matching exists, the number of pairs comes
    first and the smallest entry second.

    Parameters
    ----------
    matrix
        Integers ``[n_left, n_right]``. Zero and negative entries are no edges.

    Returns
    -------
    matching
        int32 ``[n_left]``.
    value
        Its smallest entry, 0 if there are no edges.
    """
    matrix = np.asarray(matrix)
    if matrix.ndim != 2 or matrix.dtype.kind not in "iu":
        raise InputError("a matrix of integers is needed", field="matrix", value=f"{matrix.dtype}{list(matrix.shape)}")
    row, column = np.nonzero(matrix > 0)
    indptr = np.searchsorted(row, np.arange(len(matrix) + 1))
    return bottleneck_sparse(indptr, column, matrix[row, column], matrix.shape[1])


def bottleneck_sparse(indptr: Ints, index: Ints, value: Ints, n_right: int) -> tuple[Ints, int]:
    """Do what `bottleneck` does, with the entries as a CSR.

    Parameters
    ----------
    indptr, index, n_right
        As for `max_cardinality`.
    value
        Integer of each edge; those that are not positive do not count.

    Returns
    -------
    matching, value
        As of `bottleneck`.
    """
    indptr, index = _graph(indptr, index, n_right)
    value = np.asarray(value, dtype=np.int64)
    if len(value) != len(index):
        raise InputError("each edge needs a value", field="value", value=len(value))
    matching, smallest = bottleneck_matching(indptr, index, value, n_right)
    return matching, int(smallest)


def _graph(indptr: Ints, index: Ints, n_right: int) -> tuple[Ints, Ints]:
    """Check a CSR: the kernels do not."""
    indptr, index = np.asarray(indptr, dtype=np.int64), np.asarray(index, dtype=np.int32)
    if len(indptr) == 0 or indptr[0] != 0 or indptr[-1] != len(index) or np.any(np.diff(indptr) < 0):
        raise InputError("row pointers must rise from 0 to the number of edges", field="indptr")
    if len(index) and (index.min() < 0 or index.max() >= n_right):
        raise InputError(f"right vertices must be from 0 to {n_right - 1}", field="index")
    return indptr, index
