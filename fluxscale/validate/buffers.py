"""The rule about NIC buffers: with eager hand-over, no transmit port ever holds more than the limit.

Worked out from the formula of one leg's buffer, apart from the code that measures schedules: at tick ``t`` a leg of
amount ``a``, released at ``r`` and started at ``s``, holds ``max(0, min(a, h (t - r)) - l max(0, t - s))`` with
hand-over rate ``h`` and line rate ``l``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.validate.facts import Facts
from fluxscale.validate.violations import Finding

Ints = npt.NDArray[Any]

MILLIBITS = 8000
"""Millibits in a byte: 1 Mbit/s is one millibit per ns, so rates (whole Mbit/s) and amounts are integers."""

LEGS_AT_ONCE = 1_000_000
"""Legs whose curves are in memory at a time."""


def check_buffers(facts: Facts) -> Finding:
    """FX017: no transmit port's eager buffer is above the limit; reported once a port, where it is fullest.

    Parameters
    ----------
    facts
        The schedule beside its instance.

    Raises
    ------
    InputError
        If a port sends more than 2**62 millibits in one iteration.
    """
    instance = facts.instance
    none = np.zeros(0, dtype=np.int64)
    legs = np.flatnonzero(facts.leg_ok)
    limit = instance.nic_buffer_bytes * MILLIBITS
    if not instance.nic_buffer_bytes or not len(legs):
        return Finding("FX017", none, none, lambda _: ("", ""))
    port, release, start, amount, handing, sending = _columns(facts, legs)
    order = np.argsort(port, kind="stable")
    port, release, start, amount = port[order], release[order], start[order], amount[order]
    handing, sending = handing[order], sending[order]
    first = np.flatnonzero(np.r_[True, port[1:] != port[:-1]])
    full_port: list[int] = []
    full_at: list[int] = []
    full_by: list[int] = []
    stops = np.r_[first[1:], len(port)]
    at = 0
    while at < len(first):
        # whole ports, as many as fit
        last = max(at + 1, int(np.searchsorted(stops, first[at] + LEGS_AT_ONCE, side="right")))
        span = slice(int(first[at]), int(stops[last - 1]))
        columns = (release[span], start[span], amount[span], handing[span], sending[span])
        for p, time, level in zip(*_fullest(port[span], *columns, limit), strict=True):
            full_port.append(int(p))
            full_at.append(int(time))
            full_by.append(-(-(int(level) - limit) // MILLIBITS))
        at = last

    def describe(k: int) -> tuple[str, str]:
        plane, endpoint = divmod(full_port[k], instance.n_endpoints)
        name = f"transmit port of {instance.names.endpoint(endpoint)} on {instance.names.plane(plane)}"
        held = instance.nic_buffer_bytes + full_by[k]
        return (
            name,
            f"the NIC buffer of the {name} holds {held} bytes at {facts.time(full_at[k])}, "
            f"{full_by[k]} more than the limit of {instance.nic_buffer_bytes}",
        )

    return Finding(
        "FX017", np.array(full_at, dtype=np.int64), np.array(full_by, dtype=np.int64), describe
    )  # fmt: skip


def _columns(facts: Facts, legs: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
    """Port, release, start, amount, hand-over rate and line rate of each leg."""
    instance = facts.instance
    op, plane = facts.leg_op[legs], facts.leg_plane[legs]
    rate = np.maximum(instance.plane_rate_bps // 10**6, 1) * instance.tick_ns
    handing = np.maximum(instance.injection_rate_bps // 10**6, 1) * instance.tick_ns
    release = np.zeros(instance.n_ops, dtype=np.int64)
    with_preds = np.flatnonzero(np.diff(instance.pred_indptr))
    if len(with_preds):
        ends = np.maximum.reduceat(facts.end[instance.pred_index], instance.pred_indptr[with_preds])
        release[with_preds] = np.maximum(ends, 0)
    given = (instance.op_fixed_ticks[op] >= 0) & (instance.op_bytes[op] == 0)
    ticks = (facts.end - facts.start)[op]
    rough = np.where(given, ticks * rate[plane].astype(np.float64), instance.op_bytes[op] * float(MILLIBITS))
    port = plane * instance.n_endpoints + instance.leg_tx[legs]
    if np.bincount(port, weights=rough).max() >= 2.0**62:
        raise InputError("a port sends more than 2**62 millibits in one iteration: too much to check its buffer")
    amount = np.where(given, ticks * rate[plane], instance.op_bytes[op] * MILLIBITS)
    # Where a transfer starts before its release (which is a violation of its own) it hands over from its start on.
    release = np.minimum(release[op], facts.start[op])
    return port, release, facts.start[op], amount, handing[plane], rate[plane]


def _fullest(
    port: Ints, release: Ints, start: Ints, amount: Ints, handing: Ints, sending: Ints, limit: int
) -> tuple[Ints, Ints, Ints]:
    """Ports whose buffer exceeds the limit: port, the first tick at which it is fullest, millibits it holds then."""
    keep = (amount > 0) & ((start > release) | (handing > sending))
    if not keep.any():
        return port[:0], port[:0], port[:0]
    port, release, start, amount = port[keep], release[keep], start[keep], amount[keep]
    handing, sending = handing[keep], sending[keep]
    points, level = _curve(release, start, amount, handing, sending)
    # A leg is at most its own peak, from its release until it is gone. Ports that this leaves below are done with.
    highest = level.max(axis=1, initial=0)
    rough = _sum_of(port, points[:, [0, -1]], np.stack([highest, -highest], axis=1), steps=True)
    maybe = np.isin(port, rough[0][rough[2] > limit])
    if not maybe.any():
        return port[:0], port[:0], port[:0]
    points, level = points[maybe], level[maybe]
    width = np.diff(points, axis=1)
    slope = np.where(width > 0, np.diff(level, axis=1) // np.maximum(width, 1), 0)
    bend = np.diff(slope, axis=1, prepend=0, append=0)
    ports, times, levels = _sum_of(port[maybe], points, bend, steps=False)
    over = levels > limit
    return ports[over], times[over], levels[over]


def _curve(release: Ints, start: Ints, amount: Ints, handing: Ints, sending: Ints) -> tuple[Ints, Ints]:
    """Each leg's buffer at the ticks between which it changes evenly, both int64 ``[k, 8]``, times ascending."""
    whole = amount // handing
    wait = start - release
    # First tick at which nothing is left: handed over and sent, or, when handing over is slower, caught up with.
    done = np.maximum(start + -(-amount // sending), release + -(-amount // handing))
    slower = handing < sending
    caught = start + -(-(handing * np.minimum(wait, whole)) // np.maximum(sending - handing, 1))
    gone = np.where(slower & (caught <= release + whole), caught, done)
    gone = np.maximum(gone, release)
    ticks = [release, release + whole, release + whole + 1, start, gone - 1, gone]
    ticks += [start + amount // sending, start + amount // sending + 1]
    points = np.stack([np.clip(t, release, gone) for t in ticks], axis=1)
    points.sort(axis=1)
    since = points - release[:, None]
    handed = np.where(since > whole[:, None], amount[:, None], handing[:, None] * np.minimum(since, whole[:, None]))
    ticks_sent = np.clip(points - start[:, None], 0, (amount // sending + 1)[:, None])
    return points, np.maximum(0, handed - sending[:, None] * ticks_sent)


def _sum_of(port: Ints, points: Ints, change: Ints, *, steps: bool) -> tuple[Ints, Ints, Ints]:
    """Sum of the legs' curves on each port: port, first tick of its largest value, that value.

    ``change`` int64 like ``points``: by how much a leg's curve jumps (``steps``) or its slope changes at each point.
    """
    ports, times = np.repeat(port, points.shape[1]), points.ravel()
    order = np.lexsort((times, ports))
    ports, times, change = ports[order], times[order], change.ravel()[order]
    new = np.r_[True, ports[1:] != ports[:-1]]
    value = np.cumsum(change)
    if not steps:
        width = np.diff(times, append=times[-1:])
        width[:-1][new[1:]] = 0
        value = np.cumsum(value * width) - value * width
    first = np.flatnonzero(new)
    last_at_tick = np.r_[(times[1:] != times[:-1]) | new[1:], True]
    value = np.where(last_at_tick, value, np.iinfo(np.int64).min)
    peak = np.maximum.reduceat(value, first)
    at = np.where(value == np.repeat(peak, np.diff(np.r_[first, len(ports)])), times, np.iinfo(np.int64).max)
    return ports[first], np.minimum.reduceat(at, first), peak
