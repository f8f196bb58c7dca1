"""Text with a unit <-> integers: times in ticks (ns), sizes in bytes, rates in bits per second.

Everything inside fluxscale is an integer; this module is where text becomes one. Decimal prefixes are powers of 1000
(k, M, G, T), binary ones powers of 1024 (Ki, Mi, Gi, Ti). ``B`` is a byte and ``b`` or ``bit`` a bit, and a rate in
bytes where bits are asked for is refused rather than multiplied by eight: a factor of eight in a link rate is the
mistake that nobody notices.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from fluxscale.errors import InputError, did_you_mean

MAX_TICKS = 2**62
"""Largest time that an instance may reach; beyond it 64-bit sums could overflow."""

_NUMBER = re.compile(r"\s*([+-]?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?)\s*([^\d\s].*?)?\s*$")
_TIME = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
_PREFIX = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_SIZE = {f"{p}B": f for p, f in (_PREFIX | _BINARY).items()}
_RATE = {f"{p}{u}": f for p, f in (_PREFIX | _BINARY).items() for u in ("bps", "bit/s", "b/s")}
_BYTE_RATE = {f"{p}{u}": f for p, f in (_PREFIX | _BINARY).items() for u in ("B/s", "Bps")}
_FLOPS = {f"{p}FLOPS": f for p, f in _PREFIX.items()} | {f"{p}FLOP/s": f for p, f in _PREFIX.items()}


def _split(text: str, kind: str, where: dict[str, Any]) -> tuple[Fraction, str]:
    if len(text) > 64:
        raise InputError(f"{kind} is too long", value=text, **where)
    match = _NUMBER.match(text)
    if not match:
        raise InputError(f"cannot read {kind}", value=text, maybe=f"{_EXAMPLE[kind]}.", **where)
    return Fraction(match.group(1).replace("_", "")), (match.group(2) or "").strip()


_EXAMPLE = {
    "a time": 'write a number with a unit, e.g. "25us" or "10ms"',
    "a size": 'write a number with a unit, e.g. "16MiB" or "20MB"',
    "a rate": 'write a number with a unit, e.g. "400Gbps"',
    "a byte rate": 'write a number with a unit, e.g. "450GB/s"',
    "a compute rate": 'write a number with a unit, e.g. "989TFLOPS"',
}


def _convert(
    value: object,
    kind: str,
    table: dict[str, int],
    where: dict[str, Any],
    other: dict[str, int] | None = None,
    other_maybe: str = "",
) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise InputError(
            f"{kind} must be a number or a text with a unit", value=value, maybe=f"{_EXAMPLE[kind]}.", **where
        )
    if isinstance(value, (int, float)):
        try:
            return Fraction(value)
        except (ValueError, OverflowError):
            raise InputError(f"{kind} must be a finite number", value=value, **where) from None
    number, unit = _split(value, kind, where)
    if unit == "":
        return number
    if unit in table:
        return number * table[unit]
    if other and unit in other:
        raise InputError(f"{kind} has the wrong unit {unit!r}", value=value, maybe=other_maybe, **where)
    raise InputError(f"unknown unit {unit!r} of {kind}", value=value, maybe=did_you_mean(unit, table), **where)


def parse_time(value: object, *, allow_zero: bool = True, **where: Any) -> int:
    """Read a time into ns (integer; numbers without a unit are ns). Refuses fractions of a ns and overflow.

    Parameters
    ----------
    value
        An integer of ns, or text such as ``"25us"``.
    allow_zero
        Whether 0 is accepted.
    where
        ``file`` and ``field`` for the error message.
    """
    ns = _convert(value, "a time", _TIME, where)
    return _checked(ns, value, "a time", "ns", allow_zero, where, maximum=MAX_TICKS)


def parse_size(value: object, *, allow_zero: bool = False, **where: Any) -> int:
    """Read a size into bytes (numbers without a unit are bytes)."""
    size = _convert(
        value,
        "a size",
        _SIZE,
        where,
        _RATE | {f"{p}b": f for p, f in _PREFIX.items()} | {f"{p}bit": f for p, f in _PREFIX.items()},
        "sizes are in bytes (B, MB, MiB), not bits.",
    )
    return _checked(size, value, "a size", "bytes", allow_zero, where, maximum=2**60)


def parse_rate(value: object, *, allow_zero: bool = False, **where: Any) -> int:
    """Read a link rate into bits per second (numbers without a unit are bits per second)."""
    rate = _convert(
        value, "a rate", _RATE, where, _BYTE_RATE | _SIZE, 'link rates are in bits per second: "400Gbps" is 50 GB/s.'
    )
    return _checked(rate, value, "a rate", "bit/s", allow_zero, where, maximum=2**60)


def parse_byte_rate(value: object, *, allow_zero: bool = False, **where: Any) -> int:
    """Read a memory-like rate into bytes per second, e.g. of NVLink."""
    rate = _convert(
        value, "a byte rate", _BYTE_RATE, where, _RATE | _SIZE, 'this rate is in bytes per second, e.g. "450GB/s".'
    )
    return _checked(rate, value, "a byte rate", "byte/s", allow_zero, where, maximum=2**60)


def parse_flops(value: object, **where: Any) -> int:
    """Read a compute rate into FLOP per second."""
    rate = _convert(value, "a compute rate", _FLOPS, where)
    return _checked(rate, value, "a compute rate", "FLOP/s", False, where, maximum=10**24)


def _checked(
    number: Fraction, value: object, kind: str, unit: str, allow_zero: bool, where: dict[str, Any], *, maximum: int
) -> int:
    if number < 0 or (number == 0 and not allow_zero):
        raise InputError(f"{kind} must be {'zero or more' if allow_zero else 'more than zero'}", value=value, **where)
    if number.denominator != 1:
        raise InputError(f"{kind} is not a whole number of {unit}", value=value, maybe=f"round it to {unit}.", **where)
    if number > maximum:
        raise InputError(f"{kind} does not fit 64 bits (limit {maximum} {unit})", value=value, **where)
    return int(number)


def format_time(ns: int) -> str:
    """Write a time for people: at most five significant digits and a unit."""
    for unit, factor in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if abs(ns) >= factor:
            return f"{ns / factor:.5g} {unit}"
    return f"{ns} ns"


def format_size(size: int) -> str:
    """Write a size for people, in binary units."""
    for unit, factor in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(size) >= factor:
            return f"{size / factor:.4g} {unit}"
    return f"{size} B"


def format_rate(bps: int) -> str:
    """Write a link rate for people."""
    for unit, factor in (("Tbps", 10**12), ("Gbps", 10**9), ("Mbps", 10**6), ("kbps", 10**3)):
        if bps >= factor:
            return f"{bps / factor:g} {unit}"
    return f"{bps} bps"
