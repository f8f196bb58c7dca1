"""Columns that follow from an instance.

Durations, successor lists, the planes a leg may use. Computed once, then cached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from fluxscale.instance.instance import Instance

Ints = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Derived:
    """What follows from an instance.

    Attributes
    ----------
    plane_class
        int16 ``[P]``: planes of equal rate and latency share a class.
    op_ticks
        int64 ``[n, K]``: duration of each op on a plane of each class (equal in all columns where the duration is
        given).
    succ_indptr, succ_index
        CSR of each op's successors (explicit edges only).
    prev_on_device, next_on_device
        int32 ``[n]``: neighbour in the device's order, -1 at its ends and for ops without a device.
    leg_op
        int32 ``[L]``: the op that a leg belongs to.
    leg_plane_indptr, leg_planes
        int64 ``[L+1]``, int16: CSR of the planes on which both ends of a leg hang on one OCS, in ascending order.
    """

    plane_class: Ints
    op_ticks: Ints
    succ_indptr: Ints
    succ_index: Ints
    prev_on_device: Ints
    next_on_device: Ints
    leg_op: Ints
    leg_plane_indptr: Ints
    leg_planes: Ints

    @property
    def min_ticks(self) -> Ints:
        """Shortest possible duration of each op, int64 ``[n]``."""
        return self.op_ticks.min(axis=1)


_CACHE: WeakKeyDictionary[Instance, Derived] = WeakKeyDictionary()


def derive(instance: Instance) -> Derived:
    """Return the derived columns of an instance (computed on first use)."""
    found = _CACHE.get(instance)
    if found is None:
        found = _CACHE[instance] = _derive(instance)
    return found


def transfer_ticks(size_bytes: Ints, rate_bps: int, latency_ticks: int, tick_ns: int = 1) -> Ints:
    """Duration of transfers: latency + ceil(bytes x 8 / rate), in ticks (problem.md, "What must hold", 3).

    Exact in 64 bits: the quotient is taken in seconds first, then the remainder in ticks.
    """
    bits = np.asarray(size_bytes, dtype=np.int64) * 8
    per_second = 10**9 // tick_ns
    whole, rest = np.divmod(bits, rate_bps)
    scale = np.iinfo(np.int64).max // per_second
    if rate_bps <= scale:
        part = -((-rest * per_second) // rate_bps)
    else:
        part = np.array([-((-int(r) * per_second) // rate_bps) for r in rest.ravel()], dtype=np.int64).reshape(
            rest.shape
        )
    return whole * per_second + part + latency_ticks


def _derive(instance: Instance) -> Derived:
    pairs = np.stack([instance.plane_rate_bps, instance.plane_latency_ticks], axis=1)
    classes, plane_class = np.unique(pairs, axis=0, return_inverse=True)
    fixed = instance.op_fixed_ticks
    by_bytes = fixed < 0
    op_ticks = np.repeat(np.maximum(fixed, 0)[:, None], max(1, len(classes)), axis=1)
    for k, (rate, latency) in enumerate(classes):
        op_ticks[by_bytes, k] = transfer_ticks(instance.op_bytes[by_bytes], int(rate), int(latency), instance.tick_ns)

    n = instance.n_ops
    succ_indptr, succ_index = _transpose(instance.pred_indptr, instance.pred_index, n)
    prev_on_device = np.full(n, -1, dtype=np.int32)
    next_on_device = np.full(n, -1, dtype=np.int32)
    order = instance.device_ops
    inside = np.ones(len(order), dtype=bool)
    starts = instance.device_indptr[:-1]
    inside[starts[starts < len(order)]] = False
    inside = np.flatnonzero(inside)
    prev_on_device[order[inside]] = order[inside - 1]
    next_on_device[order[inside - 1]] = order[inside]

    leg_op = np.repeat(np.arange(n, dtype=np.int32), np.diff(instance.leg_indptr))
    indptr, planes = _leg_planes(instance)
    return Derived(
        plane_class.astype(np.int16).ravel(),
        op_ticks,
        succ_indptr,
        succ_index,
        prev_on_device,
        next_on_device,
        leg_op,
        indptr,
        planes,
    )


def _transpose(indptr: Ints, index: Ints, n: int) -> tuple[Ints, Ints]:
    """Transpose a CSR adjacency; each row of the result is in ascending order."""
    counts = np.bincount(index, minlength=n)
    out_indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(counts, out=out_indptr[1:])
    rows = np.repeat(np.arange(n, dtype=np.int32), np.diff(indptr))
    return out_indptr, rows[np.argsort(index, kind="stable")]


def _leg_planes(instance: Instance) -> tuple[Ints, Ints]:
    tx, rx, attach = instance.leg_tx, instance.leg_rx, instance.attach
    common = [(attach[p, tx] >= 0) & (attach[p, tx] == attach[p, rx]) for p in range(instance.n_planes)]
    indptr = np.zeros(len(tx) + 1, dtype=np.int64)
    for mask in common:
        indptr[1:] += mask
    np.cumsum(indptr, out=indptr)
    planes = np.empty(int(indptr[-1]), dtype=np.int16)
    fill = indptr[:-1].copy()
    for p, mask in enumerate(common):
        planes[fill[mask]] = p
        fill += mask
    return indptr, planes
