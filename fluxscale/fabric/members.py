"""Which endpoints a list of names and patterns means."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError, did_you_mean

Ints = npt.NDArray[Any]


class Endpoints:
    """Endpoint names that can be asked for by name or pattern.

    Parameters
    ----------
    names
        Name of each endpoint.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self._number = {name: number for number, name in enumerate(names)}
        self._known: dict[str, Ints] = {}

    def find(self, members: Sequence[str], field: str) -> Ints:
        """Numbers of all endpoints that the members mean, ascending, each once.

        Parameters
        ----------
        members
            Names, or patterns with ``*``, ``?`` and ``[...]``. A name that exists is never read as a pattern.
        field
            For messages.

        Raises
        ------
        InputError
            A member that is no endpoint, or a pattern that fits none.
        """
        found = [self._one(member, field) for member in members]
        return np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.int32)

    def _one(self, member: str, field: str) -> Ints:
        if member in self._number:
            return np.array([self._number[member]], dtype=np.int32)
        if not set(member) & set("*?["):
            raise InputError("no such endpoint", field=field, value=member, maybe=did_you_mean(member, self.names))
        if member not in self._known:
            fits = re.compile(fnmatch.translate(member)).match
            self._known[member] = np.array([k for k, name in enumerate(self.names) if fits(name)], dtype=np.int32)
        if not len(self._known[member]):
            shown = ", ".join(self.names[:5]) + (", ..." if len(self.names) > 5 else "")
            raise InputError(
                "the pattern fits no endpoint",
                field=field,
                value=member,
                maybe=f"endpoints are called {shown or 'nothing: there are none'}.",
            )
        return self._known[member]
