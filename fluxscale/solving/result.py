"""Result of a solve: the schedule, how good it is proven to be, and everything needed to report or repeat it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fluxscale.instance.instance import Instance
from fluxscale.schedule.fluid_run import FluidRun
from fluxscale.schedule.metrics import Metrics
from fluxscale.schedule.schedule import Schedule
from fluxscale.solving.status import Feasibility, Termination

RESULT_FORMAT = "fluxscale-result"
RESULT_VERSION = 1


@dataclass(frozen=True)
class BufferPeaks:
    """Largest NIC buffer of any port: when producers push at once (eager), when they wait for the circuit (paced).

    Only a plan can be paced: ``paced_bytes`` is None for a scheduler without one.
    """

    eager_bytes: int
    paced_bytes: int | None


@dataclass(frozen=True, eq=False)
class Result:
    """What a solve found. Absent values are None, never a sentinel.

    Attributes
    ----------
    instance
        What was solved (the full instance, also when symmetry was used).
    schedule
        Best schedule found, or None.
    iteration_time_ns
        Its iteration time (the period when the boundary is cyclic).
    lower_bound_ns, lower_bound_name
        Proven bound and the argument that proves it.
    gap
        (iteration time - lower bound) / iteration time.
    termination
        Why the solver stopped.
    feasibility
        What the independent checker found.
    solver
        Solver that made the schedule (with ``auto``, the one that was picked).
    seed, workers, executor
        As used.
    metrics
        Reconfigurations and circuit utilisation, or None without a checked schedule.
    buffers
        Peak NIC buffers, or None without a checked schedule.
    wall_s
        Seconds by part: ``build`` (None when the instance was given), ``solve``, ``check``, ``total``.
    notes
        What a reader should know: fall-backs, assumptions, settings that were not used.
    stats
        Counted work of the solvers, by name.
    symmetry
        What the symmetry reduction did, or None when the full instance was solved.
    violations
        Number of violations that the checker found.
    run
        What happened under a scheduler that cuts transfers; it has no schedule.
    """

    instance: Instance = field(repr=False)
    schedule: Schedule | None
    iteration_time_ns: int | None
    lower_bound_ns: int | None
    lower_bound_name: str | None
    termination: Termination
    feasibility: Feasibility
    solver: str
    seed: int
    workers: int
    executor: str = "serial"
    metrics: Metrics | None = None
    buffers: BufferPeaks | None = None
    wall_s: dict[str, float | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    stats: dict[str, Any] = field(default_factory=dict, repr=False)
    symmetry: str | None = None
    violations: int = 0
    run: FluidRun | None = field(default=None, repr=False)

    @property
    def gap(self) -> float | None:
        """(iteration time - lower bound) / iteration time as a fraction, or None where one of them is missing."""
        if self.iteration_time_ns is None or self.lower_bound_ns is None:
            return None
        if self.iteration_time_ns == 0:
            return 0.0
        return (self.iteration_time_ns - self.lower_bound_ns) / self.iteration_time_ns

    def to_dict(
        self, *, job: str | None = None, gpus: int | None = None, provenance: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Build the JSON document of ``solve --json``.

        Parameters
        ----------
        job
            Name of the job, if it has one.
        gpus
            GPUs of the job, if known.
        provenance
            Who made the result (:func:`fluxscale.provenance.collect`).
        """
        metrics, buffers = self.metrics, self.buffers
        peaks = {"eager": buffers and buffers.eager_bytes, "paced": buffers and buffers.paced_bytes}
        return {
            "format": RESULT_FORMAT,
            "version": RESULT_VERSION,
            "job": job,
            "solver": self.solver,
            "seed": self.seed,
            "workers": self.workers,
            "executor": self.executor,
            "termination": str(self.termination),
            "feasibility": str(self.feasibility),
            "iteration_time_ns": self.iteration_time_ns,
            "lower_bound_ns": self.lower_bound_ns,
            "lower_bound_name": self.lower_bound_name,
            "gap": self.gap,
            "gpus": gpus,
            "endpoints": self.instance.n_endpoints,
            "ops": self.instance.n_ops,
            "transfers": self.instance.n_transfers,
            "reconfigurations": metrics and metrics.reconfigurations,
            "peak_nic_buffer_bytes": peaks,
            "circuit_utilisation": metrics and metrics.circuit_utilisation,
            "instance_sha256": self.instance.sha256,
            "schedule_sha256": self.schedule and self.schedule.sha256,
            "wall_s": {part: self.wall_s.get(part) for part in ("build", "solve", "check", "total")},
            "symmetry": self.symmetry,
            "violations": self.violations,
            "notes": list(self.notes),
            "stats": self.stats,
            "provenance": provenance,
        }
