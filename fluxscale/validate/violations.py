"""What can be wrong with a schedule: codes, kinds, and one violation with its entity, time and amount."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.units import format_time

Ints = npt.NDArray[Any]

KINDS: dict[str, str] = {
    "FX001": "start-time",
    "FX002": "precedence",
    "FX003": "device-order",
    "FX004": "leg-plane",
    "FX005": "circuit-ends",
    "FX006": "circuit-times",
    "FX007": "port-overlap",
    "FX008": "set-up-gap",
    "FX009": "dark-start",
    "FX010": "wrap-gap",
    "FX011": "all-stop",
    "FX012": "no-circuit",
    "FX013": "direction-overlap",
    "FX014": "iteration-time",
    "FX015": "past-period",
    "FX016": "radix",
    "FX017": "nic-buffer",
    "FX018": "fluid-amount",
}
"""Kind of each code. Codes are a contract: new ones may come, none changes its meaning."""


@dataclass(frozen=True)
class Violation:
    """One broken rule.

    Attributes
    ----------
    code, kind
        What rule, e.g. ``FX008`` and ``set-up-gap``.
    entity
        The op, circuit, port, plane or switch that breaks it, by name.
    time_ticks
        When.
    amount_ticks
        By how much; what the schedule lacks to be right. For ``FX016`` the ports too many, for
        ``FX017`` the bytes; 0 where no amount applies.
    message
        The same for people, in units of time.
    """

    code: str
    kind: str
    entity: str
    time_ticks: int
    amount_ticks: int
    message: str

    def to_dict(self) -> dict[str, Any]:
        """The violation as plain JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Finding:
    """All violations of one code that one check found, as columns; put into words only when listed.

    Attributes
    ----------
    code
        Key of ``KINDS``.
    time, amount
        int64 ``[k]``, in ticks.
    describe
        From a position in the columns to the entity and the message.
    """

    code: str
    time: Ints
    amount: Ints
    describe: Callable[[int], tuple[str, str]]

    def violations(self, most: int) -> list[Violation]:
        """The earliest of them in words."""
        earliest = np.argsort(self.time, kind="stable")[:most]
        return [
            Violation(self.code, KINDS[self.code], entity, int(self.time[k]), int(self.amount[k]), message)
            for k in earliest.tolist()
            for entity, message in [self.describe(k)]
        ]


def say_time(ticks: int, tick_ns: int) -> str:
    """A time for people; the exact nanoseconds are added where the short form is rounded."""
    ns = int(ticks) * tick_ns
    rounded = ns % 10 ** max(0, len(str(abs(ns))) - 5) != 0
    return f"{format_time(ns)} ({ns} ns)" if rounded else format_time(ns)
