"""Settings on the command line: ``--set`` entries sorted into those of the job and those of the solver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fluxscale.errors import InputError

PREFIX = "solver."


def split_settings(entries: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """Sort ``KEY=VALUE`` entries.

    Parameters
    ----------
    entries
        As given, in order; a later entry of one key replaces an earlier one.

    Returns
    -------
    overrides
        Entries for the job and its fabric, as they were.
    options
        Solver options by name without ``solver.``; whole numbers, numbers, true and false are read as such.

    Raises
    ------
    InputError
        If an entry is not of the form KEY=VALUE.
    """
    overrides, options = [], {}
    for entry in entries:
        key, equals, value = entry.partition("=")
        key = key.strip()
        if not equals or not key or key == PREFIX:
            raise InputError(
                "must be KEY=VALUE", field="--set", value=entry, maybe="--set fabric.reconfiguration_delay=25ms."
            )
        if key.startswith(PREFIX):
            options[key.removeprefix(PREFIX)] = _value(value.strip())
        else:
            overrides.append(entry)
    return overrides, options


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
