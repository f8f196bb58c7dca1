"""The whole solve: reduce by symmetry, bound, search, lift, derive the circuits, check, replay, measure."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from fluxscale.bounds import best_bound
from fluxscale.bounds.buffer_floor import require_buffer
from fluxscale.decompose.symmetry import Reduction, reduce
from fluxscale.errors import BackendError
from fluxscale.instance.instance import Instance
from fluxscale.judge import Judged, judge_plan, judge_run
from fluxscale.solving.arrange import arrange
from fluxscale.solving.capabilities import refuse_limit
from fluxscale.solving.protocol import Plan, Progress, ProgressCallback, SolveParams
from fluxscale.solving.registry import get_solver
from fluxscale.solving.result import Result
from fluxscale.solving.search import AUTO, Search, find_plan
from fluxscale.solving.settings import available_cores, check_settings
from fluxscale.solving.status import Feasibility, Termination


def solve(
    instance: Instance,
    solver: str = "auto",
    *,
    time_limit_s: float | None = None,
    work_limit: int | None = None,
    rel_gap: float = 0.0,
    seed: int = 0,
    workers: int | None = None,
    symmetry: str = "auto",
    executor: str = "serial",
    ray_address: str | None = None,
    options: dict[str, Any] | None = None,
    progress: ProgressCallback | None = None,
) -> Result:
    """Schedule one training iteration, prove a bound, and check the schedule independently.

    Parameters
    ----------
    instance
        What to schedule.
    solver
        ``auto`` or a name of :func:`fluxscale.solving.registry.solver_names`.
    time_limit_s
        Wall clock for the search in seconds, or None. Without one, ``auto`` gives an exact search
        on a small instance 20 s.
    work_limit
        Reproducible limit in the solver's own unit, or None.
    rel_gap
        Stop when (iteration time - bound) / iteration time is at most this.
    seed
        Root seed.
    workers
        Threads that the solver may use; None: the cores at hand. Never changes the answer.
    symmetry
        ``auto``: identical replicas and rails are solved once and copied. ``off``: every endpoint is scheduled.
    executor
        Where ``stage-window`` runs its sub-solves: ``serial`` (this process) or ``process`` (``workers`` processes;
        a script then needs the usual ``if __name__ == "__main__"``). ``auto``: processes where there is more than
        one worker and the solver has sub-solves. Never changes the answer of a work limit.
    ray_address
        Not built yet.
    options
        Options of the solver.
    progress
        Told about every improvement (called from this thread).

    Returns
    -------
    Result
        Also when no schedule was found, and after Ctrl-C with the best schedule so far; see ``termination`` and
        ``feasibility``.

    Raises
    ------
    InputError
        If a setting is not acceptable or the instance is bad.
    UnsupportedError
        If the solver cannot honour the instance or a setting.
    InfeasibleError
        If there is provably no schedule.
    BackendError
        If a back end fails, or a bound or the replay contradicts a checked schedule.
    """
    began = time.monotonic()
    check_settings(
        time_limit_s=time_limit_s, work_limit=work_limit, rel_gap=rel_gap, seed=seed, workers=workers,
        symmetry=symmetry, executor=executor, ray_address=ray_address,
    )  # fmt: skip
    workers = workers if workers is not None else available_cores()
    tell = progress if progress is not None else _silent
    if executor == "auto":
        executor = "process" if workers > 1 and _has_sub_solves(solver) else "serial"
    params = SolveParams(
        time_limit_s, work_limit, rel_gap, seed, workers, options=dict(options or {}), executor=executor
    )

    compared = solver != AUTO and get_solver(solver).capabilities.comparison
    if instance.nic_buffer_bytes:
        if compared:
            refuse_limit(instance, solver)
        require_buffer(instance)
    reducing = symmetry == "auto" and not compared
    tell(Progress(0.0, None, None, "looking for identical parts" if reducing else "scheduling every endpoint"))
    reduction = reduce(instance) if reducing else None
    searched = instance if reduction is None else reduction.instance
    search = _search(searched, solver, params, tell, began)
    found = search.plan, search.value_ticks
    if not compared:
        arrange(search, searched)
    final = _finish(instance, search, reduction, tell)
    if reduction is not None and final.feasibility is Feasibility.CHECKED_BAD and found[0] is not None:
        # What was cut away may tie ops that were moved: then they are moved once all are there.
        search.plan, search.value_ticks = reduction.lift(found[0]), found[1]
        arrange(search, instance)
        final = _finish(instance, search, None, tell)
    if reduction is not None and final.feasibility is Feasibility.CHECKED_BAD:
        known = search
        search = _search(instance, solver, params, tell, began, known)
        search.notes.append("the reduced schedule did not carry over to every replica, so every endpoint was scheduled")
        reduction = None
        arrange(search, instance)
        final = _finish(instance, search, None, tell)
    return _result(instance, search, final, params, executor, reduction, began)


def _has_sub_solves(solver: str) -> bool:
    return solver == AUTO or "process" in get_solver(solver).capabilities.executors


def _silent(_: Progress) -> None:
    """Tell nobody."""


def _search(
    instance: Instance,
    name: str,
    params: SolveParams,
    tell: ProgressCallback,
    began: float,
    known: Search | None = None,
) -> Search:
    """Bound the instance and search it; a bound that is already known (of a restriction) still holds."""
    tell(Progress(time.monotonic() - began, None, None, "computing lower bounds"))
    bound = best_bound(instance)
    ticks, bound_name = bound.ticks, bound.name
    if known is not None and known.bound_ticks > ticks:
        ticks, bound_name = known.bound_ticks, known.bound_name
    unlimited = replace(instance, nic_buffer_bytes=0) if instance.nic_buffer_bytes else instance
    search = Search(unlimited, params, tell, ticks, bound_name, began=began)
    find_plan(name, search)
    return search


def _finish(instance: Instance, search: Search, reduction: Reduction | None, tell: ProgressCallback) -> Judged:
    """Lift the plan, make the circuits, check, replay, measure; after Ctrl-C the schedule is kept as far as it got."""
    final = Judged()
    if search.plan is None and search.run_found is None:
        return final
    began = time.monotonic()
    bound = None if search.run_found is not None else search.bound_ticks
    tell(Progress(began - search.began, search.value_ticks, bound, "checking"))
    try:
        if search.run_found is not None:
            judge_run(instance, search.run_found, final)
        elif search.plan is not None:
            plan: Plan = search.plan if reduction is None else reduction.lift(search.plan)
            judge_plan(instance, plan, final)
    except KeyboardInterrupt:
        final.interrupted = True
    final.check_s = time.monotonic() - began
    return final


def _result(
    instance: Instance,
    search: Search,
    final: Judged,
    params: SolveParams,
    executor: str,
    reduction: Reduction | None,
    began: float,
) -> Result:
    total = time.monotonic() - began
    value = final.iteration_time_ticks
    # A run may cut transfers and send one over several planes: the bounds hold for plans, which may not.
    bound, bound_name = (None, None) if final.run is not None else (search.bound_ticks, search.bound_name)
    if value is not None and bound is not None and final.feasibility is Feasibility.CHECKED_OK and bound > value:
        raise BackendError(f"bound {bound} ({search.bound_name}) is above a checked iteration time of {value} ticks")
    return Result(
        instance=instance,
        schedule=final.schedule,
        iteration_time_ns=None if value is None else value * instance.tick_ns,
        lower_bound_ns=None if bound is None else bound * instance.tick_ns,
        lower_bound_name=bound_name,
        termination=_termination(search, final, value, params.rel_gap),
        feasibility=final.feasibility,
        solver=search.solver,
        seed=params.seed,
        workers=params.workers,
        executor=executor,
        metrics=final.metrics,
        buffers=final.buffers,
        wall_s={"build": None, "solve": total - final.check_s, "check": final.check_s, "total": total},
        notes=tuple(search.notes),
        stats=search.stats,
        symmetry=None if reduction is None else reduction.summary,
        violations=final.violations,
        run=final.run,
    )


def _termination(search: Search, final: Judged, value: int | None, rel_gap: float) -> Termination:
    """Why the solve stopped, judged by the final schedule: a lifted one may be longer than the solver's optimum."""
    if final.interrupted:
        return Termination.INTERRUPTED
    if value is None or final.run is not None or final.feasibility is not Feasibility.CHECKED_OK:
        return search.termination
    if value == search.bound_ticks:
        return Termination.OPTIMAL
    if search.termination is Termination.INTERRUPTED:
        return Termination.INTERRUPTED
    if value - search.bound_ticks <= rel_gap * value:
        return Termination.GAP_REACHED
    if search.termination in (Termination.OPTIMAL, Termination.GAP_REACHED):
        return Termination.FINISHED
    return search.termination
