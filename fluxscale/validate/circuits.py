"""Rules about circuit rows and their ports: well-formed, one circuit a port at a time, dark while a port is set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.instance import CYCLIC, DARK
from fluxscale.validate.facts import LIMIT, Facts, on_one_switch
from fluxscale.validate.violations import Finding

Ints = npt.NDArray[Any]


@dataclass(frozen=True)
class Rows:
    """The well-formed circuit rows, and their order on each port.

    Attributes
    ----------
    number
        int64 ``[R]``: row of the schedule.
    plane, tx, rx, up_from, up_to
        int64 ``[R]``: columns of those rows, times clipped.
    circuit
        int64 ``[R]``: equal for two rows of one circuit; a duplex circuit has no direction.
    port, row
        int64 ``[2R]``: for each port its rows by time; ports one after the other. A port is
        ``(plane * endpoints + endpoint) * 2``, plus 1 for the receive port of a simplex plane.
    first
        bool ``[2R]``: whether the entry is the row's ``tx`` end.
    """

    number: Ints
    plane: Ints
    tx: Ints
    rx: Ints
    up_from: Ints
    up_to: Ints
    circuit: Ints
    port: Ints
    row: Ints
    first: Ints


def well_formed(facts: Facts) -> tuple[Rows, list[Finding]]:
    """FX005, FX006: a row joins two endpoints of one switch, and lasts from a time >= 0 to one not before it.

    The other checks look at rows with good ends and an end not before their start.
    """
    instance, schedule = facts.instance, facts.schedule
    plane, tx, rx = (c.astype(np.int64) for c in (schedule.circuit_plane, schedule.circuit_tx, schedule.circuit_rx))
    up_from, up_to = schedule.circuit_up_from_ticks, schedule.circuit_up_to_ticks
    up_from, up_to = np.clip(up_from, -LIMIT, LIMIT), np.clip(up_to, -LIMIT, LIMIT)
    known = (plane >= 0) & (plane < instance.n_planes)
    for end in (tx, rx):
        known &= (end >= 0) & (end < instance.n_endpoints)
    ends_ok = known & (tx != rx)
    at = np.flatnonzero(ends_ok)
    ends_ok[at] = on_one_switch(instance, plane[at], tx[at], rx[at])
    bad_ends = np.flatnonzero(~ends_ok)
    backward = up_to < up_from
    bad_times = np.flatnonzero(backward | (up_from < 0) | (up_to >= LIMIT))

    def say_ends(k: int) -> tuple[str, str]:
        r = int(bad_ends[k])
        if not known[r]:
            return (
                f"circuit row {r}",
                f"circuit row {r} names plane {plane[r]}, endpoints {tx[r]} and {rx[r]}: no such ports",
            )
        where = (
            f"{instance.names.endpoint(tx[r])} -> {instance.names.endpoint(rx[r])} on {instance.names.plane(plane[r])}"
        )
        why = "joins an endpoint with itself" if tx[r] == rx[r] else "joins endpoints that share no switch"
        return f"circuit row {r}", f"circuit row {r} ({where}) {why}"

    def say_times(k: int) -> tuple[str, str]:
        r = int(bad_times[k])
        span = f"from {facts.time(up_from[r])} to {facts.time(up_to[r])}"
        return f"circuit row {r}", f"circuit row {r} is up {span}, which is no stretch of time within the schedule"

    found = [
        Finding("FX005", up_from[bad_ends], np.zeros(len(bad_ends), dtype=np.int64), say_ends),
        Finding("FX006", up_from[bad_times], _misfit(up_from[bad_times], up_to[bad_times]), say_times),
    ]
    good = np.flatnonzero(ends_ok & ~backward)
    return _in_port_order(facts, good, plane[good], tx[good], rx[good], up_from[good], up_to[good]), found


def _misfit(up_from: Ints, up_to: Ints) -> Ints:
    """By how much a row's times are wrong: ends before its start, starts before 0, or ends beyond the limit."""
    return np.maximum(np.maximum(up_from - up_to, -up_from), up_to - LIMIT)


def circuit_keys(facts: Facts, plane: Ints, tx: Ints, rx: Ints) -> Ints:
    """A number for each circuit: both directions of a duplex circuit share theirs."""
    n = facts.instance.n_endpoints
    swap = facts.instance.plane_duplex[plane] & (tx > rx)
    return (plane * n + np.where(swap, rx, tx)) * n + np.where(swap, tx, rx)


