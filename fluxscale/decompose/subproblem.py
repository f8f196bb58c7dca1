"""A piece of an instance around an incumbent, and what a sub-solver makes of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.instance import Instance

Ints = npt.NDArray[Any]


OUTER = ("instance", "ops", "legs", "inside", "outside", "low", "origin_ticks")
"""Fields of a subproblem that say where it lies in the whole (and the instance, whose hash stands for it)."""


@dataclass(frozen=True, eq=False)
class Subproblem:
    """Ops of a window whose order and planes are free, with what surrounds them.

    All times are relative to ``origin_ticks``. Three sorts of ops: free transfers; ops between two of them
    (by precedence, device order or port sequence of the incumbent); and the last op before and the first op after them
    on each port that a free op may use, which hold the circuits at the window's boundary.

    Attributes
    ----------
    instance
        Restriction of the whole to these ops, boundary DARK or PRESET.
    release_ticks
        int64 ``[k]``: earliest starts that the ops outside impose.
    tail_ticks
        int64 ``[k]``: longest path behind each op's end through ops outside; iteration time >= end + tail.
    free
        bool ``[k]``: transfers whose planes may change, and whose order among each other may change.
    position
        int32 ``[k]``: place in the incumbent's order; two ops not both free keep it where they share a port.
    start_ticks, leg_plane
        The incumbent's piece: int64 ``[k]``, int16 ``[l]``. Legs of ops that are not free keep their plane.
    value_ticks
        Largest end + tail of the incumbent's piece: the cutoff.
    floor_ticks
        Longest path of the incumbent that avoids the free ops: reaching it is as good as anything below.
    work_limit
        Limit of the sub-solve, in thousandths of CP-SAT's deterministic time (back ends of other kinds: their nodes).
    max_pairs
        Most order pairs that are left open; later ones keep the incumbent's order.
    backend, seed
        Back end ("cpsat", "scip", "highs") and seed.
    ops, legs
        int64 ``[k]`` and ``[l]``: ops and legs of the whole; not part of the key.
    inside
        bool ``[k]``: free ops and those between them, without the rim; not part of the key.
    outside
        Number of ops of the whole that are not here; not part of the key.
    low
        Position in the whole's order at which the window begins; not part of the key.
    origin_ticks
        Time of the whole that is 0 here; not part of the key.
    """

    instance: Instance
    release_ticks: Ints
    tail_ticks: Ints
    free: Ints
    position: Ints
    start_ticks: Ints
    leg_plane: Ints
    value_ticks: int
    floor_ticks: int
    work_limit: int
    max_pairs: int
    backend: str
    seed: int
    ops: Ints
    legs: Ints
    inside: Ints
    outside: int
    low: int
    origin_ticks: int

    @property
    def is_whole(self) -> bool:
        """Whether nothing surrounds it and every transfer is free, so that its bounds hold for the whole instance."""
        has_legs = np.diff(self.instance.leg_indptr) > 0
        return bool(self.inside.all() and not self.outside and np.all(self.free | ~has_legs))

    @cached_property
    def key(self) -> str:
        """Hash of all that a sub-solver reads: subproblems of equal key are isomorphic and have the same result."""
        digest = hashlib.sha256(self.instance.sha256.encode())
        for field in fields(self):
            if field.name in OUTER:
                continue
            value = getattr(self, field.name)
            if field.name == "position":
                # only the order of the positions is read
                value = np.argsort(value, kind="stable")
            digest.update(
                np.ascontiguousarray(value).tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
            )
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class SubResult:
    """Result of a sub-solve, in the numbering and the relative time of its subproblem.

    Attributes
    ----------
    start_ticks, leg_plane
        int64 ``[k]`` and int16 ``[l]``, feasible with the subproblem's fixed orders and planes; None where nothing at
        least as good as the incumbent's piece was found.
    value_ticks
        Largest end + tail, or None.
    bound_ticks
        Lower bound on it under the window's fixed surroundings (no bound for the whole).
    proven
        Whether the value is optimal for the window.
    free_pairs
        Order pairs that were open to the back end.
    capped
        Whether ``max_pairs`` closed some that were open.
    work
        Work used, in the unit of the limit.
    seconds
        Seconds inside the back end.
    """

    start_ticks: Ints | None
    leg_plane: Ints | None
    value_ticks: int | None
    bound_ticks: int
    proven: bool
    free_pairs: int
    capped: bool
    work: int
    seconds: float
