"""One scheduler run once on one instance, checked and measured: what comparisons are made of."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from fluxscale.errors import BackendError
from fluxscale.instance.instance import Instance
from fluxscale.judge import Judged, judge_plan, judge_run
from fluxscale.solve import solve
from fluxscale.solving.capabilities import refuse_limit, require, require_settings
from fluxscale.solving.protocol import Progress, SolveParams
from fluxscale.solving.registry import get_solver
from fluxscale.solving.status import Feasibility, Termination


@dataclass(frozen=True)
class Trial:
    """Figures of one run of one scheduler; absent values are None.

    Attributes
    ----------
    scheduler, parameters
        Who ran, with which options.
    iteration_time_ns, reconfigurations, circuit_utilisation, eager_bytes, paced_bytes
        What came out.
    feasibility, termination
        What the check found, and why the scheduler stopped.
    lower_bound_ns, optimal
        The bound that was proven on the way, and whether it is reached.
    notes, wall_s
        What a reader should know, and how long it took.
    """

    scheduler: str
    parameters: dict[str, Any]
    iteration_time_ns: int | None
    reconfigurations: int | None
    circuit_utilisation: float | None
    eager_bytes: int | None
    paced_bytes: int | None
    feasibility: Feasibility
    termination: Termination
    lower_bound_ns: int | None
    optimal: bool
    notes: tuple[str, ...]
    wall_s: float


def candidates(instance: Instance, scheduler: str) -> list[dict[str, Any]]:
    """Option sets that a comparison tries, as the scheduler itself proposes them.

    Parameters
    ----------
    instance
        The problem.
    scheduler
        Name of a solver.
    """
    sweep = getattr(get_solver(scheduler), "sweep", None)
    return [{}] if sweep is None else list(sweep(instance)) or [{}]


def trial(
    instance: Instance,
    scheduler: str,
    options: dict[str, Any] | None = None,
    *,
    seed: int = 0,
    work_limit: int | None = None,
    time_limit_s: float | None = None,
    cutoff_ticks: int | None = None,
) -> Trial:
    """Run one scheduler once, on the whole instance if it is one to compare with.

    Parameters
    ----------
    instance
        The problem.
    scheduler
        Name of a solver, or ``auto``.
    options
        Its options.
    seed, work_limit, time_limit_s
        As in :func:`fluxscale.solve.solve`.
    cutoff_ticks
        A comparison scheduler may give up once its iteration is sure to last longer.

    Raises
    ------
    InputError
        If an option is unknown or the scheduler cannot honour the instance.
    BackendError
        If check and replay contradict each other.
    """
    options = dict(options or {})
    began = time.monotonic()
    solver = None if scheduler == "auto" else get_solver(scheduler)
    if solver is None or not solver.capabilities.comparison:
        return _planned(instance, scheduler, options, seed, work_limit, time_limit_s, began)
    refuse_limit(instance, scheduler)
    require(solver, instance)
    require_settings([solver], options, work_limit)
    params = SolveParams(
        time_limit_s=time_limit_s, work_limit=work_limit, seed=seed, options=options, cutoff_ticks=cutoff_ticks
    )
    outcome = solver.solve(instance, params, _silent)
    judged = Judged()
    if outcome.run is not None:
        judge_run(instance, outcome.run, judged)
    elif outcome.plan is not None:
        judge_plan(instance, outcome.plan, judged)
    if judged.feasibility is Feasibility.CHECKED_BAD:
        raise BackendError(
            f"{scheduler} with {options or 'its defaults'} breaks {judged.violations} rules of the check"
        )
    ticks, metrics, buffers = judged.iteration_time_ticks, judged.metrics, judged.buffers
    notes = outcome.run.notes if outcome.run is not None else ()
    return Trial(
        scheduler,
        options,
        None if ticks is None else ticks * instance.tick_ns,
        metrics and metrics.reconfigurations,
        metrics and metrics.circuit_utilisation,
        buffers and buffers.eager_bytes,
        buffers and buffers.paced_bytes,
        judged.feasibility,
        outcome.termination,
        None if outcome.lower_bound_ticks is None else outcome.lower_bound_ticks * instance.tick_ns,
        outcome.termination is Termination.OPTIMAL,
        tuple(notes),
        time.monotonic() - began,
    )


def _planned(
    instance: Instance,
    scheduler: str,
    options: dict[str, Any],
    seed: int,
    work_limit: int | None,
    time_limit_s: float | None,
    began: float,
) -> Trial:
    result = solve(
        instance, scheduler, time_limit_s=time_limit_s, work_limit=work_limit, seed=seed, workers=1, options=options
    )
    return Trial(
        scheduler,
        options,
        result.iteration_time_ns,
        result.metrics and result.metrics.reconfigurations,
        result.metrics and result.metrics.circuit_utilisation,
        result.buffers and result.buffers.eager_bytes,
        result.buffers and result.buffers.paced_bytes,
        result.feasibility,
        result.termination,
        result.lower_bound_ns,
        result.termination is Termination.OPTIMAL,
        result.notes,
        time.monotonic() - began,
    )


def renamed(made: Trial, scheduler: str) -> Trial:
    """The same trial under another name, such as that of the row it fills."""
    return replace(made, scheduler=scheduler)


def _silent(_: Progress) -> None:
    """Tell nobody."""
