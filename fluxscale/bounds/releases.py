"""Which ops are released at the same time in every schedule: those with the same predecessors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.instance import Instance

Ints = npt.NDArray[Any]


def same_release(instance: Instance) -> Ints:
    """A number for each op, equal only for ops with the same predecessors; 0 for those without any, int64 ``[n]``.

    Parameters
    ----------
    instance
        The problem.
    """
    indptr, index = instance.pred_indptr, instance.pred_index.astype(np.uint64)
    counts = np.diff(indptr)
    # An order-free hash tells sets apart; what it does not is compared below.
    mixed = (index + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(32)
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(mixed)])
    digest = sums[indptr[1:]] - sums[indptr[:-1]] + counts.astype(np.uint64) * np.uint64(0x94D049BB133111EB)
    order = np.argsort(digest)
    new = np.r_[True, digest[order[1:]] != digest[order[:-1]]]
    sizes = np.diff(np.r_[np.flatnonzero(new), len(order)])
    of_op = np.empty(instance.n_ops, dtype=np.int64)
    of_op[order] = np.cumsum(new) - 1
    model = np.empty(instance.n_ops, dtype=np.int64)
    model[order] = np.repeat(order[new], sizes)
    alone = np.empty(instance.n_ops, dtype=bool)
    alone[order] = np.repeat(sizes == 1, sizes)
    # Entry by entry against the first op of the same number; ops that differ after all stand alone.
    differs = counts != counts[model]
    ops = np.flatnonzero(~alone & ~differs)
    lengths = counts[ops]
    place = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    op = np.repeat(ops, lengths)
    mine = _ascending(op, instance.pred_index[indptr[op] + place])
    model_of = model[op]
    first = np.zeros(instance.n_ops, dtype=np.int64)
    first[ops] = np.cumsum(lengths) - lengths
    differs[op[mine != mine[first[model_of] + place]]] = True
    of_op[differs] = instance.n_ops + np.flatnonzero(differs)
    of_op += 1
    of_op[counts == 0] = 0
    return of_op


def _ascending(op: Ints, pred: Ints) -> Ints:
    """Predecessors in ascending order within each op; most lists are so already."""
    if ((op[1:] == op[:-1]) & (pred[1:] < pred[:-1])).any():
        return pred[np.lexsort((pred, op))]
    return pred
