"""SCIP or HiGHS on a subproblem: the largest end + tail only (these back ends restart for a second objective)."""

from __future__ import annotations

from fluxscale.decompose.subproblem import Subproblem
from fluxscale.milp.disjunctive import Disjunctive
from fluxscale.milp.extract import Exact, extract
from fluxscale.milp.piece import Piece
from fluxscale_solvers.backends.mathopt import MilpLimits, safe_bound, solve_arrays, tolerance_for
from fluxscale_solvers.exact.common import Prepared


def search(sub: Subproblem, piece: Piece, prepared: Prepared, seconds: float | None) -> tuple[Exact, int, bool, int]:
    """Minimise the largest end + tail; the work limit counts branch-and-bound nodes.

    Returns
    -------
    best, bound_ticks, proven, work
    """
    best = piece.start
    if best.iteration_time_ticks <= prepared.lower:
        return best, prepared.lower, True, 0
    form = Disjunctive(sub.instance, prepared.conflicts, prepared.lower, prepared.upper, prepared.unit)
    limits = MilpLimits(
        time_limit_s=seconds,
        node_limit=sub.work_limit,
        rel_gap=0.0,
        seed=sub.seed % 2**31,
        tolerance=tolerance_for(form.upper),
        cutoff=form.upper + (0.5 if form.exact_units else 1e-6 * form.upper),
    )
    result = solve_arrays(form.arrays, sub.backend, limits, form.hint(piece.start))
    if result.values is not None:
        exact = extract(sub.instance, prepared.conflicts, form.decision(result.values))
        if exact is not None and exact.iteration_time_ticks < best.iteration_time_ticks:
            best = exact
    bound = max(prepared.lower, safe_bound(result.bound, form.scale, form.exact_units))
    value = best.iteration_time_ticks
    return best, min(bound, value), bound >= value, int(result.nodes)
