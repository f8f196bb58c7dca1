"""Exact scheduling with a mixed-integer program: the formulation of the literature, solved by SCIP or HiGHS."""

from __future__ import annotations

import time

from fluxscale.instance.instance import Instance
from fluxscale.milp.conflicts import MILP_PAIRS
from fluxscale.milp.disjunctive import Disjunctive
from fluxscale.milp.extract import extract, squeeze
from fluxscale.seeds import child_seed
from fluxscale.solving.protocol import Capabilities, Outcome, Progress, ProgressCallback, SolveParams
from fluxscale.solving.status import Termination
from fluxscale_solvers.backends.mathopt import BACKENDS, MilpLimits, safe_bound, solve_arrays, tolerance_for
from fluxscale_solvers.exact.common import check_options, outcome, prepare


class ExactMilp:
    """The disjunctive big-M program (:mod:`fluxscale.milp.disjunctive`) through MathOpt.

    Option ``backend``: ``scip`` (default) or ``highs``. One thread, so ``workers`` never changes the answer.
    ``work_limit`` counts branch-and-bound nodes. Starts are recomputed in integers from the binaries; the solver's own
    times are not used.
    """

    name = "exact-milp"
    capabilities = Capabilities(work_limit_unit="branch-and-bound nodes", options=("backend",))

    def solve(self, instance: Instance, params: SolveParams, progress: ProgressCallback) -> Outcome:
        """Solve an instance.

        Parameters
        ----------
        instance
            The problem.
        params
            Limits; ``warm_start`` becomes hint and upper bound, ``lower_bound_ticks`` a bound on the objective.
        progress
            Called when the search begins and ends (neither back end reports schedules on the way).

        Raises
        ------
        UnsupportedError
            If more than ``MILP_PAIRS`` orders are free.
        InputError
            If an option is unknown.
        BackendError
            If the back end fails.
        """
        check_options(params.options, {"backend": BACKENDS}, self.name)
        backend = str(params.options.get("backend", "scip"))
        name = f"exact-milp ({backend})"
        prepared = prepare(instance, params, MILP_PAIRS, self.name)
        if prepared.proven:
            return outcome(instance, prepared, None, 0, Termination.OPTIMAL, params.rel_gap, {"nodes": 0}, name)
        form = Disjunctive(instance, prepared.conflicts, prepared.lower, prepared.upper, prepared.unit)
        elapsed = time.monotonic() - prepared.began
        limits = MilpLimits(
            time_limit_s=None if params.time_limit_s is None else params.time_limit_s - elapsed,
            node_limit=params.work_limit,
            rel_gap=params.rel_gap,
            seed=child_seed(params.seed, backend),
            # The schedule known stays feasible: half a unit, or a millionth, above it.
            tolerance=tolerance_for(form.upper),
            cutoff=form.upper + (0.5 if form.exact_units else 1e-6 * form.upper),
        )
        known = None if prepared.start is None else prepared.start.iteration_time_ticks
        progress(
            Progress(elapsed, known, prepared.lower, f"{backend} searches {prepared.conflicts.n_free} free orders")
        )
        result = solve_arrays(
            form.arrays, backend, limits, None if prepared.start is None else form.hint(prepared.start)
        )
        found = None
        if result.values is not None:
            decision = form.decision(result.values)
            found = extract(instance, prepared.conflicts, decision)
            if found is None:
                # Orders of zero-length ops can tie within the tolerance; the times still tell who was first.
                ticks = (result.values[form.s] * form.scale).round().astype("int64")
                found = squeeze(instance, prepared.conflicts, ticks, decision.leg_plane)
        bound = safe_bound(result.bound, form.scale, form.exact_units)
        done = outcome(
            instance, prepared, found, bound, result.termination, params.rel_gap, {"nodes": result.nodes}, name
        )
        progress(
            Progress(
                time.monotonic() - prepared.began,
                done.iteration_time_ticks,
                done.lower_bound_ticks,
                f"{backend} stopped",
            )
        )
        return done
