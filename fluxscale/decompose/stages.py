"""Stage groups: endpoints in a row such that neighbours in the pipeline are neighbours there, cut into stretches."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.instance import Instance

Ints = npt.NDArray[Any]


def endpoint_row(instance: Instance) -> Ints:
    """Order the endpoints so that those with many transfers between them stand side by side.

    Grown like a maximum spanning tree (Prim): the next endpoint is the one with most transfers to one that is already
    in the row, of several the one whose partner was added last. A pipeline comes out as its stages from one end to
    the other, and replicas, which only gradients tie together, one after the other.

    Parameters
    ----------
    instance
        The problem.

    Returns
    -------
    row
        int64 ``[E]``: endpoints in order.
    """
    n = instance.n_endpoints
    low = np.minimum(instance.leg_tx, instance.leg_rx).astype(np.int64)
    high = np.maximum(instance.leg_tx, instance.leg_rx).astype(np.int64)
    pairs, weight = np.unique(low * n + high, return_counts=True)
    ends = np.concatenate([pairs // n, pairs % n])
    others, weights = np.concatenate([pairs % n, pairs // n]), np.tile(weight, 2)
    by = np.argsort(ends, kind="stable")
    others, weights = others[by].tolist(), weights[by].tolist()
    indptr = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n))]).tolist()
    load = np.bincount(ends, weights=np.tile(weight, 2), minlength=n)
    row: list[int] = []
    seen = [False] * n
    heap: list[tuple[int, int, int]] = []
    for first in np.argsort(load, kind="stable").tolist():
        heapq.heappush(heap, (0, 0, first))
        while heap:
            _, _, endpoint = heapq.heappop(heap)
            if seen[endpoint]:
                continue
            seen[endpoint] = True
            row.append(endpoint)
            for at in range(indptr[endpoint], indptr[endpoint + 1]):
                if not seen[others[at]]:
                    heapq.heappush(heap, (-weights[at], -len(row), others[at]))
    return np.array(row, dtype=np.int64)


def group_of(row: Ints, size: int, shift: int) -> Ints:
    """Number of the group of each endpoint: stretches of ``size`` in the row, the first one ``shift`` shorter.

    Returns
    -------
    group
        int64 ``[E]``, by endpoint.
    """
    group = np.empty(len(row), dtype=np.int64)
    group[row] = (np.arange(len(row)) + shift % size) // size
    return group
