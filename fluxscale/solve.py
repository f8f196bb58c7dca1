"""The whole solve: reduce by symmetry, bound, search, lift, derive the circuits, check, replay, measure."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from fluxscale.bounds import best_bound
from fluxscale.decompose.symmetry import Reduction, reduce
from fluxscale.errors import BackendError, CheckFailedError, UnsupportedError
from fluxscale.instance.instance import Instance
from fluxscale.schedule.circuits import make_schedule, op_ends
from fluxscale.schedule.metrics import Metrics, metrics
from fluxscale.schedule.schedule import Schedule
from fluxscale.simulate.buffers import peak_buffers
from fluxscale.simulate.replay import replay
from fluxscale.solving.protocol import Plan, Progress, ProgressCallback, SolveParams
from fluxscale.solving.result import BufferPeaks, Result
from fluxscale.solving.search import Search, find_plan
from fluxscale.solving.settings import available_cores, check_settings
from fluxscale.solving.status import Feasibility, Termination
from fluxscale.validate.checker import check


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
        ``serial``; ``process`` and ``ray`` come with the solver ``stage-window``.
    ray_address
        Likewise.
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
    if instance.nic_buffer_bytes:
        size = instance.nic_buffer_bytes
        raise UnsupportedError(
            "no solver honours a buffer limit yet", field="nic_buffer", value=size, maybe="leave it out."
        )
    workers = workers if workers is not None else available_cores()
    tell = progress if progress is not None else _silent
    params = SolveParams(time_limit_s, work_limit, rel_gap, seed, workers, options=dict(options or {}))

    tell(
        Progress(0.0, None, None, "looking for identical parts" if symmetry == "auto" else "scheduling every endpoint")
    )
    reduction = reduce(instance) if symmetry == "auto" else None
    search = _search(instance if reduction is None else reduction.instance, solver, params, tell, began)
    final = _finish(instance, search, reduction, tell)
    if reduction is not None and final.feasibility is Feasibility.CHECKED_BAD:
        known = search
        search = _search(instance, solver, params, tell, began, known)
        search.notes.append("the reduced schedule did not carry over to every replica, so every endpoint was scheduled")
        reduction = None
        final = _finish(instance, search, None, tell)
    return _result(instance, search, final, params, executor, reduction, began)


@dataclass
class _Final:
    """What became of the best plan: schedule, verdict, figures."""

    schedule: Schedule | None = None
    feasibility: Feasibility = Feasibility.NONE
    violations: int = 0
    metrics: Metrics | None = None
    buffers: BufferPeaks | None = None
    check_s: float = 0.0
    interrupted: bool = False


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
    search = Search(instance, params, tell, ticks, bound_name, began=began)
    find_plan(name, search)
    return search


def _finish(instance: Instance, search: Search, reduction: Reduction | None, tell: ProgressCallback) -> _Final:
    """Lift the plan, make the circuits, check, replay, measure; after Ctrl-C the schedule is kept as far as it got."""
    final = _Final()
    if search.plan is None:
        return final
    began = time.monotonic()
    tell(Progress(began - search.began, search.value_ticks, search.bound_ticks, "checking"))
    try:
        plan: Plan = search.plan if reduction is None else reduction.lift(search.plan)
        final.schedule = make_schedule(instance, plan.op_start_ticks, plan.leg_plane)
        _judge(instance, final.schedule, final)
    except KeyboardInterrupt:
        final.interrupted = True
    final.check_s = time.monotonic() - began
    return final


def _judge(instance: Instance, schedule: Schedule, final: _Final) -> None:
    report = check(instance, schedule)
    final.violations = sum(report.counts.values())
    final.feasibility = Feasibility.CHECKED_OK if report.ok else Feasibility.CHECKED_BAD
    if not report.ok:
        return
    try:
        replayed = replay(instance, schedule).iteration_time_ticks
    except CheckFailedError as error:
        raise BackendError(f"the check accepts a schedule that the replay refuses: {error}") from error
    if not replayed == schedule.iteration_time_ticks == report.iteration_time_ticks:
        raise BackendError(
            f"iteration time differs: schedule {schedule.iteration_time_ticks}, check {report.iteration_time_ticks}, "
            f"replay {replayed} ticks. Maybe: report it with the job file."
        )
    final.metrics = metrics(instance, schedule)
    ends = op_ends(instance, schedule.op_start_ticks, schedule.leg_plane)
    peaks = peak_buffers(instance, schedule.op_start_ticks, ends, schedule.leg_plane)
    final.buffers = BufferPeaks(int(peaks.eager_bytes), int(peaks.paced_bytes))


def _result(
    instance: Instance,
    search: Search,
    final: _Final,
    params: SolveParams,
    executor: str,
    reduction: Reduction | None,
    began: float,
) -> Result:
    total = time.monotonic() - began
    value = None if final.schedule is None else final.schedule.iteration_time_ticks
    bound = search.bound_ticks
    if value is not None and final.feasibility is Feasibility.CHECKED_OK and bound > value:
        raise BackendError(f"bound {bound} ({search.bound_name}) is above a checked iteration time of {value} ticks")
    return Result(
        instance=instance,
        schedule=final.schedule,
        iteration_time_ns=None if value is None else value * instance.tick_ns,
        lower_bound_ns=bound * instance.tick_ns,
        lower_bound_name=search.bound_name,
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
    )


def _termination(search: Search, final: _Final, value: int | None, rel_gap: float) -> Termination:
    """Why the solve stopped, judged by the final schedule: a lifted one may be longer than the solver's optimum."""
    if final.interrupted:
        return Termination.INTERRUPTED
    if value is None or final.feasibility is not Feasibility.CHECKED_OK:
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
