"""Collective algorithms as steps: who sends to whom, and which share of the full size through each circuit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fluxscale.errors import UnsupportedError

Ints = npt.NDArray[Any]
Kind = Literal["reduce-scatter", "all-gather", "all-reduce"]
Algorithm = Literal["ring", "halving-doubling", "pairwise"]


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps of a collective over n members.

    Attributes
    ----------
    target
        int32 ``[K, n]``: to whom each member sends in each step; -1: it sits the step out.
    share
        Share of the collective's full size that a member sends in each step.
    """

    target: Ints
    share: tuple[Fraction, ...]

    def bytes(self, size: int) -> Ints:
        """Bytes through each circuit of every step, rounded up, int64 ``[K]``."""
        return np.array([-int(-size * share // 1) for share in self.share], dtype=np.int64)


def choose(wanted: str, members: int, *, duplex: bool, planes: int, field: str) -> Algorithm:
    """Pick the algorithm that the ports can hold, or check the one asked for.

    A ring gives every member two peers at once. Simplex ports hold that; a duplex port has one peer at a time, so a
    ring over three or more members needs its edges to alternate between two planes (even n) or three. Halving-doubling
    and pairwise exchange work in steps that are pairings, which any port can hold.

    Parameters
    ----------
    wanted
        ``"auto"`` or an algorithm.
    members
        Members of the collective.
    duplex, planes
        Port kind, and planes on which an endpoint has a port.
    field
        Field of the job that asks for it.

    Raises
    ------
    UnsupportedError
        If the algorithm asked for does not fit; says why.
    """
    ring_fits = not duplex or members < 3 or planes >= (2 if members % 2 == 0 else 3)
    power = members & (members - 1) == 0
    fallback: Algorithm = "halving-doubling" if power else "pairwise"
    if wanted == "ring" and not ring_fits:
        raise UnsupportedError(
            f"a ring over {members} members does not fit {planes} duplex plane(s): such a port has one peer at a time",
            field=field,
            value=wanted,
            maybe=f"{2 if members % 2 == 0 else 3} planes, simplex ports, or {fallback}.",
        )
    if wanted == "halving-doubling" and not power:
        raise UnsupportedError(
            f"halving-doubling needs a power of two, not {members} members",
            field=field,
            value=wanted,
            maybe='"pairwise".',
        )
    if wanted == "ring" or (wanted == "auto" and ring_fits):
        return "ring"
    return fallback if wanted != "pairwise" else "pairwise"


def stepwise(kind: Kind, algorithm: Algorithm, members: int) -> Steps:
    """Steps as separate transfers: a ring takes n-1 steps of 1/n each (twice that for an all-reduce)."""
    if algorithm == "ring":
        turns = (members - 1) * (2 if kind == "all-reduce" else 1)
        target = np.tile((np.arange(members, dtype=np.int32) + 1) % members, (turns, 1))
        return Steps(target, (Fraction(1, members),) * turns)
    return _pairings(kind, algorithm, members)


def as_gangs(kind: Kind, algorithm: Algorithm, members: int) -> Steps:
    """Steps as gangs that hold their circuits throughout: a ring is one step that carries all (n-1)/n of the size."""
    if algorithm == "ring":
        share = Fraction(members - 1, members) * (2 if kind == "all-reduce" else 1)
        return Steps(((np.arange(members, dtype=np.int32) + 1) % members)[None], (share,))
    return _pairings(kind, algorithm, members)


def _pairings(kind: Kind, algorithm: Algorithm, members: int) -> Steps:
    half = _halving(members) if algorithm == "halving-doubling" else _tournament(members)
    back = Steps(half.target[::-1], half.share[::-1])
    if kind == "reduce-scatter":
        return half
    if kind == "all-gather":
        return back
    return Steps(np.concatenate([half.target, back.target]), half.share + back.share)


def _halving(members: int) -> Steps:
    """Recursive halving: step k exchanges 1/2^(k+1) of the size with the member n/2^(k+1) away."""
    steps = members.bit_length() - 1
    me = np.arange(members, dtype=np.int32)
    target = np.array([me ^ (members >> (k + 1)) for k in range(steps)], dtype=np.int32).reshape(steps, members)
    return Steps(target, tuple(Fraction(1, 2 ** (k + 1)) for k in range(steps)))


def _tournament(members: int) -> Steps:
    """Round-robin pairings (circle method): everyone meets everyone once, exchanging 1/n; odd n: one sits out."""
    seats = members + members % 2
    rounds = seats - 1
    k = np.arange(rounds, dtype=np.int64)[:, None]
    me = np.arange(seats, dtype=np.int64)[None]
    partner = (2 * k - me) % rounds
    # The member that would meet itself (2 k = 2 i modulo the odd number of rounds) meets the one on the fixed seat.
    partner = np.where(partner == me, seats - 1, partner)
    partner[:, seats - 1] = k[:, 0]
    target = np.where(partner >= members, -1, partner)[:, :members].astype(np.int32)
    return Steps(target, (Fraction(1, members),) * rounds)


def stepwise_size(kind: Kind, algorithm: Algorithm, members: int) -> int:
    """Transfers of a collective as separate steps."""
    if algorithm == "ring":
        return members * (members - 1) * (2 if kind == "all-reduce" else 1)
    return as_gangs_size(algorithm, members) * (2 if kind == "all-reduce" else 1)


def as_gangs_size(algorithm: Algorithm, members: int) -> int:
    """Circuits of a reduce-scatter or all-gather as gangs, over all its steps."""
    if algorithm == "ring":
        return members
    if algorithm == "halving-doubling":
        return members * (members.bit_length() - 1)
    return members * (members - 1)
