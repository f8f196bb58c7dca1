"""Options of ``stage-window`` and what its limits are when nobody sets them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from fluxscale.errors import InputError, UnsupportedError, did_you_mean

BACKENDS = ("cpsat", "scip", "highs")

DEFAULT_WORK = 20_000
"""Work limit where neither a time nor a work limit is given: about a minute of one core."""

OVERHEAD_WORK = 20
"""Work charged for a sub-solve beside what its back end counts: cutting out, building and reading the model."""

OPS_PER_WORK = 2000
"""Ops that one unit of work pays for where a batch is stitched and the whole schedule is timed again."""


@dataclass(frozen=True)
class Options:
    """What ``--set solver.KEY=VALUE`` can change.

    Attributes
    ----------
    max_pairs
        Most free order pairs in one sub-solve. 400 is where CP-SAT starts to need more than seconds (measured on
        8 stages x 32 micro-batches at a delay of 20 ms: 230 pairs 1 to 3 s, 600 pairs seldom proven).
    backend
        ``cpsat``, ``scip`` or ``highs``.
    rounds
        Most rounds of each chain; None: until the limit.
    window_work
        Work limit of one sub-solve, in thousandths of CP-SAT's deterministic time (other back ends: nodes).
    chains
        Incumbents that are improved side by side; None: by the size of the instance.
    """

    max_pairs: int = 400
    backend: str = "cpsat"
    rounds: int | None = None
    window_work: int = 500
    chains: int | None = None


LIMITS = {"max_pairs": (1, 20_000), "rounds": (0, 10**9), "window_work": (1, 10**9), "chains": (1, 64)}
"""Least and largest value of each whole number."""

NAMES = tuple(field.name for field in fields(Options))


def read_options(given: dict[str, Any], work_limit: int | None) -> Options:
    """Check options and the work limit.

    Raises
    ------
    InputError
        If a key is unknown or a value out of range.
    UnsupportedError
        If the work limit is below that of one sub-solve.
    """
    for key, value in given.items():
        if key not in NAMES:
            raise InputError(
                "stage-window has no such option", field=f"solver.{key}", value=value, maybe=did_you_mean(key, NAMES)
            )
        if key == "backend":
            if value not in BACKENDS:
                raise InputError(
                    "unknown value", field="solver.backend", value=value, maybe=did_you_mean(str(value), BACKENDS)
                )
            continue
        least, most = LIMITS[key]
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise InputError(f"must be a whole number from {least} to {most}", field=f"solver.{key}", value=value)
    options = Options(**given)
    least = options.window_work + OVERHEAD_WORK
    if work_limit is not None and work_limit < least:
        raise UnsupportedError(
            f"is below the work of one window, {least} (solver.window_work + {OVERHEAD_WORK})",
            field="work_limit",
            value=work_limit,
            maybe=f"--work-limit {DEFAULT_WORK}, or a smaller --set solver.window_work.",
        )
    return options
