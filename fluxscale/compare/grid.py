"""Points of a sweep: ranges and lists of delays, rates and numbers of planes, and the grid that they span."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fluxscale.errors import InputError
from fluxscale.units import format_rate, format_time, parse_rate, parse_time

MAX_POINTS = 1000

GIGABIT = 10**9


@dataclass(frozen=True)
class Axis:
    """What is changed along one direction of the grid.

    Attributes
    ----------
    name
        ``delay``, ``rate`` or ``planes``; also the option of the command line.
    field
        Field of the fabric.
    unit
        Unit of the values, as keys of the output carry it (``delay_ns``); empty for a count.
    values
        Ascending, all different.
    """

    name: str
    field: str
    unit: str
    values: tuple[int, ...]

    @property
    def key(self) -> str:
        """Name of the values in JSON and CSV."""
        return f"{self.name}_{self.unit}" if self.unit else self.name

    def shown(self, value: int) -> str:
        """Write a value for people."""
        return {"ns": format_time, "bps": format_rate}.get(self.unit, str)(value)

    def change(self, value: int) -> str:
        """The change of the fabric that sets a value."""
        return f"fabric.{self.field}={value}"


@dataclass(frozen=True)
class Point:
    """One point of the grid: the value on each axis."""

    values: tuple[tuple[Axis, int], ...]

    @property
    def changes(self) -> tuple[str, ...]:
        """Changes of the fabric that lead here."""
        return tuple(axis.change(value) for axis, value in self.values)

    @property
    def document(self) -> dict[str, int]:
        """Values by key."""
        return {axis.key: value for axis, value in self.values}

    def shown(self, skip: str = "") -> str:
        """Write the point for people, without one axis."""
        return ", ".join(f"{axis.name} {axis.shown(value)}" for axis, value in self.values if axis.name != skip)


@dataclass(frozen=True)
class Grid:
    """Axes of a sweep; the first one varies fastest."""

    axes: tuple[Axis, ...]
    notes: tuple[str, ...] = ()

    @property
    def points(self) -> tuple[Point, ...]:
        """All points, those that differ only along the first axis next to each other."""
        rest = itertools.product(*(axis.values for axis in self.axes[1:]))
        return tuple(
            Point(tuple(zip(self.axes, (first, *others), strict=True)))
            for others in rest
            for first in self.axes[0].values
        )

    @property
    def main(self) -> Axis:
        """The axis that tables and figures run along: the first with more than one value."""
        return next((axis for axis in self.axes if len(axis.values) > 1), self.axes[0])


def make_grid(*, delay: str | None = None, rate: str | None = None, planes: str | None = None) -> Grid:
    """Span a grid; each text is one value, a list ``a,b,c`` or a range ``first:last:count`` with equal ratios.

    Values of a range are rounded: delays to whole ns, rates to whole Gb/s (whole bit/s below 1 Gb/s), planes to whole
    numbers, so ``1:8:4`` planes are 1, 2, 4, 8. What rounds to the same value counts once, and a note says so.

    Parameters
    ----------
    delay, rate, planes
        Texts, at least one of them.

    Raises
    ------
    InputError
        If there is none, or one cannot be read, is reversed, begins at zero, or asks for too many points.
    """
    notes: list[str] = []
    axes = [
        _axis("delay", "reconfiguration_delay", "ns", delay, _read_delay, notes),
        _axis("rate", "rate", "bps", rate, _read_rate, notes),
        _axis("planes", "planes", "", planes, _read_planes, notes),
    ]
    given = tuple(axis for axis in axes if axis is not None)
    if not given:
        raise InputError("nothing to sweep", field="sweep", maybe="give --delay 1us:100ms:11, --rate or --planes.")
    total = 1
    for axis in given:
        total *= len(axis.values)
    if total > MAX_POINTS:
        raise InputError(
            f"the grid has {total} points, more than {MAX_POINTS}", field="sweep", maybe="fewer values on an axis."
        )
    return Grid(given, tuple(notes))


def _axis(
    name: str, field: str, unit: str, text: str | None, read: Callable[[str, str], int], notes: list[str]
) -> Axis | None:
    if text is None:
        return None
    option = f"--{name}"
    if ":" in text:
        values, wanted = _range(text, option, read, _rounding(name))
    else:
        values = [read(part, option) for part in text.split(",")]
        wanted = len(values)
    if len(values) > MAX_POINTS:
        raise InputError(f"has {len(values)} values, more than {MAX_POINTS}", field=option)
    different = tuple(sorted(set(values)))
    if len(different) < wanted:
        notes.append(f"{option} {text}: {wanted} values asked for, {len(different)} are different")
    return Axis(name, field, unit, different)


def _range(
    text: str, option: str, read: Callable[[str, str], int], whole: Callable[[Fraction], int]
) -> tuple[list[int], int]:
    parts = text.split(":")
    where: dict[str, Any] = {"field": option, "value": text}
    if len(parts) != 3 or not all(part.strip() for part in parts):
        raise InputError("a range is first:last:count", **where, maybe="e.g. 1us:100ms:11, or a list 1us,10us.")
    first, last = read(parts[0], option), read(parts[1], option)
    try:
        count = int(parts[2])
    except ValueError:
        raise InputError("the count of a range must be a whole number", **where, maybe="e.g. 1us:100ms:11.") from None
    if count < 1:
        raise InputError("the count of a range must be at least 1", **where)
    if count > MAX_POINTS:
        raise InputError(f"the count of a range must be at most {MAX_POINTS}", **where)
    if first > last:
        raise InputError(
            "the range is reversed: the first value is the larger", **where, maybe=f"{parts[1]}:{parts[0]}:{parts[2]}."
        )
    if first == 0:
        raise InputError("a range with equal ratios cannot begin at zero", **where, maybe="a list: 0,1us,10us.")
    if count == 1 and first != last:
        raise InputError(
            "one point cannot be both ends of a range", **where, maybe=f"{parts[0]} alone, or a count of 2 or more."
        )
    if count == 1:
        return [first], 1
    ratio = last / first
    inner = [whole(Fraction(first * ratio ** (k / (count - 1)))) for k in range(1, count - 1)]
    return [first, *(min(max(value, first), last) for value in inner), last], count


def _rounding(name: str) -> Callable[[Fraction], int]:
    def gigabits(value: Fraction) -> int:
        # Odd rates make long transfers overflow the exact units of the simulator.
        return round(value / GIGABIT) * GIGABIT if value >= GIGABIT else round(value)

    return gigabits if name == "rate" else round


def _read_delay(text: str, option: str) -> int:
    return parse_time(text.strip(), field=option)


def _read_rate(text: str, option: str) -> int:
    return parse_rate(text.strip(), field=option)


def _read_planes(text: str, option: str) -> int:
    try:
        value = int(text.strip())
    except ValueError:
        raise InputError("must be a whole number", field=option, value=text, maybe="1,2,4 or 1:8:4.") from None
    if not 1 <= value <= 1024:
        raise InputError("must be at least 1 plane and at most 1024", field=option, value=text)
    return value
