"""What both exact solvers do around the search: refuse, narrow, and turn its end into an outcome."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError, UnsupportedError, did_you_mean
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance
from fluxscale.milp.conflicts import Conflicts, find_conflicts, select
from fluxscale.milp.extract import Exact, squeeze
from fluxscale.milp.greedy import greedy, serial_horizon
from fluxscale.solving.protocol import Outcome, Plan, SolveParams
from fluxscale.solving.status import Termination

Ints = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Prepared:
    """An instance made ready for search.

    Attributes
    ----------
    conflicts
        Pairs, with all orders fixed that the upper bound implies.
    start
        Best schedule known before the search, or None.
    upper, lower
        Bounds on the iteration time (ticks); ``upper`` is reached by some schedule.
    unit
        Greatest common divisor of all times: some optimal schedule uses multiples of it only.
    began
        ``time.monotonic()`` at the start.
    """

    conflicts: Conflicts
    start: Exact | None
    upper: int
    lower: int
    unit: int
    began: float

    @property
    def proven(self) -> bool:
        """Whether the schedule known already meets the bound."""
        return self.start is not None and self.start.iteration_time_ticks <= self.lower


def check_options(options: dict[str, Any], known: dict[str, Iterable[object]], solver: str) -> None:
    """Refuse options, or values of options, that a solver does not know.

    Raises
    ------
    InputError
        With the nearest known word.
    """
    for key, value in options.items():
        if key not in known:
            maybe = did_you_mean(key, known) if known else f"{solver} has no options."
            raise InputError(f"{solver} has no option {key!r}", field=f"solver.{key}", value=value, maybe=maybe)
        allowed = sorted(map(str, known[key]))
        if str(value) not in allowed:
            raise InputError(
                "unknown value", field=f"solver.{key}", value=value, maybe=did_you_mean(str(value), allowed)
            )


def prepare(instance: Instance, params: SolveParams, limit: int, solver: str) -> Prepared:
    """Find the conflicts, squeeze the schedule to begin from, and fix what the upper bound decides.

    Raises
    ------
    UnsupportedError
        If the instance is too large, or asks for a limit on NIC buffers.
    InfeasibleError
        If a transfer can be carried on no plane.
    InputError
        If the schedule to begin from does not fit the instance.
    """
    began = time.monotonic()
    if instance.nic_buffer_bytes:
        raise UnsupportedError(
            f"{solver} does not model a limit on NIC buffers", field="nic_buffer", value=instance.nic_buffer_bytes
        )
    conflicts = find_conflicts(instance)
    start = _known_start(instance, conflicts, params.warm_start)
    upper = start.iteration_time_ticks if start is not None else serial_horizon(instance, conflicts)
    lower = max(params.lower_bound_ticks, int((conflicts.heads + conflicts.tails).max(initial=0)))
    narrowed = select(instance, conflicts, upper)
    if narrowed is None:
        raise AssertionError("immediate selection refuted a schedule that exists")
    narrowed.check_size(limit, solver)
    derived = derive(instance)
    times = np.concatenate([derived.op_ticks.ravel(), instance.plane_delay_ticks])
    unit = int(np.gcd.reduce(times, initial=0)) or 1
    return Prepared(narrowed, start, upper, lower, unit, began)


def _known_start(instance: Instance, conflicts: Conflicts, warm: Plan | None) -> Exact | None:
    found = None if warm is not None and instance.n_ops > 2000 else greedy(instance, conflicts)
    if warm is None:
        return found
    if len(warm.op_start_ticks) != instance.n_ops or len(warm.leg_plane) != instance.n_legs:
        raise InputError("the schedule to begin from is for another instance", field="warm_start")
    given = squeeze(instance, conflicts, warm.op_start_ticks, warm.leg_plane)
    if given is None:
        raise InputError("the schedule to begin from breaks the order of the ops", field="warm_start")
    return given if found is None or given.iteration_time_ticks <= found.iteration_time_ticks else found


def outcome(
    instance: Instance,
    prepared: Prepared,
    found: Exact | None,
    bound: int,
    stopped: Termination,
    rel_gap: float,
    stats: dict[str, Any],
    name: str,
) -> Outcome:
    """Combine the search's schedule and bound with what was known before, and say honestly why it ended.

    Parameters
    ----------
    instance, prepared
        What was solved.
    found
        Best schedule of the search, or None.
    bound
        Lower bound that the search proved (ticks), 0 for none.
    stopped
        Why the search stopped, as the back end put it (OPTIMAL is believed only where the bound meets the schedule).
    rel_gap
        Gap that was allowed.
    stats
        Counted work of the back end.
    name
        Name of the search's bound.
    """
    candidates = [plan for plan in (found, prepared.start) if plan is not None]
    best = min(candidates, key=lambda plan: plan.iteration_time_ticks) if candidates else None
    name, bound = (name, bound) if bound > prepared.lower else ("known-bound", prepared.lower)
    value = None if best is None else best.iteration_time_ticks
    if value is not None:
        bound = min(bound, value)
        if bound == value:
            stopped = Termination.OPTIMAL
        elif value - bound <= rel_gap * value or stopped is Termination.OPTIMAL:
            stopped = Termination.GAP_REACHED
        elif stopped is Termination.INFEASIBLE:
            # A schedule is at hand, so this "proof" is the back end's numerical mistake.
            stopped = Termination.ERROR
    elif stopped is Termination.INFEASIBLE:
        bound = 0
    conflicts = prepared.conflicts
    facts = {
        "conflict_pairs": len(conflicts.first),
        "free_pairs": conflicts.n_free,
        "time_unit_ticks": prepared.unit,
        "start_ticks": None if prepared.start is None else prepared.start.iteration_time_ticks,
        **stats,
    }
    plan = None if best is None else Plan(best.op_start_ticks, best.leg_plane)
    return Outcome(plan, value, bound if bound > 0 else None, name if bound > 0 else None, stopped, facts)
