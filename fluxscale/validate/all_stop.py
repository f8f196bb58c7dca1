"""The all-stop rule: whenever a circuit is set on the plane, the whole plane has been dark for the delay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.instance import CYCLIC, DARK
from fluxscale.validate.circuits import Rows, row_name
from fluxscale.validate.facts import Facts
from fluxscale.validate.violations import Finding

Ints = npt.NDArray[Any]


def check_all_stop(facts: Facts, rows: Rows) -> Iterator[Finding]:
    """FX011, FX010: planes with the all-stop rule are silent while circuits are set, and so they are across the period.

    A row that goes on with the circuit that both its ports held last sets nothing. With a preset or cyclic boundary the
    first circuit of two ports that held nothing yet was there from the start.
    """
    instance = facts.instance
    planes = np.flatnonzero(instance.plane_all_stop & (instance.plane_delay_ticks > 0)).tolist()
    if not planes or not len(rows.row):
        return
    before = _row_before(rows)
    held = _same_circuit(rows, before)
    from_start = (before[:, 0] < 0) & (before[:, 1] < 0) & (instance.boundary != DARK)
    last = _last_on_ports(rows)
    for plane in planes:
        mine = np.flatnonzero(rows.plane == plane)
        delay = int(instance.plane_delay_ticks[plane])
        yield _silence(facts, rows, mine, mine[~held[mine] & ~from_start[mine]], delay)
        if instance.boundary == CYCLIC:
            changed = mine[from_start[mine] & ~_same_circuit(rows, last)[mine]]
            yield _silence_across_period(facts, rows, plane, mine, changed, last, delay)


def _row_before(rows: Rows) -> Ints:
    """Row before each row on its two ports, int64 ``[R, 2]``; -1 where there is none."""
    before = np.full(len(rows.row), -1, dtype=np.int64)
    follows = np.flatnonzero(rows.port[1:] == rows.port[:-1]) + 1
    before[follows] = rows.row[follows - 1]
    return _by_row(rows, before)


def _last_on_ports(rows: Rows) -> Ints:
    """Last row on each of a row's two ports, int64 ``[R, 2]``."""
    ends = np.flatnonzero(np.append(rows.port[1:] != rows.port[:-1], True))
    entries = np.diff(ends, prepend=-1)
    return _by_row(rows, np.repeat(rows.row[ends], entries))


def _by_row(rows: Rows, value: Ints) -> Ints:
    """From a value for each entry of the ports to two values for each row."""
    by_row = np.empty((len(rows.number), 2), dtype=np.int64)
    first = rows.first
    by_row[rows.row[first], 0] = value[first]
    by_row[rows.row[~first], 1] = value[~first]
    return by_row


def _same_circuit(rows: Rows, other: Ints) -> Ints:
    same = (other >= 0) & (rows.circuit[other] == rows.circuit[:, None])
    return same[:, 0] & same[:, 1]


def _silence(facts: Facts, rows: Rows, mine: Ints, set_up: Ints, delay: int) -> Finding:
    """Rows of a plane that are set up although another row was up within the delay before."""
    order = mine[np.argsort(rows.up_from[mine], kind="stable")]
    latest = np.maximum.accumulate(rows.up_to[order])
    n_before = np.searchsorted(rows.up_from[order], rows.up_from[set_up], side="left")
    set_up, n_before = set_up[n_before > 0], n_before[n_before > 0]
    amount = latest[n_before - 1] + delay - rows.up_from[set_up]
    bad = np.flatnonzero(amount > 0)
    set_up, amount = set_up[bad], amount[bad]
    time = rows.up_from[set_up]

    def describe(k: int) -> tuple[str, str]:
        name = row_name(facts, rows, set_up[k])
        short = f"{facts.time(amount[k])} too soon after the plane was last in use"
        return name, f"{name} is set up at {facts.time(time[k])}, {short} (all-stop)"

    return Finding("FX011", time, amount, describe)


def _silence_across_period(
    facts: Facts, rows: Rows, plane: int, mine: Ints, changed: Ints, last: Ints, delay: int
) -> Finding:
    """Whether every first circuit that its ports do not hold at the end can be set before it is up again.

    That takes a silence of the whole plane, of the delay's length, between the last use of its ports in the iteration
    before (which is this one, a period earlier) and its own start. Of the silences that begin early enough the last one
    is the one to look at: all before it end before it begins.
    """
    up_from = np.concatenate([rows.up_from[mine] - facts.period, rows.up_from[mine]])
    up_to = np.concatenate([rows.up_to[mine] - facts.period, rows.up_to[mine]])
    order = np.argsort(up_from, kind="stable")
    silent_from, silent_to = np.maximum.accumulate(up_to[order])[:-1], up_from[order][1:]
    long = silent_to - silent_from >= delay
    silent_from, silent_to = silent_from[long], silent_to[long]
    free_from = rows.up_to[last[changed]].max(axis=1, initial=np.iinfo(np.int64).min) - facts.period
    until = rows.up_from[changed]
    which = np.searchsorted(silent_from, until - delay, side="right") - 1
    fits = which >= 0
    candidates = which[fits]
    fits[fits] = (
        np.minimum(silent_to[candidates], until[fits]) - np.maximum(silent_from[candidates], free_from[fits]) >= delay
    )
    late = changed[~fits][:1]
    time = rows.up_from[late]
    wrap = rows.up_to[mine].max(initial=0) + delay - facts.period - rows.up_from[mine].min(initial=0)
    amount = np.full(len(late), wrap, dtype=np.int64)

    def describe(k: int) -> tuple[str, str]:
        name = facts.instance.names.plane(plane)
        row = row_name(facts, rows, late[k])
        return (
            name,
            f"{name} has no dark time to set {row} for the next iteration: {facts.time(amount[k])} missing (all-stop)",
        )

    return Finding("FX010", time, amount, describe)
