"""Which schedulers take part in a comparison, and which of the user's options belongs to which of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluxscale.errors import BackendError, InputError, did_you_mean
from fluxscale.solving.registry import COMPARISON, get_solver, solver_names
from fluxscale.solving.search import AUTO, AUTO_DECOMPOSED, AUTO_EXACT, AUTO_HEURISTIC, SMALL_TRANSFERS
from fluxscale.trial import candidates

FLUXSCALE = "fluxscale"
"""The row that all others are held against: what ``fluxscale solve`` does by itself."""

EXACT = ("exact-cpsat", "exact-milp")
"""Take part where the job has at most ``SMALL_TRANSFERS`` transfers, or when asked for."""


def solver_of(scheduler: str) -> str:
    """Name of the solver behind a row."""
    return AUTO if scheduler == FLUXSCALE else scheduler


def known_schedulers() -> list[str]:
    """Names that a comparison accepts, in alphabetical order; solvers of other packages are among them."""
    return sorted({FLUXSCALE, *COMPARISON, *EXACT, *solver_names()})


def choose(
    names: Sequence[str] | None, n_transfers: int | None = None, *, field: str = "schedulers"
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Settle who takes part: those named, or all that can; fluxscale always does, as the first.

    Parameters
    ----------
    names
        Names in the order of the rows, or None.
    n_transfers
        Transfers of the job, which say whether exact solvers are tried; None: they are not.
    field
        What errors call the list.

    Returns
    -------
    schedulers
        Names without repetitions.
    notes
        Who was left out.

    Raises
    ------
    InputError
        If a name is unknown or there is none.
    """
    if names is not None:
        if isinstance(names, str) or not names:
            raise InputError("must name at least one scheduler", field=field, maybe=f"{FLUXSCALE},rotor,on-demand.")
        known = known_schedulers()
        for name in names:
            if name not in known:
                raise InputError(
                    "unknown scheduler", field=field, value=name, maybe=did_you_mean(str(name), known, many=20)
                )
        return tuple(dict.fromkeys((FLUXSCALE, *names))), ()
    if n_transfers is None:
        return (FLUXSCALE, *COMPARISON), ()
    if n_transfers <= SMALL_TRANSFERS:
        return (FLUXSCALE, *COMPARISON, *EXACT), ()
    reason = f"{n_transfers:,} transfers are more than {SMALL_TRANSFERS}"
    return (FLUXSCALE, *COMPARISON), (f"{' and '.join(EXACT)} left out: {reason}; name them to have them",)


def known_options(scheduler: str) -> set[str]:
    """Options that a scheduler knows; none if it cannot be loaded, which its row will say."""
    solvers = (AUTO_HEURISTIC, AUTO_EXACT, AUTO_DECOMPOSED) if scheduler == FLUXSCALE else (scheduler,)
    found: set[str] = set()
    for name in solvers:
        try:
            found |= set(get_solver(name).capabilities.options)
        except BackendError:
            continue
    return found


def share_options(schedulers: Sequence[str], options: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Give every scheduler those of the user's options that it knows.

    Parameters
    ----------
    schedulers
        Who takes part.
    options
        By name, without ``solver.``.

    Raises
    ------
    InputError
        If nobody knows an option.
    """
    if not options:
        return {scheduler: {} for scheduler in schedulers}
    known = {scheduler: known_options(scheduler) for scheduler in schedulers}
    everything = set().union(*known.values())
    for key, value in options.items():
        if key not in everything:
            maybe = did_you_mean(key, everything) if everything else "none of them has options."
            raise InputError(
                "none of the schedulers compared has this option", field=f"solver.{key}", value=value, maybe=maybe
            )
    return {name: {key: value for key, value in options.items() if key in known[name]} for name in schedulers}


def option_sets(instance: Any, scheduler: str, fixed: dict[str, Any]) -> list[dict[str, Any]]:
    """Option sets that are tried: those that the scheduler proposes, with the user's choices in each of them.

    Parameters
    ----------
    instance
        The problem.
    scheduler
        Name of a row.
    fixed
        Options that the user settled.
    """
    proposed = [{}] if scheduler == FLUXSCALE else candidates(instance, scheduler)
    sets: list[dict[str, Any]] = []
    for one in proposed:
        merged = {**one, **fixed}
        if merged not in sets:
            sets.append(merged)
    return sets
