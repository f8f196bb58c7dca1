"""Conflicts of a subproblem: what its surroundings and the incumbent fix, and what stays open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fluxscale.decompose.subproblem import Subproblem
from fluxscale.instance.derived import derive
from fluxscale.milp.conflicts import Conflicts, find_conflicts, fix_orders, select
from fluxscale.milp.extract import Exact, decide, squeeze


@dataclass(frozen=True, eq=False)
class Piece:
    """A subproblem as a back end needs it.

    Attributes
    ----------
    conflicts
        Pairs, with all orders fixed that surroundings, incumbent and cutoff decide.
    start
        The incumbent's piece with everything as early as its decisions allow.
    n_free
        Order pairs that are open.
    capped
        Whether more were, but for ``max_pairs``.
    free_planes
        Whether some leg may change its plane.
    """

    conflicts: Conflicts
    start: Exact
    n_free: int
    capped: bool
    free_planes: bool


def narrow(sub: Subproblem) -> Piece | None:
    """Fix what a subproblem does not leave open.

    Parameters
    ----------
    sub
        The subproblem.

    Returns
    -------
    Piece
        None where the incumbent's piece contradicts the fixed orders (then there is nothing to improve).
    """
    conflicts = open_conflicts(sub)
    if conflicts is None:
        return None
    start = squeeze(sub.instance, conflicts, sub.start_ticks, sub.leg_plane)
    if start is None:
        return None
    narrowed = select(sub.instance, conflicts, max(start.iteration_time_ticks, sub.floor_ticks))
    if narrowed is None:
        return None
    capped = narrowed.n_free > sub.max_pairs
    narrowed = _cap(sub, narrowed, start) if capped else narrowed
    options = np.diff(derive(sub.instance).leg_plane_indptr)
    return Piece(narrowed, start, narrowed.n_free, capped, bool(np.any((narrowed.fixed_plane < 0) & (options > 1))))


def _cap(sub: Subproblem, conflicts: Conflicts, start: Exact) -> Conflicts:
    """Give the pairs beyond ``max_pairs``, in the order of the incumbent, the incumbent's order."""
    open_pairs = np.flatnonzero(conflicts.order == 0)
    later = np.maximum(sub.position[conflicts.first[open_pairs]], sub.position[conflicts.second[open_pairs]])
    beyond = open_pairs[np.argsort(later, kind="stable")[sub.max_pairs :]]
    known = decide(sub.instance, conflicts, start.op_start_ticks, start.leg_plane).order[beyond]
    capped = fix_orders(sub.instance, conflicts, beyond, known)
    assert capped is not None
    return capped


def open_conflicts(sub: Subproblem) -> Conflicts | None:
    """Conflicts of a subproblem with the orders fixed that its ops outside the window decide; None: contradictory."""
    leg_free = sub.free[derive(sub.instance).leg_op]
    fixed_plane = np.where(leg_free, -1, sub.leg_plane).astype(np.int16)
    conflicts = find_conflicts(sub.instance, release=sub.release_ticks, behind=sub.tail_ticks, fixed_plane=fixed_plane)
    settled = np.flatnonzero((conflicts.order == 0) & ~(sub.free[conflicts.first] & sub.free[conflicts.second]))
    forward = sub.position[conflicts.first[settled]] < sub.position[conflicts.second[settled]]
    return fix_orders(sub.instance, conflicts, settled, np.where(forward, 1, -1).astype(np.int8))
