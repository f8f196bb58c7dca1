"""Judging what a solver returned: circuits, the independent check, the replay, and what is measured on the way."""

from __future__ import annotations

from dataclasses import dataclass

from fluxscale.errors import BackendError, CheckFailedError
from fluxscale.instance.instance import Instance
from fluxscale.schedule.circuits import make_schedule, op_ends
from fluxscale.schedule.fluid_run import FluidRun
from fluxscale.schedule.metrics import Metrics, metrics
from fluxscale.schedule.schedule import Schedule
from fluxscale.simulate.buffers import peak_buffers
from fluxscale.simulate.replay import replay
from fluxscale.solving.protocol import Plan
from fluxscale.solving.result import BufferPeaks
from fluxscale.solving.status import Feasibility
from fluxscale.validate.checker import check
from fluxscale.validate.fluid import check_fluid


@dataclass
class Judged:
    """A schedule or a run with its verdict and figures; what could not be had stays None."""

    schedule: Schedule | None = None
    run: FluidRun | None = None
    feasibility: Feasibility = Feasibility.NONE
    violations: int = 0
    metrics: Metrics | None = None
    buffers: BufferPeaks | None = None
    check_s: float = 0.0
    interrupted: bool = False

    @property
    def iteration_time_ticks(self) -> int | None:
        """Iteration time of whichever of the two there is."""
        answer = self.schedule if self.schedule is not None else self.run
        return None if answer is None else answer.iteration_time_ticks


def judge_plan(instance: Instance, plan: Plan, judged: Judged) -> None:
    """Make the circuits of a plan, check, replay and measure them; ``judged`` is filled as far as it goes.

    Parameters
    ----------
    instance
        The problem.
    plan
        What a solver decided.
    judged
        Where to put what is found; after an interrupt it holds what there was.

    Raises
    ------
    BackendError
        If check and replay contradict each other.
    """
    schedule = judged.schedule = make_schedule(instance, plan.op_start_ticks, plan.leg_plane)
    report = check(instance, schedule)
    judged.violations = sum(report.counts.values())
    judged.feasibility = Feasibility.CHECKED_OK if report.ok else Feasibility.CHECKED_BAD
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
    judged.metrics = metrics(instance, schedule)
    ends = op_ends(instance, schedule.op_start_ticks, schedule.leg_plane)
    peaks = peak_buffers(instance, schedule.op_start_ticks, ends, schedule.leg_plane)
    judged.buffers = BufferPeaks(int(peaks.eager_bytes), int(peaks.paced_bytes))


def judge_run(instance: Instance, run: FluidRun, judged: Judged) -> None:
    """Check a fluid run; its figures were recorded while it ran.

    Parameters
    ----------
    instance
        The problem.
    run
        What a fluid scheduler returned.
    judged
        Where to put what is found.
    """
    judged.run = run
    report = check_fluid(instance, run)
    judged.violations = sum(report.counts.values())
    judged.feasibility = Feasibility.CHECKED_OK if report.ok else Feasibility.CHECKED_BAD
    judged.metrics = Metrics(run.reconfigurations, run.circuit_utilisation)
    judged.buffers = BufferPeaks(run.eager_bytes, None)
