"""Exception tree: every message says what, where, which value, and what to do.

A message is one line. The command line prints it as it is and leaves with the exception's ``exit_code``
(``fluxscale --help`` lists them), so no traceback reaches a user for anything that is the input's fault.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class FluxscaleError(Exception):
    """Base of all errors that fluxscale raises on purpose."""

    exit_code = 1


class InputError(FluxscaleError):
    """Bad usage or bad input: exit code 2.

    Parameters
    ----------
    message
        What is wrong.
    file, field, value
        Where it was found; each may be absent.
    maybe
        What to do about it; becomes the sentence that starts with "Maybe: ".
    """

    exit_code = 2

    def __init__(
        self,
        message: str,
        *,
        file: object = None,
        field: str | None = None,
        value: object = None,
        maybe: str | None = None,
    ) -> None:
        self._parts: dict[str, Any] = {"message": message, "file": file, "field": field, "value": value, "maybe": maybe}
        where = ": ".join(str(part) for part in (file, field) if part is not None)
        shown = "" if value is None else f" (got {_shorten(value)})"
        hint = "" if not maybe else f" Maybe: {maybe}"
        text = f"{where}: {message}{shown}." if where else f"{message}{shown}."
        super().__init__((text + hint).replace("\n", " "))

    def located(self, file: object) -> InputError:
        """Return this error with the file named, where it was raised by code that knows no files."""
        return self if self._parts["file"] is not None else type(self)(**{**self._parts, "file": file})


class UnsupportedError(InputError):
    """An option, a fabric or a job that this solver or command cannot honour: exit code 2."""


class InfeasibleError(FluxscaleError):
    """The instance is proven to have no schedule: exit code 3."""

    exit_code = 3


class NoScheduleError(FluxscaleError):
    """No schedule was found within the limit: exit code 4."""

    exit_code = 4


class CheckFailedError(FluxscaleError):
    """A schedule does not pass the independent check: exit code 5."""

    exit_code = 5


class BackendError(FluxscaleError):
    """A solver back end failed: exit code 6."""

    exit_code = 6


def _shorten(value: object, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Suggest the known word nearest to a misspelt one, or None.

    Parameters
    ----------
    word
        What was written.
    known
        What would have been accepted.
    """
    matches = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return matches[0] if matches else None


def did_you_mean(word: str, known: Iterable[str], *, many: int = 12) -> str:
    """Sentence for the "Maybe:" of an unknown word: the near one, or what is known."""
    known = sorted(known)
    near = nearest(word, known)
    if near is not None:
        return f"did you mean {near!r}?"
    listed = ", ".join(known[:many]) + (", ..." if len(known) > many else "")
    return f"one of {listed}."
