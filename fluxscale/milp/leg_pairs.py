"""Pairs of legs that may meet: on a plane both may use, sharing a port, or on an all-stop plane at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import UnsupportedError
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance

Ints = npt.NDArray[Any]

SERIAL, SWITCH, APART = 0, 1, 2
"""Kinds of a pair: same circuit in the same direction (one after the other); different circuits on one port (a set-up
between them); no port in common on an all-stop plane (one epoch, or a set-up of the whole plane between them)."""

MAX_CANDIDATES = 20_000_000
"""Most pairs that are looked at before precedence is taken into account."""


@dataclass(frozen=True, eq=False)
class LegPairs:
    """Pairs of legs with ``leg_a < leg_b``, one row for each plane on which they may meet.

    Attributes
    ----------
    plane, leg_a, leg_b
        int64 ``[M]``.
    kind
        int8 ``[M]``: SERIAL, SWITCH or APART.
    """

    plane: Ints
    leg_a: Ints
    leg_b: Ints
    kind: Ints


def uses_epochs(instance: Instance) -> Ints:
    """Tell which planes need epochs, bool ``[P]``: all-stop ones, unless switching costs no time at all.

    Without a delay an all-stop plane is never dark, so only its ports matter.
    """
    return instance.plane_all_stop & (instance.plane_delay_ticks > 0)


def leg_pairs(instance: Instance) -> LegPairs:
    """List the pairs of legs that constrain each other on some plane, in ascending (plane, leg_a, leg_b).

    Raises
    ------
    UnsupportedError
        If there are more than ``MAX_CANDIDATES`` of them.
    """
    derived, epochs = derive(instance), uses_epochs(instance)
    leg_of = np.repeat(np.arange(instance.n_legs, dtype=np.int64), np.diff(derived.leg_plane_indptr))
    parts = []
    for plane in range(instance.n_planes):
        legs = leg_of[derived.leg_planes == plane]
        tx, rx = instance.leg_tx[legs].astype(np.int64), instance.leg_rx[legs].astype(np.int64)
        if epochs[plane]:
            group, member = np.zeros(len(legs), dtype=np.int64), legs
        elif instance.plane_duplex[plane]:
            group, member = np.concatenate([tx, rx]), np.concatenate([legs, legs])
        else:
            group, member = np.concatenate([2 * tx, 2 * rx + 1]), np.concatenate([legs, legs])
        a, b = _pairs_in_groups(group, member)
        kind = _kinds(instance, plane, a, b)
        meets = kind != APART if not epochs[plane] else np.ones(len(a), dtype=bool)
        parts.append((np.full(int(meets.sum()), plane, dtype=np.int64), a[meets], b[meets], kind[meets]))
    if not parts:
        empty = np.empty(0, dtype=np.int64)
        return LegPairs(empty, empty, empty, empty.astype(np.int8))
    return LegPairs(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _pairs_in_groups(group: Ints, member: Ints) -> tuple[Ints, Ints]:
    """All unordered pairs of members that share a group, each once."""
    order = np.lexsort((member, group))
    member = member[order]
    _, first, size = np.unique(group[order], return_index=True, return_counts=True)
    total = int((size * (size - 1) // 2).sum())
    if total > MAX_CANDIDATES:
        raise UnsupportedError(
            f"an exact model would have {total} pairs of transfers that share a port (limit {MAX_CANDIDATES})",
            maybe="use --solver list.",
        )
    # The member at place k of its group pairs with each of the size - 1 - k members behind it.
    place = np.arange(len(member)) - np.repeat(first, size)
    behind = np.repeat(size, size) - 1 - place
    left = np.repeat(np.arange(len(member)), behind)
    step = np.arange(total) - np.repeat(np.cumsum(behind) - behind, behind) + 1
    low, high = member[left], member[left + step]
    low, high = np.minimum(low, high), np.maximum(low, high)
    span = int(member.max(initial=0)) + 1
    key = np.unique(low * span + high)
    key = key[key // span != key % span]
    return key // span, key % span


def _kinds(instance: Instance, plane: int, a: Ints, b: Ints) -> Ints:
    tx_a, rx_a, tx_b, rx_b = instance.leg_tx[a], instance.leg_rx[a], instance.leg_tx[b], instance.leg_rx[b]
    same = (tx_a == tx_b) & (rx_a == rx_b)
    if instance.plane_duplex[plane]:
        opposite = (tx_a == rx_b) & (rx_a == tx_b)
        meet = (tx_a == tx_b) | (rx_a == rx_b) | (tx_a == rx_b) | (rx_a == tx_b)
        switch = meet & ~same & ~opposite
    else:
        switch = ((tx_a == tx_b) | (rx_a == rx_b)) & ~same
    return np.where(same, SERIAL, np.where(switch, SWITCH, APART)).astype(np.int8)
