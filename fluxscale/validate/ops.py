"""Rules about ops alone: start times, precedence, order on devices, iteration time, and the radix of the switches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.instance import CYCLIC
from fluxscale.validate.facts import LIMIT, Facts
from fluxscale.validate.violations import Finding

Ints = npt.NDArray[Any]


def check_start_times(facts: Facts) -> Finding:
    """FX001: no op starts before time 0, or absurdly late."""
    start = facts.start
    bad = np.flatnonzero((start < 0) | (start >= LIMIT))

    def describe(k: int) -> tuple[str, str]:
        name, when = facts.instance.names.op(int(bad[k])), facts.time(start[bad[k]])
        return name, f"{name} starts at {when}, " + (
            "before time 0" if start[bad[k]] < 0 else "later than any schedule can"
        )

    return Finding("FX001", start[bad], np.where(start[bad] < 0, -start[bad], start[bad] - LIMIT), describe)


def check_precedence(facts: Facts) -> Finding:
    """FX002: no op starts before all its predecessors have ended."""
    instance = facts.instance
    after = np.repeat(np.arange(instance.n_ops, dtype=np.int32), np.diff(instance.pred_indptr))
    return _one_after_the_other(facts, "FX002", instance.pred_index, after, "its predecessor {}")


def check_device_order(facts: Facts) -> Finding:
    """FX003: a device runs its ops one at a time, in its order."""
    order = facts.instance.device_ops
    follows = np.ones(len(order), dtype=bool)
    first = facts.instance.device_indptr[:-1]
    follows[first[first < len(order)]] = False
    later = np.flatnonzero(follows)
    return _one_after_the_other(facts, "FX003", order[later - 1], order[later], "{}, which its device runs first")


def _one_after_the_other(facts: Facts, code: str, before: Ints, after: Ints, what: str) -> Finding:
    amount = facts.end[before] - facts.start[after]
    bad = np.flatnonzero(amount > 0)
    amount = amount[bad]
    time = facts.start[after[bad]]

    def describe(k: int) -> tuple[str, str]:
        name = facts.instance.names.op(int(after[bad[k]]))
        other = what.format(facts.instance.names.op(int(before[bad[k]])))
        return name, f"{name} starts at {facts.time(time[k])}, {facts.time(amount[k])} before the end of {other}"

    return Finding(code, time, amount, describe)


def check_iteration_time(facts: Facts) -> Finding:
    """FX014: the claimed iteration time is the largest end (a period may be longer, but not negative)."""
    claimed, largest = facts.period, int(facts.end.max(initial=0))
    wrong = claimed < 0 if facts.instance.boundary == CYCLIC else claimed != largest
    time = np.full(int(wrong), largest, dtype=np.int64)

    def describe(k: int) -> tuple[str, str]:
        return "schedule", f"the iteration time is {facts.time(time[k])}, not {facts.time(claimed)} as claimed"

    return Finding("FX014", time, np.abs(time - claimed), describe)


def check_period(facts: Facts) -> Finding:
    """FX015: with a cyclic boundary no op ends after the period."""
    cyclic = facts.instance.boundary == CYCLIC
    bad = np.flatnonzero(facts.end > facts.period) if cyclic else np.zeros(0, dtype=np.int64)
    time = facts.end[bad]
    amount = time - facts.period

    def describe(k: int) -> tuple[str, str]:
        name = facts.instance.names.op(int(bad[k]))
        period = facts.time(facts.period)
        return name, f"{name} ends at {facts.time(time[k])}, {facts.time(amount[k])} after the period of {period}"

    return Finding("FX015", time, amount, describe)


def check_radix(facts: Facts) -> Iterator[Finding]:
    """FX016: no switch has more endpoints than ports."""
    instance = facts.instance
    for plane in np.flatnonzero(instance.plane_radix > 0).tolist():
        radix = int(instance.plane_radix[plane])
        attached = instance.attach[plane]
        endpoints = np.bincount(attached[attached >= 0])
        switches = np.flatnonzero(endpoints > radix)
        name = instance.names.plane(plane)

        def describe(
            k: int, name: str = name, radix: int = radix, switches: Ints = switches, n: Ints = endpoints
        ) -> tuple[str, str]:
            switch = f"switch {switches[k]} of {name}"
            return switch, f"{switch} has {n[switches[k]]} endpoints, more than its radix of {radix}"

        yield Finding("FX016", np.zeros(len(switches), dtype=np.int64), endpoints[switches] - radix, describe)
