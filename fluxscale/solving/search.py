"""From a solver's name to the best plan it finds: each solver that runs starts from the best plan so far."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

from fluxscale.errors import BackendError, InputError, UnsupportedError
from fluxscale.instance.instance import Instance
from fluxscale.schedule.fluid_run import FluidRun
from fluxscale.solving.capabilities import missing, options_of, require, require_settings
from fluxscale.solving.protocol import Outcome, Plan, Progress, ProgressCallback, SolveParams, Solver
from fluxscale.solving.registry import get_solver
from fluxscale.solving.status import Termination

AUTO = "auto"
AUTO_HEURISTIC, AUTO_EXACT = "list", "exact-cpsat"

SMALL_TRANSFERS = 400
"""``auto`` adds an exact search up to this many transfers."""

QUICK_WORK = 2_000_000
"""Work of the list heuristic (op placements) where an exact search follows, which gains more per second."""

AUTO_EXACT_SECONDS = 20.0
"""Wall clock that ``auto`` gives the exact search when the user set no limit at all."""


@dataclass
class Search:
    """Best plan and bound so far; :meth:`run` lets one more solver improve them.

    Attributes
    ----------
    instance, params, progress
        What to solve, within which limits, and whom to tell.
    plan, value_ticks, solver
        Best plan, its iteration time, and the solver that answers for it (with ``auto`` the last that ran).
    bound_ticks, bound_name
        Best proven bound (0: none).
    termination
        Why the last solver that counted stopped.
    notes, stats
        For the result.
    run_found
        What a comparison scheduler without a plan did.
    """

    instance: Instance
    params: SolveParams
    progress: ProgressCallback
    bound_ticks: int
    bound_name: str | None
    plan: Plan | None = None
    value_ticks: int | None = None
    solver: str = ""
    termination: Termination = Termination.UNKNOWN
    notes: list[str] = field(default_factory=list)
    stats: dict[str, Any] = field(default_factory=dict)
    run_found: FluidRun | None = None
    began: float = field(default_factory=time.monotonic)

    @property
    def good_enough(self) -> bool:
        """Whether the gap allowed is reached."""
        return (
            self.value_ticks is not None
            and self.value_ticks - self.bound_ticks <= self.params.rel_gap * self.value_ticks
        )

    @property
    def seconds_left(self) -> float | None:
        """What is left of the time limit, or None without one."""
        limit = self.params.time_limit_s
        return None if limit is None else max(0.0, limit - (time.monotonic() - self.began))

    def run(self, solver: Solver, *, cap_s: float | None = None, work: int | None = None) -> None:
        """Run one solver from the best plan so far and keep what is better.

        Parameters
        ----------
        solver
            The solver.
        cap_s
            Most seconds for this solver; the whole time limit holds anyway.
        work
            Work limit for this solver where the user set none.

        Raises
        ------
        BackendError
            If it claims a bound above a plan's value: one of the two is wrong.
        """
        limits = [limit for limit in (self.seconds_left, cap_s) if limit is not None]
        params = replace(
            self.params,
            time_limit_s=min(limits) if limits else None,
            work_limit=(self.params.work_limit or work) if solver.capabilities.work_limit_unit else None,
            warm_start=self.plan or self.params.warm_start,
            lower_bound_ticks=self.bound_ticks,
            options=options_of(solver, self.params.options),
        )
        offset = time.monotonic() - self.began
        try:
            outcome = solver.solve(self.instance, params, lambda news: self._tell(news, offset, solver.name))
        except KeyboardInterrupt:
            outcome = Outcome(None, None, None, None, Termination.INTERRUPTED)
        self._take(solver, outcome)

    def _tell(self, news: Progress, offset: float, name: str) -> None:
        values = [v for v in (news.best_ticks, self.value_ticks) if v is not None]
        bound = max(news.bound_ticks or 0, self.bound_ticks)
        best = min(values) if values else None
        self.progress(Progress(news.elapsed_s + offset, best, bound or None, f"{name}: {news.message}"))

    def _take(self, solver: Solver, outcome: Outcome) -> None:
        self.stats[solver.name] = outcome.stats
        self.termination = outcome.termination
        if outcome.lower_bound_ticks is not None and outcome.lower_bound_ticks > self.bound_ticks:
            self.bound_ticks, self.bound_name = outcome.lower_bound_ticks, outcome.bound_name or solver.name
        value = outcome.iteration_time_ticks
        if outcome.plan is not None and value is not None and (self.value_ticks is None or value < self.value_ticks):
            self.plan, self.value_ticks = outcome.plan, value
        if outcome.run is not None:
            self.run_found, self.value_ticks = outcome.run, value
            self.notes += outcome.run.notes
        if outcome.run is None and self.value_ticks is not None and self.bound_ticks > self.value_ticks:
            raise BackendError(
                f"{solver.name}: bound {self.bound_ticks} ({self.bound_name}) is above a known iteration time of "
                f"{self.value_ticks} ticks: one of them is wrong. Maybe: report it with the job file."
            )


def find_plan(name: str, search: Search) -> None:
    """Fill a search with the best plan of the solver of a name.

    ``auto`` runs the list heuristic, then, on small instances whose gap is still open, the exact one. Exact solvers
    that are asked for by name start from the list plan too.

    Parameters
    ----------
    name
        ``auto`` or a registered solver.
    search
        Where to leave what is found.

    Raises
    ------
    InputError
        If the name or an option is unknown.
    UnsupportedError
        If the solver cannot honour the instance or a setting.
    BackendError
        If a back end fails.
    """
    if name == AUTO:
        _auto(search)
        return
    search.solver = name
    solver = get_solver(name)
    require(solver, search.instance)
    require_settings([solver], search.params.options, search.params.work_limit)
    if name.startswith("exact-") and search.params.warm_start is None:
        _warm_start(search)
        if search.termination is Termination.INTERRUPTED or (
            search.plan is not None and search.value_ticks == search.bound_ticks
        ):
            return
    search.run(solver)


def _warm_start(search: Search) -> None:
    """Let the list heuristic find a plan to start an exact solver from; its options and work limit stay the default."""
    try:
        heuristic = get_solver(AUTO_HEURISTIC)
    except BackendError as error:
        search.notes.append(f"no warm start: {error}")
        return
    lacks = missing(heuristic, search.instance)
    if lacks:
        search.notes.append(f"no warm start: {AUTO_HEURISTIC} cannot honour {', '.join(lacks)}")
        return
    settings = search.params
    search.params = replace(settings, options={}, work_limit=None)
    try:
        search.run(heuristic)
    finally:
        search.params = settings


def _auto(search: Search) -> None:
    heuristic, exact = get_solver(AUTO_HEURISTIC), None
    small = search.instance.n_transfers <= SMALL_TRANSFERS
    if small:
        try:
            exact = get_solver(AUTO_EXACT)
        except BackendError as error:
            search.notes.append(f"no exact search: {error}")
    solvers = [solver for solver in (heuristic, exact) if solver is not None]
    require_settings(solvers, search.params.options, search.params.work_limit)
    if exact is not None and missing(exact, search.instance):
        exact = None
    if exact is None:
        require(heuristic, search.instance)
    if not missing(heuristic, search.instance):
        search.solver = heuristic.name
        search.run(heuristic, work=None if exact is None else QUICK_WORK)
    if exact is None or search.good_enough or search.termination is Termination.INTERRUPTED:
        return
    # A work limit asks for an answer that does not depend on the clock.
    cap_s = AUTO_EXACT_SECONDS if search.params.time_limit_s is None and search.params.work_limit is None else None
    try:
        search.run(exact, cap_s=cap_s)
        search.solver = exact.name
    except InputError as error:
        if not isinstance(error, UnsupportedError) or search.plan is None:
            raise
        search.notes.append(f"no exact search: {error}")
        search.run(heuristic)
