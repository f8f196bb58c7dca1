"""Slots: circuits and free ports of one OCS whose ends may be exchanged, and the cheapest exchange of each part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[Any]

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Slots:
    """What can be exchanged on one OCS.

    Attributes
    ----------
    tail, head
        int64 ``[S]``: ends of each circuit; one-way ports without a circuit send to themselves, a free two-way port has
        the head -1, two free two-way ports of one part may be the ends of one slot.
    real
        bool ``[S]``: a circuit, not a slot of free ports.
    spare
        bool ``[S]``: the part hangs together without it.
    duplex
        Whether the ports are two-way: then the ends may also be exchanged crosswise.
    """

    tail: Ints
    head: Ints
    real: Ints
    spare: Ints
    duplex: bool


@dataclass(frozen=True)
class Exchange:
    """Two slots whose ends are exchanged: new circuits ``tails[k] -> heads[k]`` (-1: that port stays free)."""

    cost: int
    plane: int
    parts: tuple[int, int]
    old: tuple[int, ...]
    tails: tuple[int, int]
    heads: tuple[int, int]

    def carry_out(self, plane_peer: Ints, *, duplex: bool) -> None:
        """Write the new circuits into the receivers of a plane."""
        plane_peer[list(self.old)] = -1
        for tail, head in zip(self.tails, self.heads, strict=True):
            if tail >= 0 and head >= 0:
                plane_peer[tail] = head
                if duplex:
                    plane_peer[head] = tail


def simplex_slots(plane_peer: Ints, members: Ints) -> Slots:
    """Slots of one-way ports whose circuits form a permutation: any two cycles can be joined."""
    head = plane_peer[members].astype(np.int64)
    return Slots(members, head, head != members, np.ones(len(members), dtype=bool), False)


def duplex_slots(plane_peer: Ints, members: Ints, part: Ints, weak: Ints) -> Slots:
    """Slots of two-way ports.

    Parameters
    ----------
    plane_peer
        int32 ``[E]``: partner of each endpoint on the plane, -1: none.
    members
        Endpoints on the OCS.
    part
        int64 ``[E]``: part of each endpoint.
    weak
        bool ``[E]``: without this endpoint's circuit its part falls apart.
    """
    partner = plane_peer[members].astype(np.int64)
    first = members[(partner >= 0) & (members < partner)]
    free = members[partner < 0]
    by_part = free[np.argsort(part[free], kind="stable")]
    starts = np.flatnonzero(np.diff(part[by_part], prepend=-1) != 0)
    two = starts[(starts + 1 < len(by_part))]
    two = two[part[by_part[two]] == part[by_part[two + 1]]]
    tail = np.concatenate([free, by_part[two], first])
    head = np.concatenate([np.full(len(free), -1), by_part[two + 1], plane_peer[first]])
    real = np.arange(len(tail)) >= len(free) + len(two)
    spare = np.concatenate([np.zeros(len(free), dtype=bool), np.ones(len(two), dtype=bool), ~weak[first]])
    return Slots(tail, head, real, spare, True)


def best_exchanges(plane: int, slots: Slots, at: Ints, worth: Ints, group: Ints, part: Ints) -> list[Exchange]:
    """Cheapest exchange of each part with another part of the same group; ties: the first slots.

    Parameters
    ----------
    plane
        Where the OCS is.
    slots
        What can be exchanged.
    at
        int64 ``[E]``: number of an endpoint among the OCS's members.
    worth
        int64 ``[2, m, m]``: demand that a circuit between two members loses when it goes, and gains when it comes.
    group, part
        int64 ``[E]``: endpoints that have to be joined in the end, and those that are joined now.
    """
    if len(slots.tail) == 0:
        return []
    tail, head = at[slots.tail], np.where(slots.head >= 0, at[slots.head], -1)
    lost = np.where(slots.real, worth[0][tail, head], 0)
    single = slots.head < 0
    allowed = slots.spare[:, None] | slots.spare | (single[:, None] & single)
    allowed &= part[slots.tail][:, None] != part[slots.tail]
    allowed &= group[slots.tail][:, None] == group[slots.tail]
    both = lost[:, None] + lost
    across = _between(worth[1], tail, head)
    # Crosswise, two single free ports would be left as they are.
    cost = np.where(allowed & ~(single[:, None] & single), both - across - across.T, _NEVER)
    straight = np.zeros(cost.shape, dtype=bool)
    if slots.duplex:
        like = np.where(allowed, both - _between(worth[1], tail, tail) - _between(worth[1], head, head), _NEVER)
        straight = like < cost
        cost = np.minimum(cost, like)
    other = np.argmin(cost, axis=1)
    value = cost[np.arange(len(other)), other]
    order = np.lexsort((np.arange(len(value)), value, part[slots.tail]))
    firsts = order[np.diff(part[slots.tail][order], prepend=-1) != 0]
    found = []
    for i in firsts[value[firsts] < _NEVER].tolist():
        j = int(other[i])
        a, b, c, d = (int(slots.tail[i]), int(slots.head[i]), int(slots.tail[j]), int(slots.head[j]))
        tails, heads = ((a, b), (c, d)) if straight[i, j] else ((a, c), (d, b))
        old = tuple(end for end in ((a, b, c, d) if slots.duplex else (a, c)) if end >= 0)
        found.append(Exchange(int(value[i]), plane, (int(part[a]), int(part[c])), old, tails, heads))
    return found


def _between(worth: Ints, a: Ints, b: Ints) -> Ints:
    """Worth of a circuit from each of ``a`` to each of ``b``; nothing where either is -1."""
    return np.where((a[:, None] >= 0) & (b >= 0), worth[a[:, None], b], 0)
