"""What a solver is: a name, what it can honour, and one method from instance to outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy.typing as npt

from fluxscale.instance.instance import Instance
from fluxscale.schedule.fluid_run import FluidRun
from fluxscale.solving.status import Termination

Ints = npt.NDArray[Any]


@dataclass(frozen=True)
class Plan:
    """What a solver decides: op starts (int64 ``[n]``) and the plane of each leg (int16 ``[L]``).

    The circuits follow.
    """

    op_start_ticks: Ints
    leg_plane: Ints


@dataclass(frozen=True)
class SolveParams:
    """Limits and settings of one solve.

    Attributes
    ----------
    time_limit_s
        Wall clock for the whole solve, or None.
    work_limit
        Reproducible limit in the solver's own unit (its docstring names it), or None.
    rel_gap
        Stop when (incumbent - bound) / incumbent is at most this.
    seed
        Root seed.
    workers
        Threads or processes that the solver may use; never changes the answer.
    warm_start
        A plan to begin from (hint and upper bound), or None.
    lower_bound_ticks
        A proven bound: reaching it is optimal. 0: none.
    options
        ``--set solver.KEY=VALUE``; a solver refuses keys that it does not know.
    cutoff_ticks
        A comparison scheduler may give up once its iteration is sure to last longer than this; None: it may not.
    executor
        Where a solver runs its sub-solves: ``serial`` or ``process``; never changes the answer of a work limit.
    """

    time_limit_s: float | None = None
    work_limit: int | None = None
    rel_gap: float = 0.0
    seed: int = 0
    workers: int = 1
    warm_start: Plan | None = None
    lower_bound_ticks: int = 0
    options: dict[str, Any] = field(default_factory=dict)
    cutoff_ticks: int | None = None
    executor: str = "serial"


@dataclass(frozen=True)
class Progress:
    """One line of news from a running solver: seconds since its start, best value, bound, and what it is doing."""

    elapsed_s: float
    best_ticks: int | None
    bound_ticks: int | None
    message: str


ProgressCallback = Callable[[Progress], None]


@dataclass(frozen=True)
class Outcome:
    """What a solver returns: plain data, no solver objects.

    Attributes
    ----------
    plan
        Best plan found, or None.
    iteration_time_ticks
        Its iteration time (period when cyclic), or None.
    lower_bound_ticks, bound_name
        Bound that the solver proved, or None.
    termination
        Why it stopped.
    stats
        Counted work and sizes, for the provenance (JSON-able).
    run
        What happened, from a scheduler that cuts transfers: it has no plan, and its run stands in for one.
    notes
        What a reader should know of this solve.
    """

    plan: Plan | None
    iteration_time_ticks: int | None
    lower_bound_ticks: int | None
    bound_name: str | None
    termination: Termination
    stats: dict[str, Any] = field(default_factory=dict)
    run: FluidRun | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Capabilities:
    """What a solver honours; what it does not is refused before the solve.

    ``comparison``: a scheduler to compare with. It is given the instance as it is, without symmetry, warm start or
    improvement, and may return a run in place of a plan. ``improves``: it starts from a plan, so one is made first.
    ``executors``: where it can run sub-solves; one that has none runs in this process.
    """

    all_stop: bool = True
    duplex: bool = True
    planes: bool = True
    gangs: bool = True
    cyclic: bool = True
    comparison: bool = False
    work_limit_unit: str | None = None
    options: tuple[str, ...] = ()
    improves: bool = False
    executors: tuple[str, ...] = ("serial",)


class Solver(Protocol):
    """A solver plug-in; see ``fluxscale_solvers/TEMPLATE.py``.

    An interrupt (Ctrl-C) must return the best plan so far. A solver may also have a method
    ``sweep(instance) -> list[dict[str, Any]]``: the option sets that a comparison tries.
    """

    name: str
    capabilities: Capabilities

    def solve(self, instance: Instance, params: SolveParams, progress: ProgressCallback) -> Outcome:
        """Solve an instance within the limits of ``params``."""
        ...