def _in_port_order(facts: Facts, number: Ints, plane: Ints, tx: Ints, rx: Ints, up_from: Ints, up_to: Ints) -> Rows:
    n = facts.instance.n_endpoints
    by_time = np.lexsort((up_to, up_from))
    tx_port = (plane * n + tx) * 2
    rx_port = (plane * n + rx) * 2 + np.where(facts.instance.plane_duplex[plane], 0, 1)
    ports = np.stack([tx_port[by_time], rx_port[by_time]], axis=1).ravel()
    rows = np.repeat(by_time, 2)
    by_port = np.argsort(ports, kind="stable")
    circuit = circuit_keys(facts, plane, tx, rx)
    return Rows(number, plane, tx, rx, up_from, up_to, circuit, ports[by_port], rows[by_port], by_port % 2 == 0)


def port_name(facts: Facts, port: int) -> str:
    """A port in words."""
    place, side = divmod(int(port), 2)
    plane, endpoint = divmod(place, facts.instance.n_endpoints)
    kind = "port" if facts.instance.plane_duplex[plane] else ("receive port" if side else "transmit port")
    return f"{kind} of {facts.instance.names.endpoint(endpoint)} on {facts.instance.names.plane(plane)}"


def row_name(facts: Facts, rows: Rows, row: int) -> str:
    """A circuit row in words."""
    names = facts.instance.names
    ends = f"{names.endpoint(int(rows.tx[row]))} -> {names.endpoint(int(rows.rx[row]))}"
    return f"circuit {ends} on {names.plane(int(rows.plane[row]))} (row {rows.number[row]})"


def check_ports(facts: Facts, rows: Rows) -> Iterator[Finding]:
    """FX007, FX008: rows on a port follow one another, two circuits on it with the delay between (per-port rule).

    Neighbours suffice: where they follow one another in time, so do all others.
    """
    later = np.flatnonzero(rows.port[1:] == rows.port[:-1]) + 1
    before, after, port = rows.row[later - 1], rows.row[later], rows.port[later]
    gap = rows.up_from[after] - rows.up_to[before]
    plane = rows.plane[after]
    needed = np.where(facts.instance.plane_all_stop[plane], 0, facts.instance.plane_delay_ticks[plane])
    needed[rows.circuit[before] == rows.circuit[after]] = 0

    def finding(code: str, bad: Ints, amount: Ints, text: str) -> Finding:
        time = rows.up_from[after[bad]]

        def describe(k: int) -> tuple[str, str]:
            name = port_name(facts, int(port[bad[k]]))
            one, two = (row_name(facts, rows, int(side[bad[k]])) for side in (before, after))
            return name, f"{name} at {facts.time(time[k])}: " + text.format(one, two, facts.time(amount[k]))

        return Finding(code, time, amount, describe)

    overlap = np.flatnonzero(gap < 0)
    yield finding("FX007", overlap, -gap[overlap], "{1} comes up {2} before {0} goes down")
    short = np.flatnonzero((gap >= 0) & (gap < needed))
    yield finding("FX008", short, needed[short] - gap[short], "{1} comes up {2} too soon after {0}")


def check_dark_start(facts: Facts, rows: Rows) -> Finding:
    """FX009: with a dark boundary no circuit is up before the delay has passed."""
    delay = facts.instance.plane_delay_ticks[rows.plane]
    dark = facts.instance.boundary == DARK
    bad = np.flatnonzero(rows.up_from < delay) if dark else np.zeros(0, dtype=np.int64)
    time = rows.up_from[bad]
    amount = delay[bad] - time

    def describe(k: int) -> tuple[str, str]:
        name = row_name(facts, rows, int(bad[k]))
        return name, f"{name} is up at {facts.time(time[k])}, {facts.time(amount[k])} too soon after the dark start"

    return Finding("FX009", time, amount, describe)


def check_wrap(facts: Facts, rows: Rows) -> Finding:
    """FX010: with a cyclic boundary a port has time to change from its last circuit to the next iteration's first."""
    starts = np.flatnonzero(np.r_[True, rows.port[1:] != rows.port[:-1]]) if len(rows.port) else rows.port
    if facts.instance.boundary != CYCLIC:
        starts = starts[:0]
    ends = np.r_[starts[1:], len(rows.port)][: len(starts)] - 1
    first, last, port = rows.row[starts], rows.row[ends], rows.port[starts]
    plane = rows.plane[first]
    needed = np.where(facts.instance.plane_all_stop[plane], 0, facts.instance.plane_delay_ticks[plane])
    needed[rows.circuit[first] == rows.circuit[last]] = 0
    amount = rows.up_to[last] + needed - (rows.up_from[first] + facts.period)
    bad = np.flatnonzero(amount > 0)
    amount, time = amount[bad], rows.up_to[last[bad]]

    def describe(k: int) -> tuple[str, str]:
        name = port_name(facts, int(port[bad[k]]))
        one, two = (row_name(facts, rows, int(side[bad[k]])) for side in (last, first))
        return name, f"{name}: {two} of the next iteration comes up {facts.time(amount[k])} too soon after {one}"

    return Finding("FX010", time, amount, describe)
