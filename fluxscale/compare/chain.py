"""One scheduler on one instance: its option sets one after another, the best so far as cutoff for the next.

The sets of one scheduler run in order within one task, so what is cut off does not depend on the number of workers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from fluxscale.compare.rows import Row, Status, Tried
from fluxscale.compare.schedulers import EXACT, FLUXSCALE, option_sets, solver_of
from fluxscale.errors import FluxscaleError, InfeasibleError, InputError
from fluxscale.instance.instance import Instance
from fluxscale.solving.registry import get_solver
from fluxscale.solving.search import AUTO_EXACT_SECONDS
from fluxscale.solving.status import Feasibility, Termination
from fluxscale.trial import Trial, trial

Tell = Callable[[str], None]

CUT_OFF = "cut off: longer than the best before it"


@dataclass(frozen=True)
class Limits:
    """Seed of everything, and limits of the schedulers that search (the others take no time worth limiting)."""

    seed: int = 0
    time_limit_s: float | None = None
    work_limit: int | None = None


@dataclass
class _Best:
    trial: Trial | None = None
    tried: list[Tried] = field(default_factory=list)
    refusal: str | None = None

    def take(self, made: Trial) -> None:
        cut = made.iteration_time_ns is None and self.trial is not None
        self.tried.append(
            Tried(made.parameters, made.iteration_time_ns, made.reconfigurations, CUT_OFF if cut else None)
        )
        if not cut and (self.trial is None or _rank(made) < _rank(self.trial)):
            self.trial = made

    @property
    def time_ns(self) -> int | None:
        return None if self.trial is None else self.trial.iteration_time_ns


def _rank(made: Trial) -> tuple[bool, int, int]:
    return made.iteration_time_ns is None, made.iteration_time_ns or 0, made.reconfigurations or 0


def run_chain(
    instance: Instance, scheduler: str, fixed: dict[str, Any], limits: Limits = Limits(), tell: Tell | None = None
) -> Row:
    """Try every option set of a scheduler and keep the best: shortest, then fewest reconfigurations, then first.

    Whatever goes wrong becomes a row that says so.

    Parameters
    ----------
    instance
        The problem.
    scheduler
        Name of the row.
    fixed
        Options that the user settled.
    limits
        Seed and limits.
    tell
        Told which option set is being tried.
    """
    began = time.monotonic()
    best = _Best()
    try:
        instance, unlimited = _without_limit(instance, scheduler)
        sets = option_sets(instance, scheduler, fixed)
        for number, options in enumerate(sets, 1):
            if tell is not None:
                tell(scheduler if len(sets) == 1 else f"{scheduler} (option set {number} of {len(sets)})")
            _try(instance, scheduler, options, limits, best)
            if best.trial is not None and best.trial.termination is Termination.INTERRUPTED:
                break
    except InfeasibleError as error:
        return _without(scheduler, Status.INFEASIBLE, str(error), best, began)
    except InputError as error:
        return _without(scheduler, Status.REFUSED, str(error), best, began)
    except FluxscaleError as error:
        return _without(scheduler, Status.FAILED, f"failed: {error}", best, began)
    except Exception as error:
        # One scheduler of many, maybe somebody else's: the others' rows are worth having.
        return _without(scheduler, Status.FAILED, f"failed: {type(error).__name__}: {error}", best, began)
    if best.trial is None:
        return _without(scheduler, Status.REFUSED, best.refusal or "it tries no option set", best, began)
    row = _row(scheduler, best.trial, best, began)
    return replace(row, notes=(*row.notes, unlimited)) if unlimited else row


def _without_limit(instance: Instance, scheduler: str) -> tuple[Instance, str | None]:
    """Take a buffer limit from schedulers that are there to be compared with: they know nothing of it."""
    if not instance.nic_buffer_bytes or scheduler == FLUXSCALE or not get_solver(scheduler).capabilities.comparison:
        return instance, None
    return replace(instance, nic_buffer_bytes=0), "runs without the limit nic_buffer, of which it takes no account"


def _try(instance: Instance, scheduler: str, options: dict[str, Any], limits: Limits, best: _Best) -> None:
    cutoff = None if best.time_ns is None else best.time_ns // instance.tick_ns
    try:
        made = trial(
            instance, solver_of(scheduler), options, seed=limits.seed, cutoff_ticks=cutoff, **_limits(scheduler, limits)
        )
    except InputError as error:
        # The user's choice may not go together with every proposal.
        best.tried.append(Tried(options, None, None, f"refused: {error}"))
        best.refusal = best.refusal or str(error)
        return
    best.take(made)


def _limits(scheduler: str, limits: Limits) -> dict[str, Any]:
    """Limits of a scheduler: none for one to compare with, which runs to its end."""
    if scheduler != FLUXSCALE and get_solver(scheduler).capabilities.comparison:
        return {}
    seconds = limits.time_limit_s
    if scheduler in EXACT and seconds is None and limits.work_limit is None:
        # As long as the row of fluxscale gives its own exact search; without a limit it might never end.
        seconds = AUTO_EXACT_SECONDS
    return {"time_limit_s": seconds, "work_limit": limits.work_limit}


def _without(scheduler: str, status: Status, reason: str, best: _Best, began: float) -> Row:
    note = " ".join(reason.split())
    return Row(scheduler, status, {}, notes=(note,), wall_s=time.monotonic() - began, swept=tuple(best.tried))


def _row(scheduler: str, made: Trial, best: _Best, began: float) -> Row:
    notes = tuple(made.notes)
    value = made.iteration_time_ns
    if made.termination is Termination.INTERRUPTED:
        status = Status.INTERRUPTED
    elif made.feasibility is Feasibility.CHECKED_BAD:
        status, notes = Status.BROKEN, (*notes, "its schedule does not pass the check")
    elif value is None:
        status = Status.INFEASIBLE if made.termination is Termination.INFEASIBLE else Status.NO_SCHEDULE
        notes = (*notes, f"no schedule: {made.termination}")
    else:
        status = Status.OK
    # A schedule that breaks rules has no time worth comparing.
    sound = status in (Status.OK, Status.INTERRUPTED)
    return Row(
        scheduler,
        status,
        made.parameters,
        value if sound else None,
        made.reconfigurations if sound else None,
        made.circuit_utilisation if sound else None,
        made.eager_bytes if sound else None,
        made.paced_bytes if sound else None,
        made.lower_bound_ns,
        made.optimal and sound,
        str(made.feasibility),
        str(made.termination),
        notes,
        time.monotonic() - began,
        tuple(best.tried),
    )
