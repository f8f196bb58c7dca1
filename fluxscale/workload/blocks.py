"""Collects blocks of like ops and joins them into the columns of a CommDag."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.workload.dag import CommDag

Ints = npt.NDArray[Any]

LABEL_TYPES = {
    "role": np.int8,
    "stage": np.int32,
    "chunk": np.int32,
    "micro_batch": np.int32,
    "replica": np.int32,
    "rail": np.int16,
    "step": np.int32,
}
"""Label columns and their types; -1: does not apply."""

_OP_TYPES = {"kind": np.int8, "device": np.int32, "bytes": np.int64, "fixed": np.int64} | LABEL_TYPES


class Blocks:
    """Op blocks in op order; every block is a few arrays, never an op at a time.

    Parameters
    ----------
    first
        Number of the first op (for blocks that are appended to others later).
    """

    def __init__(self, first: int = 0) -> None:
        self.n_ops = first
        self._columns: dict[str, list[Ints]] = {name: [] for name in _OP_TYPES}
        self._pred_counts: list[Ints] = []
        self._preds: list[Ints] = []
        self._leg_counts: list[Ints] = []
        self._tx: list[Ints] = []
        self._rx: list[Ints] = []

    def add(
        self,
        n: int,
        *,
        kind: int | Ints,
        role: int | Ints,
        preds: Ints | None = None,
        tx: Ints | None = None,
        rx: Ints | None = None,
        **columns: Any,
    ) -> Ints:
        """Append a block of n ops.

        Parameters
        ----------
        n
            Ops in the block.
        kind, role
            Op kind and role code, each one number or an array of length n.
        preds
            int ``[n, k]``: ops waited for; -1: none.
        tx, rx
            int ``[n]`` or ``[n, k]``: endpoints of the legs; -1: none.
        columns
            ``device``, ``bytes``, ``fixed`` and label columns: numbers or arrays ``[n]``. Absent: -1 (``bytes``: 0).

        Returns
        -------
        int32 ``[n]``: numbers of the new ops.
        """
        values = {"bytes": 0, "kind": kind, "role": role} | columns
        for name, dtype in _OP_TYPES.items():
            self._columns[name].append(np.broadcast_to(np.asarray(values.get(name, -1), dtype=dtype), (n,)))
        self._append(n, preds, self._pred_counts, self._preds)
        self._append(n, tx, self._leg_counts, self._tx)
        if rx is not None:
            self._rx.append(np.asarray(rx, dtype=np.int32)[np.asarray(rx) >= 0])
        first = self.n_ops
        self.n_ops += n
        return np.arange(first, first + n, dtype=np.int32)

    def extend(self, other: Blocks) -> None:
        """Append blocks whose numbers begin where these end."""
        if not other._columns["kind"]:
            return
        for name, column in self._columns.items():
            column.extend(other._columns[name])
        self._pred_counts += other._pred_counts
        self._preds += other._preds
        self._leg_counts += other._leg_counts
        self._tx += other._tx
        self._rx += other._rx
        self.n_ops = other.n_ops

    @staticmethod
    def _append(n: int, rows: Ints | None, counts: list[Ints], flat: list[Ints]) -> None:
        if rows is None:
            counts.append(np.zeros(n, dtype=np.int32))
            return
        rows = np.asarray(rows, dtype=np.int32).reshape(n, -1)
        present = rows >= 0
        counts.append(present.sum(axis=1, dtype=np.int32))
        flat.append(rows[present])

    def finish(self, device_lists: Ints, **rest: Any) -> CommDag:
        """Join the blocks.

        Parameters
        ----------
        device_lists
            int ``[D, k]``: compute ops of every device in order.
        rest
            ``endpoint_rail``, names, ``gpus``, ``notes`` of the :class:`CommDag`.
        """
        joined = {name: np.concatenate(blocks) for name, blocks in self._columns.items()}
        devices, length = device_lists.shape
        return CommDag(
            op_kind=joined["kind"],
            op_device=joined["device"],
            op_bytes=joined["bytes"],
            op_fixed_ns=joined["fixed"],
            pred_indptr=_indptr(self._pred_counts),
            pred_index=_joined(self._preds),
            device_indptr=np.arange(devices + 1, dtype=np.int64) * length,
            device_ops=device_lists.astype(np.int32).ravel(),
            leg_indptr=_indptr(self._leg_counts),
            leg_tx=_joined(self._tx),
            leg_rx=_joined(self._rx),
            labels={name: joined[name] for name in LABEL_TYPES},
            **rest,
        )


def _indptr(counts: list[Ints]) -> Ints:
    joined = np.concatenate(counts)
    out = np.zeros(len(joined) + 1, dtype=np.int64)
    np.cumsum(joined, out=out[1:])
    return out


def _joined(flat: list[Ints]) -> Ints:
    return np.concatenate(flat) if flat else np.zeros(0, dtype=np.int32)
