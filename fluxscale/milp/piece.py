"""Conflicts of a subproblem: what its surroundings and the incumbent fix, and what stays open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fluxscale.decompose.subproblem import Subproblem
from fluxscale.instance.derived import derive
from fluxscale.milp.conflicts import Conflicts, find_conflicts, fix_orders, select
from fluxscale.milp.extract import Exact, squeeze


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
    free_planes
        Whether some leg may change its plane.
    """

    conflicts: Conflicts
    start: Exact
    n_free: int
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
    options = np.diff(derive(sub.instance).leg_plane_indptr)
    return Piece(narrowed, start, narrowed.n_free, bool(np.any((narrowed.fixed_plane < 0) & (options > 1))))


def open_conflicts(sub: Subproblem) -> Conflicts | None:
    """Conflicts of a subproblem with the orders fixed that its ops outside the window decide; None: contradictory."""
    leg_free = sub.free[derive(sub.instance).leg_op]
    fixed_plane = np.where(leg_free, -1, sub.leg_plane).astype(np.int16)
    conflicts = find_conflicts(sub.instance, release=sub.release_ticks, behind=sub.tail_ticks, fixed_plane=fixed_plane)
    settled = np.flatnonzero((conflicts.order == 0) & ~(sub.free[conflicts.first] & sub.free[conflicts.second]))
    forward = sub.position[conflicts.first[settled]] < sub.position[conflicts.second[settled]]
    return fix_orders(sub.instance, conflicts, settled, np.where(forward, 1, -1).astype(np.int8))
