"""Plain-Python twins of the checker: a schedule made op by op, and a check that looks at every single tick."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fluxscale.instance.instance import CYCLIC, DARK, Instance
from fluxscale.schedule.schedule import Schedule

Port = tuple[int, int, str]
Circuit = tuple[int, int, int]


def circuit_of(instance: Instance, plane: int, tx: int, rx: int) -> Circuit:
    return (plane, min(tx, rx), max(tx, rx)) if instance.plane_duplex[plane] else (plane, tx, rx)


def ports_of(instance: Instance, plane: int, tx: int, rx: int) -> list[Port]:
    side = ("both", "both") if instance.plane_duplex[plane] else ("tx", "rx")
    return [(plane, tx, side[0]), (plane, rx, side[1])]


def preds_of(instance: Instance, op: int) -> list[int]:
    preds = instance.pred_index[instance.pred_indptr[op] : instance.pred_indptr[op + 1]].tolist()
    for d in range(instance.n_devices):
        mine = instance.device_ops[instance.device_indptr[d] : instance.device_indptr[d + 1]].tolist()
        preds += [before for before, after in itertools.pairwise(mine) if after == op]
    return preds


def legs_of(instance: Instance, op: int) -> range:
    return range(int(instance.leg_indptr[op]), int(instance.leg_indptr[op + 1]))


def ticks_of(instance: Instance, op: int, leg_plane: Sequence[int]) -> int:
    if instance.op_fixed_ticks[op] >= 0:
        return int(instance.op_fixed_ticks[op])
    slowest = 0
    for plane in [leg_plane[leg] for leg in legs_of(instance, op)]:
        ns, left = divmod(int(instance.op_bytes[op]) * 8 * 10**9, int(instance.plane_rate_bps[plane]))
        ns += left > 0
        slowest = max(slowest, int(instance.plane_latency_ticks[plane]) + -(-ns // instance.tick_ns))
    return slowest


@dataclass
class _Plane:
    """What a plane holds while a plan grows: its legs so far and, with the all-stop rule, its epochs."""

    legs: list[tuple[int, int, int, int, int]] = field(default_factory=list)  # tx, rx, start, end, epoch
    openings: list[int] = field(default_factory=list)


def naive_schedule(instance: Instance, rng: np.random.Generator, most_slack: int = 0) -> Schedule:
    """Append ops in a random order that precedence allows, each as early as pairwise gaps allow (plus slack).

    Per-port planes know one rule only: on each port, two legs with different circuits are a delay apart. The rows are
    then the legs' own times, joined where they overlap.
    """
    n = instance.n_ops
    waiting, order = set(range(n)), []
    while waiting:
        ready = [op for op in sorted(waiting) if not waiting & set(preds_of(instance, op))]
        order.append(ready[int(rng.integers(len(ready)))])
        waiting.remove(order[-1])
    planes = [_Plane() for _ in range(instance.n_planes)]
    start, end, leg_plane = [0] * n, [0] * n, [0] * instance.n_legs
    for op in order:
        mine = legs_of(instance, op)
        for leg, plane in zip(mine, _draw_planes(instance, mine, rng), strict=True):
            leg_plane[leg] = plane
        at = max((end[p] for p in preds_of(instance, op)), default=0) + int(rng.integers(most_slack + 1))
        uses = [(leg_plane[leg], int(instance.leg_tx[leg]), int(instance.leg_rx[leg])) for leg in mine]
        for plane, tx, rx in uses:
            delay = int(instance.plane_delay_ticks[plane])
            at = max(at, delay if instance.boundary == DARK else 0)
            for other_tx, other_rx, _, other_end, _ in planes[plane].legs:
                gap = _gap(instance, plane, (tx, rx), (other_tx, other_rx))
                at = max(at, other_end + gap if gap is not None else 0)
        for plane in {use[0] for use in uses}:
            if instance.plane_all_stop[plane]:
                at = max(at, _epoch(instance, planes[plane], plane, [use[1:] for use in uses if use[0] == plane]))
        start[op], end[op] = at, at + ticks_of(instance, op, leg_plane)
        for plane, tx, rx in uses:
            planes[plane].legs.append((tx, rx, start[op], end[op], len(planes[plane].openings) - 1))
    rows = [row for p, plane in enumerate(planes) for row in _rows(instance, p, plane)]
    time = max(end, default=0) + (int(instance.plane_delay_ticks.max()) if instance.boundary == CYCLIC else 0)
    return schedule_of(instance, start, leg_plane, rows, time)


def schedule_of(
    instance: Instance,
    start: Sequence[int],
    leg_plane: Sequence[int],
    rows: Sequence[tuple[int, int, int, int, int]],
    time: int,
) -> Schedule:
    """A schedule from lists; a row is ``(plane, tx, rx, up_from, up_to)``."""
    columns = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    return Schedule(
        instance.sha256, np.array(start, dtype=np.int64), np.array(leg_plane, dtype=np.int16), *columns, time
    )


def _draw_planes(instance: Instance, legs: range, rng: np.random.Generator) -> tuple[int, ...]:
    choices = list(itertools.product(range(instance.n_planes), repeat=len(legs)))
    for k in rng.permutation(len(choices)).tolist():
        uses = [
            (p, int(instance.leg_tx[leg]), int(instance.leg_rx[leg])) for p, leg in zip(choices[k], legs, strict=True)
        ]
        reach = all(instance.attach[p, tx] == instance.attach[p, rx] >= 0 for p, tx, rx in uses)
        clash = any(
            a[0] == b[0] and _gap(instance, a[0], a[1:], b[1:]) is not None for a, b in itertools.combinations(uses, 2)
        )
        if reach and not clash:
            return choices[k]
    raise AssertionError("no plane choice fits")


def _gap(instance: Instance, plane: int, one: tuple[int, int], two: tuple[int, int]) -> int | None:
    """Ticks that must lie between two legs of a plane; None where they may overlap."""
    if one == two:
        return 0
    if circuit_of(instance, plane, *one) == circuit_of(instance, plane, *two):
        return None
    shared = set(ports_of(instance, plane, *one)) & set(ports_of(instance, plane, *two))
    return int(instance.plane_delay_ticks[plane]) if shared else None


def _epoch(instance: Instance, state: _Plane, plane: int, new: list[tuple[int, int]]) -> int:
    """Opening of the epoch for some new circuits: the last one if they fit it, else another after a silence."""
    if not state.openings:
        state.openings.append(int(instance.plane_delay_ticks[plane]) if instance.boundary == DARK else 0)
    last = len(state.openings) - 1
    held = [(tx, rx) for tx, rx, _, _, epoch in state.legs if epoch == last]
    if any((_gap(instance, plane, a, b) or 0) > 0 for a in held for b in new):
        silent_from = max(end for _, _, _, end, _ in state.legs)
        state.openings.append(silent_from + int(instance.plane_delay_ticks[plane]))
    return state.openings[-1]


def _rows(instance: Instance, plane: int, state: _Plane) -> list[tuple[int, int, int, int, int]]:
    """Rows of a plane: per-port, the times of its legs; all-stop, from the opening to the last leg of the epoch."""
    rows: list[list[int]] = []
    for tx, rx, start, end, epoch in sorted(state.legs, key=lambda leg: leg[2:]):
        _, a, b = circuit_of(instance, plane, tx, rx)
        all_stop = instance.plane_all_stop[plane] and instance.plane_delay_ticks[plane]
        up_from = state.openings[epoch] if all_stop else start
        same = [row for row in rows if row[1:3] == [a, b] and (row[3] == up_from if all_stop else up_from < row[4])]
        if same:
            same[-1][4] = max(same[-1][4], end)
        else:
            rows.append([plane, a, b, up_from, end])
    return [tuple(row) for row in rows]


def faults(instance: Instance, schedule: Schedule) -> list[str]:
    """All that is wrong, found tick by tick (rows and transfers must last at least a tick)."""
    found: list[str] = []
    n, period = instance.n_ops, int(schedule.iteration_time_ticks)
    plane_of, start = schedule.leg_plane.tolist(), schedule.op_start_ticks.tolist()
    for leg, p in enumerate(plane_of):
        if not 0 <= p < instance.n_planes:
            return [f"leg {leg}: no such plane"]
        ends = instance.attach[p, instance.leg_tx[leg]], instance.attach[p, instance.leg_rx[leg]]
        found += [f"leg {leg}: no common switch"] if ends[0] < 0 or ends[0] != ends[1] else []
    end = [start[op] + ticks_of(instance, op, plane_of) for op in range(n)]
    for op in range(n):
        found += [f"op {op} before {p}" for p in preds_of(instance, op) if start[op] < end[p]]
        found += [f"op {op} before 0"] if start[op] < 0 else []
        found += [f"op {op} after the period"] if instance.boundary == CYCLIC and end[op] > period else []
    if instance.boundary != CYCLIC and period != max(end, default=0):
        found.append("iteration time")
    rows = list(
        zip(
            schedule.circuit_plane.tolist(),
            schedule.circuit_tx.tolist(),
            schedule.circuit_rx.tolist(),
            schedule.circuit_up_from_ticks.tolist(),
            schedule.circuit_up_to_ticks.tolist(),
            strict=True,
        )
    )
    for r, (plane, tx, rx, up_from, up_to) in enumerate(rows):
        ok = 0 <= plane < instance.n_planes and tx != rx and min(tx, rx) >= 0 and max(tx, rx) < instance.n_endpoints
        if not ok or not instance.attach[plane, tx] == instance.attach[plane, rx] >= 0 or not 0 <= up_from < up_to:
            return [*found, f"row {r} malformed"]
    carried: dict[tuple[int, int, int, int], int] = defaultdict(int)
    for op in range(n):
        for leg in legs_of(instance, op):
            lane = (plane_of[leg], int(instance.leg_tx[leg]), int(instance.leg_rx[leg]))
            wanted = circuit_of(instance, *lane)
            inside = [
                r for r in rows if circuit_of(instance, *r[:3]) == wanted and r[3] <= start[op] and end[op] <= r[4]
            ]
            found += [] if inside else [f"leg {leg} without a circuit"]
            for t in range(start[op], end[op]):
                carried[*lane, t] += 1
    found += [f"two transfers on {lane}" for lane, count in carried.items() if count > 1]
    return found + _row_faults(instance, rows, period)


def _row_faults(instance: Instance, rows: list[tuple[int, int, int, int, int]], period: int) -> list[str]:
    found: list[str] = []
    cyclic = instance.boundary == CYCLIC

    def when(t: int) -> int:
        return t % period if cyclic and period > 0 else t

    at_port: dict[tuple[Port, int], list[int]] = defaultdict(list)
    at_plane: dict[tuple[int, int], list[int]] = defaultdict(list)
    for r, (plane, tx, rx, up_from, up_to) in enumerate(rows):
        for t in range(up_from, up_to):
            at_plane[plane, when(t)].append(r)
            for port in ports_of(instance, plane, tx, rx):
                at_port[port, when(t)].append(r)
    found += [f"rows {up} share {where}" for where, up in at_port.items() if len(up) > 1]
    circuit = [circuit_of(instance, *row[:3]) for row in rows]
    for r, (plane, tx, rx, up_from, _) in enumerate(rows):
        delay = int(instance.plane_delay_ticks[plane])
        if instance.boundary == DARK and up_from < delay:
            found.append(f"row {r} in the dark")
        dark = range(up_from - delay, up_from)
        ports = ports_of(instance, plane, tx, rx)
        if not instance.plane_all_stop[plane]:
            others = [q for t in dark for port in ports for q in at_port[port, when(t)] if circuit[q] != circuit[r]]
            found += [f"row {r} too soon after {q}" for q in others]
            continue
        users = [[q for q, row in enumerate(rows) if port in ports_of(instance, *row[:3])] for port in ports]
        before = [[q for q in mine if rows[q][3:] < rows[r][3:]] for mine in users]
        if all(before) and all(circuit[max(mine, key=lambda q: rows[q][3:])] == circuit[r] for mine in before):
            continue
        if any(before) or instance.boundary == DARK:
            found += [f"plane {plane} not silent before row {r}" for t in dark if at_plane[plane, t]]
        elif cyclic:
            last = [max(mine, key=lambda q: rows[q][3:]) for mine in users]
            if all(circuit[q] == circuit[r] for q in last):
                continue
            free = max(rows[q][4] for q in last) - period
            windows = range(free, up_from - delay + 1)
            if not any(all(not at_plane[plane, when(t)] for t in range(w, w + delay)) for w in windows):
                found.append(f"row {r} cannot be set for the next iteration")
    return found
