"""Settings of a solve, checked before anything is built: what cannot be honoured is refused, never ignored."""

from __future__ import annotations

import math
import os
from collections.abc import Callable

from fluxscale.errors import InputError, UnsupportedError, did_you_mean

SYMMETRY = ("auto", "off")
EXECUTORS = ("auto", "serial", "process", "ray")


def check_settings(
    *,
    time_limit_s: float | None = None,
    work_limit: int | None = None,
    rel_gap: float = 0.0,
    seed: int = 0,
    workers: int | None = None,
    symmetry: str = "auto",
    executor: str = "serial",
    ray_address: str | None = None,
) -> None:
    """Refuse settings that are no good; :func:`fluxscale.solve.solve` documents them.

    Raises
    ------
    InputError
        If a value is not acceptable.
    UnsupportedError
        If it belongs to a part that is not built yet.
    """
    _number("time_limit", time_limit_s, lambda x: x > 0, "must be a finite number of seconds, more than 0")
    _number(
        "rel_gap", rel_gap, lambda x: 0 <= x < 1, "must be a fraction, at least 0 and less than 1", maybe="1 % is 0.01."
    )
    for field, number, least in (("work_limit", work_limit, 1), ("workers", workers, 1), ("seed", seed, 0)):
        if number is not None and (
            isinstance(number, bool) or not isinstance(number, int) or not least <= number < 2**63
        ):
            raise InputError(f"must be a whole number, at least {least}", field=field, value=number)
    _word("symmetry", symmetry, SYMMETRY)
    _word("executor", executor, EXECUTORS)
    if ray_address is not None and executor != "ray":
        raise InputError("needs executor ray", field="ray_address", value=ray_address, maybe="leave it out.")
    if executor == "ray":
        raise UnsupportedError("is not built yet", field="executor", value=executor, maybe="use process.")


def available_cores() -> int:
    """Cores that this process may use: a batch system may have pinned it to a few."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _word(field: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InputError("unknown value", field=field, value=value, maybe=did_you_mean(str(value), known))


def _number(
    field: str, value: float | None, accept: Callable[[float], bool], message: str, maybe: str | None = None
) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or not accept(value):
        raise InputError(message, field=field, value=value, maybe=maybe)
