"""CP-SAT on a subproblem, two objectives one after the other."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from fluxscale.decompose.subproblem import Subproblem
from fluxscale.milp.extract import Exact
from fluxscale.milp.piece import Piece
from fluxscale.seeds import generator
from fluxscale_solvers.decomposed.sub_common import better
from fluxscale_solvers.exact.common import Prepared
from fluxscale_solvers.exact.cpsat_model import CpSatModel

SLACK_SHARE = 3
"""One part in this many of the work limit goes to the second objective."""

MOST_WEIGHT = 8
"""Seeds other than 0 weigh ends by chance, from 1 to this: windows of equal value then differ from visit to visit."""

TICKS_OF_WORK = 1000
"""Units of the work limit in one unit of CP-SAT's deterministic time."""


def search(sub: Subproblem, piece: Piece, prepared: Prepared, seconds: float | None) -> tuple[Exact, int, bool, int]:
    """Minimise the largest end + tail, then the total of ends.

    Returns
    -------
    best, bound_ticks, proven, work
    """
    from ortools.sat.python import cp_model

    until = None if seconds is None else time.monotonic() + seconds
    built = CpSatModel(sub.instance, prepared)
    best, bound, proven, work = piece.start, prepared.lower, piece.start.iteration_time_ticks <= prepared.lower, 0
    limit = sub.work_limit / TICKS_OF_WORK
    if not proven:
        solver = _solver(cp_model, sub, limit * (SLACK_SHARE - 1) / SLACK_SHARE, until)
        status = solver.solve(built.model)
        work += _work(solver)
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            best = better(sub, piece, *built.read(solver.value), best)
        bound = max(bound, round(solver.best_objective_bound) * prepared.unit)
        proven = status == cp_model.OPTIMAL
    value = best.iteration_time_ticks
    # What is on no critical path still moves early, which gives the next windows room.
    model: Any = built.model
    model.clear_objective()
    model.clear_hints()
    model.add(built.period <= value // prepared.unit)
    for variable, ticks in zip(built.start, best.op_start_ticks.tolist(), strict=True):
        model.add_hint(variable, ticks // prepared.unit)
    exits = np.flatnonzero(sub.free | (sub.tail_ticks > 0))
    weights = (
        generator(sub.seed, "slack").integers(1, MOST_WEIGHT + 1, size=len(exits)) if sub.seed else [1] * len(exits)
    )
    model.minimize(sum(int(w) * built.end[op] for w, op in zip(weights, exits.tolist(), strict=True)))
    solver = _solver(cp_model, sub, max(limit / SLACK_SHARE, 0.001), until)
    status = solver.solve(model)
    work += _work(solver)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        best = better(sub, piece, *built.read(solver.value), best)
    return best, min(bound, best.iteration_time_ticks), proven, work


def _solver(cp_model: Any, sub: Subproblem, limit: float, until: float | None) -> Any:
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = sub.seed % 2**31
    solver.parameters.max_deterministic_time = limit
    if until is not None:
        solver.parameters.max_time_in_seconds = max(0.01, until - time.monotonic())
    return solver


def _work(solver: Any) -> int:
    return round(solver.response_proto.deterministic_time * TICKS_OF_WORK)
