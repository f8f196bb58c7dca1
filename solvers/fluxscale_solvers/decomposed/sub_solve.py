"""One subproblem to its result: conflicts with what is fixed, a back end, and exact times from its decisions."""

from __future__ import annotations

import time

from fluxscale.decompose.subproblem import Subproblem, SubResult
from fluxscale.milp.extract import Exact
from fluxscale.milp.piece import Piece, narrow
from fluxscale_solvers.decomposed.sub_common import prepared_of


def solve_subproblem(sub: Subproblem, seconds: float | None = None) -> SubResult:
    """Solve a subproblem: the largest end + tail first, then the total of ends (slack for what follows).

    Parameters
    ----------
    sub
        What to solve; its back end, seed and work limit are in it.
    seconds
        Wall clock that must not be exceeded, or None: then the result depends on nothing but ``sub``.

    Returns
    -------
    SubResult
        Never worse than the incumbent's piece.
    """
    began = time.perf_counter()
    piece = narrow(sub)
    if piece is None:
        return SubResult(None, None, None, sub.floor_ticks, False, 0, False, 0, time.perf_counter() - began)
    if piece.n_free == 0 and not piece.free_planes:
        return _result(sub, piece, piece.start, piece.start.iteration_time_ticks, True, 0, began)
    if sub.backend == "cpsat":
        from fluxscale_solvers.decomposed.sub_cpsat import search
    else:
        from fluxscale_solvers.decomposed.sub_milp import search
    left = None if seconds is None else max(0.01, seconds - (time.perf_counter() - began))
    best, bound, proven, work = search(sub, piece, prepared_of(sub, piece), left)
    return _result(sub, piece, best, bound, proven, work, began)


def _result(sub: Subproblem, piece: Piece, best: Exact, bound: int, proven: bool, work: int, began: float) -> SubResult:
    seconds = time.perf_counter() - began
    value = best.iteration_time_ticks
    return SubResult(
        best.op_start_ticks,
        best.leg_plane,
        value,
        bound,
        proven and not piece.capped,
        piece.n_free,
        piece.capped,
        work,
        seconds,
    )
