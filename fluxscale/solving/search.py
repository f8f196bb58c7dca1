"""From a solver's name to the best plan it finds: each solver that runs starts from the best plan so far."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

from fluxscale.errors import BackendError, UnsupportedError
from fluxscale.instance.instance import Instance
from fluxscale.schedule.fluid_run import FluidRun
from fluxscale.solving.capabilities import missing, options_of, require, require_executor, require_settings
from fluxscale.solving.protocol import Outcome, Plan, Progress, ProgressCallback, SolveParams, Solver
from fluxscale.solving.registry import get_solver
from fluxscale.solving.status import Termination

AUTO = "auto"
AUTO_HEURISTIC, AUTO_EXACT, AUTO_DECOMPOSED = "list", "exact-cpsat", "stage-window"

SMALL_TRANSFERS = 400
"""``auto`` adds an exact search up to this many transfers."""

NEAR_TRANSFERS, NEAR_GAP = 4000, 0.05
"""``auto`` adds one up to this many transfers too if the gap that is left is at most this: then most orders are decided
by the bound, and what is left is quickly proven."""

QUICK_WORK = 2_000_000
"""Work of the list heuristic (op placements) where another search follows, which gains more per second."""

QUICK_SHARE = 0.2
"""Share of a time limit that the list heuristic gets where another search follows."""

AUTO_EXACT_SECONDS, AUTO_NEAR_SECONDS = 20.0, 60.0
"""Wall clock that ``auto`` gives the exact search when the user set no limit at all: up to ``SMALL_TRANSFERS``, and
beyond."""

AUTO_EXACT_SHARE = 0.4
"""Share of a time limit that the exact search gets where the decomposition can follow."""


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

    def share(self, fraction: float) -> float | None:
        """A fraction of the whole time limit in seconds, or None without one."""
        return None if self.params.time_limit_s is None else fraction * self.params.time_limit_s

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
            executor=self.params.executor if self.params.executor in solver.capabilities.executors else "serial",
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
        self.notes += outcome.notes
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

    ``auto`` runs the list heuristic; where its gap is still open and the exact solver can be expected to close it
    quickly, that one; where it is open yet, the decomposition. Solvers that improve a plan and exact ones start from
    the list plan too when they are asked for by name.

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
    require_executor([solver], search.params.executor)
    improves = solver.capabilities.improves
    if (improves or name.startswith("exact-")) and search.params.warm_start is None:
        _warm_start(search, quick=improves)
        if search.termination is Termination.INTERRUPTED or (
            search.plan is not None and search.value_ticks == search.bound_ticks
        ):
            return
    search.run(solver)


def _warm_start(search: Search, *, quick: bool) -> None:
    """Let the list heuristic find a plan to start another solver from; its options and work limit stay the default."""
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
        search.run(heuristic, cap_s=search.share(QUICK_SHARE) if quick else None, work=QUICK_WORK if quick else None)
    finally:
        search.params = settings


def _auto(search: Search) -> None:
    """Run list, exact and decomposed search one after the other, as far as each is there, fits and is needed."""
    solvers: dict[str, Solver] = {AUTO_HEURISTIC: get_solver(AUTO_HEURISTIC)}
    for name in (AUTO_EXACT, AUTO_DECOMPOSED):
        try:
            solvers[name] = get_solver(name)
        except BackendError as error:
            search.notes.append(f"no {name}: {error}")
    require_settings(list(solvers.values()), search.params.options, search.params.work_limit)
    require_executor(list(solvers.values()), search.params.executor)
    able = {name: solver for name, solver in solvers.items() if not missing(solver, search.instance)}
    if not able:
        require(solvers[AUTO_HEURISTIC], search.instance)
    ran: list[str] = []
    for name, solver in able.items():
        if search.good_enough or search.termination is Termination.INTERRUPTED:
            break
        if name == AUTO_EXACT and not _exact_is_quick(search):
            continue
        if name == AUTO_DECOMPOSED and search.plan is None:
            continue
        follows = name != list(able)[-1] and search.instance.n_transfers > 0
        try:
            search.run(solver, cap_s=_cap(search, name, follows), work=_work(search, name, follows))
        except UnsupportedError as error:
            if search.plan is None:
                raise
            search.notes.append(f"no {name}: {error}")
            continue
        ran.append(name)
        search.solver = name
    if len(ran) > 1:
        search.notes.append(f"auto: {', then '.join(ran)}")


def _exact_is_quick(search: Search) -> bool:
    """Whether an exact search can be expected to end soon: few transfers, or a bound that leaves little open."""
    transfers, value = search.instance.n_transfers, search.value_ticks
    near = value is not None and value - search.bound_ticks <= NEAR_GAP * value
    return transfers <= SMALL_TRANSFERS or (near and transfers <= NEAR_TRANSFERS)


def _cap(search: Search, name: str, follows: bool) -> float | None:
    """Seconds for one of ``auto``'s searches; a work limit asks for an answer that does not depend on the clock."""
    if search.params.work_limit is not None:
        return None
    if search.params.time_limit_s is not None:
        share = {AUTO_HEURISTIC: QUICK_SHARE, AUTO_EXACT: AUTO_EXACT_SHARE}.get(name)
        return search.share(share) if share is not None and follows else None
    if name != AUTO_EXACT:
        return None
    return AUTO_EXACT_SECONDS if search.instance.n_transfers <= SMALL_TRANSFERS else AUTO_NEAR_SECONDS


def _work(search: Search, name: str, follows: bool) -> int | None:
    """Work of the list heuristic where another search follows; on a large instance that would be too little."""
    quick = name == AUTO_HEURISTIC and follows and search.instance.n_transfers <= NEAR_TRANSFERS
    return QUICK_WORK if quick else None
