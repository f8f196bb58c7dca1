"""Rules about legs: on a plane that reaches both ends, inside a row of their circuit, one at a time a direction."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.validate.circuits import Rows, circuit_keys
from fluxscale.validate.facts import Facts
from fluxscale.validate.violations import Finding

Ints = npt.NDArray[Any]


def leg_name(facts: Facts, leg: int) -> str:
    """A leg in words."""
    names, instance = facts.instance.names, facts.instance
    ends = f"{names.endpoint(int(instance.leg_tx[leg]))} -> {names.endpoint(int(instance.leg_rx[leg]))}"
    return f"{names.op(int(facts.leg_op[leg]))} ({ends} on {names.plane(int(facts.schedule.leg_plane[leg]))})"


def check_leg_planes(facts: Facts) -> Finding:
    """FX004: both ends of a leg hang on one switch of its plane. The checks below leave out legs that break this."""
    bad = np.flatnonzero(~facts.leg_ok)

    def describe(k: int) -> tuple[str, str]:
        op = facts.instance.names.op(int(facts.leg_op[bad[k]]))
        plane = int(facts.schedule.leg_plane[bad[k]])
        if not 0 <= plane < facts.instance.n_planes:
            return op, f"{op} is put on plane {plane}, which does not exist"
        return op, f"{leg_name(facts, int(bad[k]))} is put on a plane where its ends share no switch"

    return Finding("FX004", facts.start[facts.leg_op[bad]], np.zeros(len(bad), dtype=np.int64), describe)


def check_circuits_carry(facts: Facts, rows: Rows) -> Finding:
    """FX012: every leg lies, from start to end, inside one row of its circuit on its plane.

    Rows of one circuit do not overlap (else that is FX007), so only the last that is up by the leg's start can hold it.
    """
    legs = np.flatnonzero(facts.leg_ok)
    plane = facts.leg_plane[legs]
    wanted = circuit_keys(
        facts, plane, facts.instance.leg_tx[legs].astype(np.int64), facts.instance.leg_rx[legs].astype(np.int64)
    )
    start, end = facts.start[facts.leg_op[legs]], facts.end[facts.leg_op[legs]]
    # One list of rows and legs by circuit, then time; rows before legs at equal times.
    circuit = np.concatenate([rows.circuit, wanted])
    time = np.concatenate([rows.up_from, start])
    is_leg = np.repeat(np.array([False, True]), [len(rows.circuit), len(legs)])
    order = np.lexsort((np.concatenate([rows.up_to, end]), is_leg, time, circuit))
    place = np.where(is_leg[order], 0, np.arange(len(order)))
    latest = order[np.maximum.accumulate(place)] if len(order) else order
    leg = order[is_leg[order]] - len(rows.circuit)
    row = latest[is_leg[order]]
    none = is_leg[row] | (circuit[row] != wanted[leg])
    up_to = np.where(none, start[leg], rows.up_to[np.where(none, 0, row)] if len(rows.up_to) else start[leg])
    lacking = np.flatnonzero(none | (up_to < end[leg]))
    leg, up_to = leg[lacking], up_to[lacking]
    time, amount = start[leg], end[leg] - np.maximum(start[leg], up_to)

    def describe(k: int) -> tuple[str, str]:
        op = facts.instance.names.op(int(facts.leg_op[legs[leg[k]]]))
        span = f"from {facts.time(time[k])} to {facts.time(end[leg[k]])}"
        return (
            op,
            f"{leg_name(facts, int(legs[leg[k]]))} runs {span}, {facts.time(amount[k])} of it without its circuit",
        )

    return Finding("FX012", time, amount, describe)


def check_directions(facts: Facts) -> Finding:
    """FX013: transfers over one circuit in one direction run one after another."""
    legs = np.flatnonzero(facts.leg_ok)
    n = facts.instance.n_endpoints
    lane = (facts.leg_plane[legs] * n + facts.instance.leg_tx[legs]) * n + facts.instance.leg_rx[legs]
    start, end = facts.start[facts.leg_op[legs]], facts.end[facts.leg_op[legs]]
    order = np.lexsort((end, start, lane))
    lane, start, end, legs = lane[order], start[order], end[order], legs[order]
    amount = np.where(lane[1:] == lane[:-1], end[:-1] - start[1:], 0)
    bad = np.flatnonzero(amount > 0)
    amount, time = amount[bad], start[bad + 1]

    def describe(k: int) -> tuple[str, str]:
        op = facts.instance.names.op(int(facts.leg_op[legs[bad[k] + 1]]))
        other = facts.instance.names.op(int(facts.leg_op[legs[bad[k]]]))
        when = f"starts at {facts.time(time[k])}, {facts.time(amount[k])} before the end of {other}"
        return op, f"{leg_name(facts, int(legs[bad[k] + 1]))} {when} on the same circuit in the same direction"

    return Finding("FX013", time, amount, describe)
