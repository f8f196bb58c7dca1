"""Striping: a transfer becomes as many equal parts as there are planes that it could take."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.derived import derive
from fluxscale.instance.instance import TRANSFER, Instance

Ints = npt.NDArray[Any]


def stripe(instance: Instance) -> Instance:
    """Split every transfer of bytes into equal parts, one for each plane that both its ends share.

    The parts are transfers of their own (problem.md: what may be interrupted is split into chunks in the workload), so
    a schedule is free to send them side by side over several planes or one after the other over one. Gangs and
    transfers of a given duration stay whole. Bytes that do not divide go to the first parts; a transfer of fewer bytes
    than planes has fewer parts.

    Parameters
    ----------
    instance
        The problem.
    """
    derived = derive(instance)
    parts = np.ones(instance.n_ops, dtype=np.int64)
    whole = np.flatnonzero((instance.op_kind == TRANSFER) & (instance.op_fixed_ticks < 0))
    n_planes = np.diff(derived.leg_plane_indptr)[instance.leg_indptr[whole]]
    parts[whole] = np.clip(instance.op_bytes[whole], 1, n_planes)
    if parts.max(initial=1) == 1:
        return instance
    first = np.zeros(instance.n_ops + 1, dtype=np.int64)
    np.cumsum(parts, out=first[1:])
    old = np.repeat(np.arange(instance.n_ops), parts)
    number = np.arange(len(old)) - first[old]
    share, rest = np.divmod(instance.op_bytes[old], parts[old])
    pred_indptr, pred_at = _rows(instance.pred_indptr, old)
    pred = instance.pred_index[pred_at]
    # A predecessor that was split is all its parts.
    copies = parts[pred]
    copy_first = np.cumsum(copies) - copies
    pred_index = np.repeat(first[pred], copies) + np.arange(int(copies.sum())) - np.repeat(copy_first, copies)
    ends = np.concatenate([[0], np.cumsum(copies)])
    leg_indptr, leg_at = _rows(instance.leg_indptr, old)
    names = instance.names
    return replace(
        instance,
        op_kind=instance.op_kind[old],
        op_device=instance.op_device[old],
        op_bytes=share + (number < rest),
        op_fixed_ticks=instance.op_fixed_ticks[old],
        pred_indptr=ends[pred_indptr],
        pred_index=pred_index,
        device_ops=first[instance.device_ops],
        leg_indptr=leg_indptr,
        leg_tx=instance.leg_tx[leg_at],
        leg_rx=instance.leg_rx[leg_at],
        names=replace(
            names,
            ops=[names.ops[op] for op in old.tolist()] if len(names.ops) else (),
            labels=None if names.labels is None else names.labels.take(old),
        ),
    )


def _rows(indptr: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Row pointer and element positions of a CSR array whose rows are taken as often as ``rows`` says."""
    counts = np.diff(indptr)[rows]
    out = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(counts, out=out[1:])
    return out, np.arange(int(out[-1])) + np.repeat(indptr[rows] - out[:-1], counts)
