"""Exact scheduling with CP-SAT: a proven optimum for small instances, a schedule and a bound for medium ones."""

from __future__ import annotations

import time
from typing import Any

from fluxscale.instance.instance import Instance
from fluxscale.milp.conflicts import CPSAT_PAIRS
from fluxscale.milp.extract import Exact, squeeze
from fluxscale.seeds import child_seed
from fluxscale.solving.protocol import Capabilities, Outcome, Progress, ProgressCallback, SolveParams
from fluxscale.solving.status import Termination
from fluxscale_solvers.exact.common import Prepared, check_options, outcome, prepare


class ExactCpSat:
    """CP-SAT on the native interval model (:mod:`fluxscale_solvers.exact.cpsat_model`).

    The search runs on one CP-SAT worker whatever ``workers`` says, so that the same seed and work limit give the same
    answer on every machine. ``work_limit`` counts CP-SAT's deterministic time (roughly seconds, reproducible).
    """

    name = "exact-cpsat"
    capabilities = Capabilities(work_limit_unit="deterministic time units of CP-SAT", options=())

    def solve(self, instance: Instance, params: SolveParams, progress: ProgressCallback) -> Outcome:
        """Solve an instance.

        Parameters
        ----------
        instance
            The problem.
        params
            Limits; ``warm_start`` becomes hint and upper bound, ``lower_bound_ticks`` a bound on the objective.
        progress
            Called at every better schedule.

        Raises
        ------
        UnsupportedError
            If more than ``CPSAT_PAIRS`` orders are free.
        """
        check_options(params.options, {}, self.name)
        prepared = prepare(instance, params, CPSAT_PAIRS, self.name)
        if prepared.proven:
            return outcome(instance, prepared, None, 0, Termination.OPTIMAL, params.rel_gap, {}, self.name)
        return _search(instance, params, prepared, progress)


def _search(instance: Instance, params: SolveParams, prepared: Prepared, progress: ProgressCallback) -> Outcome:
    from ortools.sat.python import cp_model

    from fluxscale_solvers.exact.cpsat_model import CpSatModel

    try:
        built = CpSatModel(instance, prepared)
    except KeyboardInterrupt:
        return outcome(instance, prepared, None, 0, Termination.INTERRUPTED, params.rel_gap, {}, "exact-cpsat")
    solver = cp_model.CpSolver()
    settings: Any = solver.parameters
    settings.num_workers = 1
    settings.random_seed = child_seed(params.seed, "cpsat") % 2**31
    settings.relative_gap_limit = params.rel_gap
    if params.work_limit is not None:
        settings.max_deterministic_time = float(params.work_limit)
    if params.time_limit_s is not None:
        settings.max_time_in_seconds = max(0.001, params.time_limit_s - (time.monotonic() - prepared.began))

    class Watch(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            best = round(self.objective_value) * prepared.unit
            bound = int(self.best_objective_bound) * prepared.unit
            try:
                progress(Progress(time.monotonic() - prepared.began, best, bound, "CP-SAT found a better schedule"))
            except BaseException as error:
                # It must not travel through the solver's own frames.
                raised.append(error)
                self.stop_search()

    raised: list[BaseException] = []

    status = solver.solve(built.model, Watch())
    if raised and not isinstance(raised[0], KeyboardInterrupt):
        raise raised[0]
    found: Exact | None = None
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        starts, planes = built.read(solver.value)
        found = squeeze(instance, prepared.conflicts, starts, planes)
    stats = {
        "branches": solver.num_branches,
        "conflicts": solver.num_conflicts,
        "deterministic_time": round(solver.response_proto.deterministic_time, 6),
    }
    bound = 0
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE, cp_model.UNKNOWN):
        # The objective is an integer count of units, so the bound is one too.
        bound = max(0, round(solver.best_objective_bound)) * prepared.unit
    stopped = _termination(status, solver, params, cp_model)
    return outcome(instance, prepared, found, bound, stopped, params.rel_gap, stats, "exact-cpsat")


def _termination(status: Any, solver: Any, params: SolveParams, cp_model: Any) -> Termination:
    """Why CP-SAT stopped: it only says FEASIBLE or UNKNOWN when a limit or an interrupt ended the search."""
    if status == cp_model.OPTIMAL:
        return Termination.OPTIMAL
    if status == cp_model.INFEASIBLE:
        return Termination.INFEASIBLE
    if status == cp_model.MODEL_INVALID:
        return Termination.ERROR
    if params.work_limit is not None and solver.response_proto.deterministic_time >= 0.99 * params.work_limit:
        return Termination.WORK_LIMIT
    limit = solver.parameters.max_time_in_seconds
    # CP-SAT does not say which it was, and gives up a little before its limit when it sees no time for another step
    if params.time_limit_s is not None and solver.wall_time >= limit - max(0.05 * limit, 0.5):
        return Termination.TIME_LIMIT
    return Termination.INTERRUPTED
