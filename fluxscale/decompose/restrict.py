"""Restriction of an instance to some of its ops and legs: a relaxation, so bounds of the part hold for the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.instance import Instance
from fluxscale.instance.names import Names

Ints = npt.NDArray[Any]


def restrict(instance: Instance, ops: Ints, leg_kept: Ints) -> Instance:
    """Drop all ops but ``ops``, and of these all legs but those marked in ``leg_kept``.

    Precedence and device order are kept between kept ops only. Endpoints without a kept leg go, and planes on which no
    kept endpoint hangs. Every schedule of the whole, read at what is kept, is a schedule of the restriction that ends
    no later.

    Parameters
    ----------
    instance
        The whole.
    ops
        Ascending indices of the ops to keep, ``[k]``.
    leg_kept
        bool ``[L]``: legs to keep; marks at dropped ops do not count.

    Returns
    -------
    Instance
        The part; ops, endpoints, planes and devices keep their order and their names.
    """
    new_op = np.full(instance.n_ops, -1, dtype=np.int32)
    new_op[ops] = np.arange(len(ops), dtype=np.int32)

    pred_of, pred_at = _rows(instance.pred_indptr, ops)
    preds = new_op[instance.pred_index[pred_at]]
    pred_of, preds = pred_of[preds >= 0], preds[preds >= 0]

    leg_of, legs = _rows(instance.leg_indptr, ops)
    kept = leg_kept[legs]
    leg_of, legs = leg_of[kept], legs[kept]
    endpoints, ends = np.unique(np.concatenate([instance.leg_tx[legs], instance.leg_rx[legs]]), return_inverse=True)
    attach = instance.attach[:, endpoints]
    planes = np.flatnonzero((attach >= 0).any(axis=1))

    on_device = np.flatnonzero(new_op[instance.device_ops] >= 0)
    device_of = np.searchsorted(instance.device_indptr, on_device, side="right") - 1
    devices, device_of = np.unique(device_of, return_inverse=True)
    op_device = instance.op_device[ops].copy()
    op_device[op_device >= 0] = np.searchsorted(devices, op_device[op_device >= 0])

    return Instance(
        op_kind=instance.op_kind[ops],
        op_device=op_device,
        op_bytes=instance.op_bytes[ops],
        op_fixed_ticks=instance.op_fixed_ticks[ops],
        pred_indptr=_indptr(pred_of, len(ops)),
        pred_index=preds,
        device_indptr=_indptr(device_of, len(devices)),
        device_ops=new_op[instance.device_ops[on_device]],
        leg_indptr=_indptr(leg_of, len(ops)),
        leg_tx=ends[: len(legs)],
        leg_rx=ends[len(legs) :],
        plane_rate_bps=instance.plane_rate_bps[planes],
        plane_latency_ticks=instance.plane_latency_ticks[planes],
        plane_delay_ticks=instance.plane_delay_ticks[planes],
        plane_radix=instance.plane_radix[planes],
        plane_all_stop=instance.plane_all_stop[planes],
        plane_duplex=instance.plane_duplex[planes],
        attach=attach[planes],
        injection_rate_bps=instance.injection_rate_bps[planes],
        boundary=instance.boundary,
        nic_buffer_bytes=instance.nic_buffer_bytes,
        tick_ns=instance.tick_ns,
        names=_names(instance.names, ops, devices, endpoints, planes),
    )


def _rows(indptr: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Entries of some rows of a CSR: for each its row (numbered within ``rows``) and its place."""
    counts = indptr[rows + 1] - indptr[rows]
    row = np.repeat(np.arange(len(rows)), counts)
    first = np.cumsum(counts) - counts
    return row, np.arange(len(row)) - first[row] + indptr[rows][row]


def _indptr(row: Ints, n_rows: int) -> Ints:
    """CSR pointer of entries that are sorted by row."""
    return np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n_rows))]).astype(np.int64)


def _names(names: Names, ops: Ints, devices: Ints, endpoints: Ints, planes: Ints) -> Names:
    """Names of what is kept; numbers of the whole where nothing was named."""

    def pick(given: Any, kept: Ints, prefix: str) -> tuple[str, ...]:
        return tuple(str(given[i]) if len(given) else f"{prefix}{i}" for i in kept.tolist())

    labels = names.labels.take(ops) if names.labels is not None else None
    op_names = () if labels is not None and not len(names.ops) else pick(names.ops, ops, "op")
    return Names(
        op_names,
        pick(names.devices, devices, "dev"),
        pick(names.endpoints, endpoints, "ep"),
        pick(names.planes, planes, "plane"),
        labels,
    )
