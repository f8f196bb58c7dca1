"""Heaviest matching of a sparse bipartite graph."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.kernels.matching.max_weight import heaviest

Ints = npt.NDArray[Any]


class ByColumn(NamedTuple):
    """Edges by column.

    Attributes
    ----------
    indptr, rows
        CSR by column: int64 ``[n_right + 1]`` and int32.
    place
        int64: where each edge of the CSR by row is in it.
    """

    indptr: Ints
    rows: Ints
    place: Ints


def by_column(indptr: Ints, index: Ints, n_right: int) -> ByColumn:
    """Turn a CSR by row into one by column.

    Parameters
    ----------
    indptr, index, n_right
        As for `max_weight`.
    """
    order = np.argsort(index, kind="stable")
    rows = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
    place = np.empty(len(index), dtype=np.int64)
    place[order] = np.arange(len(index))
    return ByColumn(np.searchsorted(index[order], np.arange(n_right + 1)), rows[order], place)


def max_weight(indptr: Ints, index: Ints, weight: Ints, n_right: int) -> Ints:
    """Match so that the sum of weights is as large as possible; vertices may stay alone.

    Exact, on integers, by shortest augmenting paths with prices after a round of bids: H. W. Kuhn, The Hungarian method
    for the assignment problem, 1955; R. Jonker and A. Volgenant, A shortest augmenting path algorithm for dense and
    sparse linear assignment problems, Computing 38 (1987). Theirs is for perfect matchings. Here a vertex may also stay
    alone at no cost, so that no dummy edges are needed.

    Parameters
    ----------
    indptr, index
        CSR of the edges by left vertex: right vertices, each less than `n_right`; the order within a row is free.
    weight
        Integer of each edge, not negative. Edges of weight 0 are never used.
    n_right
        Number of right vertices.

    Returns
    -------
    matching
        int32 ``[n_left]``: right vertex of each left vertex, -1: none. The same for the same input.
    """
    indptr, index, weight = np.asarray(indptr), np.asarray(index), np.asarray(weight)
    if len(indptr) == 0 or indptr[0] != 0 or indptr[-1] != len(index) or np.any(np.diff(indptr) < 0):
        raise InputError(
            "not the row pointers of these edges", field="indptr", maybe="let it rise from 0 to len(index)"
        )
    if len(weight) != len(index) or (len(weight) and weight.dtype.kind not in "iu"):
        raise InputError("an integer for each edge is needed", field="weight", value=f"{weight.dtype}[{len(weight)}]")
    n_left = len(indptr) - 1
    matching = np.full(n_left, -1, dtype=np.int32)
    if len(index) == 0:
        return matching
    if index.min() < 0 or index.max() >= n_right:
        raise InputError(f"right vertices must be from 0 to {n_right - 1}", field="index")
    if weight.min() < 0:
        raise InputError("weights must not be negative", field="weight", value=int(weight.min()))
    if int(weight.max()) * 4 * max(n_left, n_right) >= 1 << 62:
        raise InputError("weights too large for 64-bit sums", field="weight", maybe="use a coarser unit")
    indptr, index = indptr.astype(np.int64), index.astype(np.int32)
    weight = weight.astype(np.int64)
    columns = by_column(indptr, index, n_right)
    weight_by_column = np.empty_like(weight)
    weight_by_column[columns.place] = weight
    heaviest(
        indptr[:-1],
        indptr[1:],
        index,
        weight,
        columns.indptr,
        columns.rows,
        weight_by_column,
        int(weight.max()),
        -1,
        np.zeros(n_left, dtype=np.int64),
        np.zeros(n_right, dtype=np.int64),
        matching,
        np.full(n_right, -1, dtype=np.int32),
    )
    return matching
