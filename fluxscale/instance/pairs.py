"""The distinct circuits that an instance's legs ask for: directed pairs of endpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance

Ints = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Directed pairs of endpoints between which something is sent, in ascending order of (tx, rx).

    Attributes
    ----------
    tx, rx
        int32 ``[Q]``.
    leg_pair
        int32 ``[L]``: pair of each leg.
    plane_indptr, planes
        int64 ``[Q+1]``, int16: CSR of the planes on which both ends of a pair hang on one OCS.
    """

    tx: Ints
    rx: Ints
    leg_pair: Ints
    plane_indptr: Ints
    planes: Ints

    @property
    def count(self) -> int:
        """Number of pairs."""
        return len(self.tx)


def pairs(instance: Instance) -> Pairs:
    """Find the pairs of an instance.

    Parameters
    ----------
    instance
        The problem.
    """
    derived = derive(instance)
    key = instance.leg_tx.astype(np.int64) * instance.n_endpoints + instance.leg_rx
    distinct, first, leg_pair = np.unique(key, return_index=True, return_inverse=True)
    counts = np.diff(derived.leg_plane_indptr)[first]
    indptr = np.zeros(len(distinct) + 1, dtype=np.int64)
    np.cumsum(counts, out=indptr[1:])
    at = np.arange(int(indptr[-1])) + np.repeat(derived.leg_plane_indptr[first] - indptr[:-1], counts)
    n = max(instance.n_endpoints, 1)
    return Pairs(
        (distinct // n).astype(np.int32),
        (distinct % n).astype(np.int32),
        leg_pair.astype(np.int32).ravel(),
        indptr,
        derived.leg_planes[at],
    )
