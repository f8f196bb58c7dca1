"""Names <-> indices in schedule files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from fluxscale.errors import InputError, did_you_mean

_MOST_SEARCHED = 20_000


def unique_names(name: Callable[[int], str], count: int) -> list[str]:
    """List the names of ``count`` things; those that are called alike get their number, as in ``F.m0@s1#17``.

    Parameters
    ----------
    name
        Name of a thing by its number.
    count
        How many there are.
    """
    names = [name(i) for i in range(count)]
    often = Counter(names)
    if len(often) == count:
        return names
    return [text if often[text] == 1 else f"{text}#{i}" for i, text in enumerate(names)]


class Lookup:
    """From name to index, with a message that helps when there is none.

    Parameters
    ----------
    kind
        What is named, for messages.
    names
        Unique names in index order.
    file
        For messages.
    """

    def __init__(self, kind: str, names: list[str], file: str) -> None:
        self.kind = kind
        self.names = names
        self.file = file
        self._index = {name: i for i, name in enumerate(names)}

    def index(self, name: str, field: str) -> int:
        """Find the index of a name, or raise InputError with the near one."""
        found = self._index.get(name)
        if found is None:
            # Looking for a near name among very many takes minutes.
            maybe = did_you_mean(name[:200], self.names) if len(self.names) <= _MOST_SEARCHED else None
            raise InputError(f"unknown {self.kind} {name[:80]!r}", file=self.file, field=field, maybe=maybe)
        return found
