"""Options of the comparison schedulers: times and words, refused in one line where they are no good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fluxscale.errors import InputError, did_you_mean
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance
from fluxscale.units import parse_time


def ticks_option(instance: Instance, options: dict[str, Any], key: str, default: int) -> int:
    """Read a time option into ticks; numbers are ns.

    Parameters
    ----------
    instance
        Says how long a tick is.
    options
        What the user gave.
    key
        Name of the option.
    default
        Ticks where it is absent.

    Raises
    ------
    InputError
        If it is no time of at least one tick.
    """
    if key not in options:
        return default
    value = options[key]
    ns = parse_time(value, field=f"solver.{key}")
    if ns < instance.tick_ns or ns % instance.tick_ns:
        raise InputError(
            f"must be a whole number of ticks of {instance.tick_ns} ns, at least one",
            field=f"solver.{key}",
            value=value,
        )
    return ns // instance.tick_ns


def word_option(options: dict[str, Any], key: str, known: Sequence[str], default: str) -> str:
    """Read an option that is one of a few words.

    Raises
    ------
    InputError
        If it is another word.
    """
    value = options.get(key, default)
    if value not in known:
        raise InputError("unknown value", field=f"solver.{key}", value=value, maybe=did_you_mean(str(value), known))
    return str(value)


def typical_transfer_ticks(instance: Instance) -> int:
    """Median duration of the transfers over their legs, at least 1 tick."""
    derived = derive(instance)
    if instance.n_legs == 0:
        return 1
    return max(1, int(np.median(derived.min_ticks[derived.leg_op])))


def slot_lengths(instance: Instance, most: int = 10) -> list[int]:
    """Slot lengths worth trying, ascending: multiples of the delay, and the delay plus parts of a typical transfer.

    Parameters
    ----------
    instance
        The problem.
    most
        How many at most.
    """
    delay = int(instance.plane_delay_ticks.max(initial=0))
    typical = typical_transfer_ticks(instance)
    slots = {delay * tenths // 10 for tenths in (11, 13, 16, 20, 40, 100, 300, 1000)} if delay else set()
    slots |= {delay + max(1, typical * part // 2) for part in (1, 2, 4)}
    chosen = sorted(slot for slot in slots if slot > delay)
    # The paper's duty cycle of 90 % stays; beyond the limit the longest go, which wait for the longest.
    return chosen[:most] if delay * 10 in chosen[:most] or not delay else sorted({*chosen[: most - 1], delay * 10})
