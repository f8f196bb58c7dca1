"""Kernels that keep the edges of at least a threshold in front of each row, so that searches look at nothing else.

Edges are a CSR by row whose order within a row is free: a row's active edges are ``indptr[row]`` to ``end[row]``.
``origin`` moves along and says which edge of the first order each one is.
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from fluxscale._numba import kernel

Ints = npt.NDArray[Any]


@kernel
def activate(indptr: Ints, end: Ints, index: Ints, value: Ints, origin: Ints, threshold: int) -> None:
    """Lower the threshold: more edges become active, and those that are stay where they are.

    Parameters
    ----------
    indptr, end, index, value, origin
        The edges; all but the first are changed in place.
    threshold
        Edges of at least this value are active from now on.
    """
    for u in range(len(end)):
        for edge in range(end[u], indptr[u + 1]):
            if value[edge] >= threshold:
                swap(index, value, origin, edge, end[u])
                end[u] += 1


@kernel
def deactivate_matched(
    end: Ints, index: Ints, value: Ints, origin: Ints, threshold: int, left_edge: Ints, right_mate: Ints
) -> None:
    """Let those edges of a matching go whose value has fallen below the threshold; they become inactive.

    Parameters
    ----------
    end, index, value, origin
        The edges.
    threshold
        What an edge must be to stay.
    left_edge, right_mate
        The matching, as for `hopcroft_karp.augment`; changed in place.
    """
    for u in range(len(end)):
        edge = left_edge[u]
        if edge >= 0 and value[edge] < threshold:
            right_mate[index[edge]] = -1
            left_edge[u] = -1
            end[u] -= 1
            swap(index, value, origin, edge, end[u])


@kernel
def swap(index: Ints, value: Ints, origin: Ints, one: int, other: int) -> None:
    """Let two edges of a row change places.

    Parameters
    ----------
    index, value, origin
        The edges.
    one, other
        Their places.
    """
    index[one], index[other] = index[other], index[one]
    value[one], value[other] = value[other], value[one]
    origin[one], origin[other] = origin[other], origin[one]
