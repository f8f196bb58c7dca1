"""Plain-Python twins of replay and buffers, and small random instances with a valid schedule each: slow and obvious."""

from __future__ import annotations

import heapq
import itertools
import random
from fractions import Fraction

import numpy as np

from fluxscale.instance.derived import derive
from fluxscale.instance.instance import CYCLIC, DARK, Instance
from fluxscale.schedule.circuits import make_schedule
from fluxscale.schedule.schedule import Schedule


def random_instance(seed: int, *, zero_times: bool = False) -> Instance:
    """Up to a dozen ops over up to three planes of mixed rules, with gangs, local ops and devices."""
    rng = random.Random(seed)
    n_endpoints, n_planes, n = rng.randint(3, 5), rng.randint(1, 3), rng.randint(1, 12)
    duplex = [rng.random() < 0.4] * n_planes
    least = 0 if zero_times else 1
    kind, device, size, fixed, preds, legs = [], [], [], [], [], []
    for i in range(n):
        k = rng.choice([0, 0, 1, 1, 1, 2, 3])
        kind.append(k)
        device.append(rng.randrange(3) if k == 0 else -1)
        by_bytes = k in (1, 2) and rng.random() < 0.7
        size.append(rng.randint(1, 40) if by_bytes else 0)
        fixed.append(-1 if by_bytes else rng.randint(least, 15))
        preds.append(sorted(rng.sample(range(i), min(i, rng.choice([0, 1, 1, 2])))))
        ends = rng.sample(range(n_endpoints), n_endpoints)
        if k == 1:
            legs.append([(ends[0], ends[1])])
        elif k == 2 and duplex[0]:
            legs.append([(ends[0], ends[1]), (ends[1], ends[0])])
        elif k == 2:
            ring = ends[: rng.randint(2, n_endpoints)]
            legs.append(list(zip(ring, ring[1:] + ring[:1], strict=True)))
        else:
            legs.append([])
    on_device = [[i for i in range(n) if device[i] == d] for d in range(3)]

    def pointer(rows: list[list]) -> list[int]:
        return np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64).tolist()

    flat = [leg for row in legs for leg in row]
    rate = [rng.choice([4, 8, 12]) * 10**9 for _ in range(n_planes)]
    delay = [rng.choice([0, 4, 9, 20]) for _ in range(n_planes)]
    return Instance(
        op_kind=kind,
        op_device=device,
        op_bytes=size,
        op_fixed_ticks=fixed,
        pred_indptr=pointer(preds),
        pred_index=[p for row in preds for p in row],
        device_indptr=pointer(on_device),
        device_ops=[i for row in on_device for i in row],
        leg_indptr=pointer(legs),
        leg_tx=[tx for tx, _ in flat],
        leg_rx=[rx for _, rx in flat],
        plane_rate_bps=rate,
        plane_latency_ticks=[rng.choice([0, 0, 3]) for _ in range(n_planes)],
        plane_delay_ticks=delay,
        plane_radix=[0] * n_planes,
        plane_all_stop=[d > 0 and rng.random() < 0.3 for d in delay],
        plane_duplex=duplex,
        attach=np.zeros((n_planes, n_endpoints)),
        injection_rate_bps=[rng.choice([1, 2, 3]) * r // 2 for r in rate],
        boundary=rng.choice([0, 1, 2]),
        tick_ns=rng.choice([1, 1, 2]),
    )


def preds_of(instance: Instance) -> list[list[int]]:
    """Predecessors of each op, the one before it on its device included."""
    rows = [
        instance.pred_index[instance.pred_indptr[i] : instance.pred_indptr[i + 1]].tolist()
        for i in range(instance.n_ops)
    ]
    for d in range(instance.n_devices):
        order = instance.device_ops[instance.device_indptr[d] : instance.device_indptr[d + 1]].tolist()
        for before, after in itertools.pairwise(order):
            rows[after].append(before)
    return rows


def legs_of(instance: Instance, op: int) -> range:
    """Legs of an op."""
    return range(int(instance.leg_indptr[op]), int(instance.leg_indptr[op + 1]))


def ticks_of(instance: Instance, op: int, leg_plane: list[int]) -> int:
    """Duration of an op."""
    if instance.op_fixed_ticks[op] >= 0:
        return int(instance.op_fixed_ticks[op])
    bits = int(instance.op_bytes[op]) * 8 * 10**9
    return max(
        int(instance.plane_latency_ticks[p]) - (-bits // (int(instance.plane_rate_bps[p]) * instance.tick_ns))
        for p in (leg_plane[leg] for leg in legs_of(instance, op))
    )


def circuit(instance: Instance, plane: int, tx: int, rx: int) -> tuple[int, int]:
    """A circuit's name: unordered on a duplex plane."""
    return (min(tx, rx), max(tx, rx)) if instance.plane_duplex[plane] else (tx, rx)


def ports(instance: Instance, plane: int, tx: int, rx: int) -> list[tuple[int, int, str]]:
    """Its two ports."""
    side = ("", "") if instance.plane_duplex[plane] else ("tx", "rx")
    return [(plane, tx, side[0]), (plane, rx, side[1])]


def random_schedule(instance: Instance, seed: int) -> Schedule:
    """Append op after op in the order of their numbers, each as early as those before it allow, with some slack."""
    rng = random.Random(seed + 10**6)
    leg_plane = [rng.randrange(instance.n_planes) for _ in range(instance.n_legs)]
    for op in range(instance.n_ops):  # a gang's circuits must fit one plane's matching: keep them together
        for leg in legs_of(instance, op):
            leg_plane[leg] = leg_plane[legs_of(instance, op)[0]]
    start, end = [0] * instance.n_ops, [0] * instance.n_ops
    runs: list[tuple[int, int, int, int, int, int]] = []  # plane, tx, rx, start, end, epoch
    epoch = [0] * instance.n_planes
    opened = [int(d) if instance.boundary == DARK else 0 for d in instance.plane_delay_ticks]
    for op in range(instance.n_ops):
        ready = max((end[p] for p in preds_of(instance)[op]), default=0) + rng.choice([0, 0, 0, 5])
        mine = [(leg_plane[g], int(instance.leg_tx[g]), int(instance.leg_rx[g])) for g in legs_of(instance, op)]
        for plane, tx, rx in mine:
            delay = int(instance.plane_delay_ticks[plane])
            if instance.boundary == DARK:
                ready = max(ready, delay)
            for p, other_tx, other_rx, _, other_end, _ in runs:
                touching = set(ports(instance, plane, tx, rx)) & set(ports(instance, p, other_tx, other_rx))
                if p == plane and touching:
                    same = circuit(instance, p, tx, rx) == circuit(instance, p, other_tx, other_rx)
                    if same and tx != other_tx:
                        continue
                    ready = max(ready, other_end + (0 if same else delay))
            if instance.plane_all_stop[plane]:
                now = [r for r in runs if r[0] == plane and r[5] == epoch[plane]]
                clash = any(
                    set(ports(instance, plane, a, b)) & set(ports(instance, plane, r[1], r[2]))
                    and circuit(instance, plane, a, b) != circuit(instance, plane, r[1], r[2])
                    for r in now
                    for q, a, b in mine
                    if q == plane
                )
                if clash:
                    epoch[plane] += 1
                    opened[plane] = max(r[4] for r in runs if r[0] == plane) + delay
                ready = max(ready, opened[plane])
        start[op], end[op] = ready, ready + ticks_of(instance, op, leg_plane)
        runs += [(plane, tx, rx, start[op], end[op], epoch[plane]) for plane, tx, rx in mine]
    return make_schedule(instance, np.array(start, dtype=np.int64), np.array(leg_plane, dtype=np.int16))


def naive_replay(instance: Instance, schedule: Schedule, duration: list[int]) -> tuple[list[int], list[int]]:
    """Heap of moments; at each, everything that can happen does. Returns starts and ends (of a valid schedule)."""
    preds, n = preds_of(instance), instance.n_ops
    delay, planned = instance.plane_delay_ticks.tolist(), schedule.op_start_ticks.tolist()
    rows = sorted(
        zip(
            schedule.circuit_plane.tolist(),
            schedule.circuit_tx.tolist(),
            schedule.circuit_rx.tolist(),
            schedule.circuit_up_from_ticks.tolist(),
            schedule.circuit_up_to_ticks.tolist(),
            strict=True,
        ),
        key=lambda row: row[3:],
    )
    # Groups: a circuit, or on an all-stop plane everything between two changes of the plane.
    group_of: list[int] = []
    before: list[list[tuple[int, int]]] = []
    members: list[list[int]] = []
    newest: dict[int, tuple[int, int]] = {}

    def last_at_ports(r: int, limit: int) -> list[int]:
        return [
            max((q for q in range(limit) if port in ports(instance, *rows[q][:3])), default=-1)
            for port in ports(instance, *rows[r][:3])
        ]

    def goes_on(r: int, limit: int) -> bool:
        a, b = last_at_ports(r, limit)
        return a >= 0 and a == b

    for r, (plane, tx, rx, up_from, _) in enumerate(rows):
        last = last_at_ports(r, r)
        all_stop = instance.plane_all_stop[plane] and delay[plane] > 0
        together = [q for q in range(r, len(rows)) if rows[q][0] == plane and rows[q][3] == up_from]
        if not all_stop and goes_on(r, r):
            group = group_of[last[0]]
        elif all_stop and plane in newest and newest[plane][1] == up_from:
            group = newest[plane][0]
        elif (
            all_stop
            and plane in newest
            and all(goes_on(q, r) and group_of[last_at_ports(q, r)[0]] == newest[plane][0] for q in together)
        ):
            group = newest[plane][0]
            newest[plane] = (group, up_from)
        else:
            group = len(before)
            members.append([])
            if all_stop:
                before.append([(newest[plane][0], delay[plane])] if plane in newest else [])
                newest[plane] = (group, up_from)
            else:
                circuits = [circuit(instance, *rows[q][:3]) if q >= 0 else None for q in last]
                mine = circuit(instance, plane, tx, rx)
                before.append(
                    [
                        (group_of[q], 0 if c == mine else delay[plane])
                        for q, c in zip(last, circuits, strict=True)
                        if q >= 0
                    ]
                )
        group_of.append(group)
        members[group].append(r)
    op_groups: list[list[int]] = [[] for _ in range(n)]
    waits_for: list[list[int]] = [[] for _ in range(n)]
    leg_at: list[tuple[int, int, int, int]] = []
    for op in sorted(range(n), key=lambda i: (planned[i], planned[i] + duration[i], i)):
        planned_end = planned[op] + ticks_of(instance, op, schedule.leg_plane.tolist())
        for leg in legs_of(instance, op):
            plane, tx, rx = int(schedule.leg_plane[leg]), int(instance.leg_tx[leg]), int(instance.leg_rx[leg])
            carriers = [
                group_of[r]
                for r, row in enumerate(rows)
                if row[0] == plane
                and circuit(instance, *row[:3]) == circuit(instance, plane, tx, rx)
                and row[3] <= planned[op]
                and planned_end <= row[4]
            ]
            group = carriers[-1]
            op_groups[op].append(group)
            waits_for[op] += [other for p, e, g, other in leg_at if (p, e, g) == (plane, tx, group)]
            leg_at.append((plane, tx, group, op))
    start: list[int | None] = [None] * n
    end: list[int | None] = [None] * n
    base = delay if instance.boundary == DARK else [0] * len(delay)
    up: list[int | None] = [None] * len(before)
    moments = [0, *planned]
    heapq.heapify(moments)

    def over(group: int, now: int) -> int | None:
        """When a group has ended, if it has by now."""
        opening = up[group]
        if opening is None or opening > now:
            return None
        ends = [end[op] for op in range(n) if group in op_groups[op]]
        if any(e is None or e > now for e in ends):
            return None
        return max([opening, *(e for e in ends if e is not None)])

    while moments:
        now = heapq.heappop(moments)
        changed = True
        while changed:
            changed = False
            for g in range(len(before)):
                if up[g] is None:
                    ended = [(over(h, now), lag) for h, lag in before[g]]
                    if all(e is not None for e, _ in ended):
                        first = base[rows[members[g][0]][0]]
                        up[g] = max([first, *(e + lag for e, lag in ended if e is not None)])
                        heapq.heappush(moments, up[g])
                        changed = True
            for op in range(n):
                if start[op] is not None or planned[op] > now:
                    continue
                done = all(end[p] is not None and end[p] <= now for p in preds[op] + waits_for[op])
                if done and all(up[g] is not None and up[g] <= now for g in op_groups[op]):
                    start[op], end[op] = now, now + duration[op]
                    heapq.heappush(moments, now + duration[op])
                    changed = True
    return start, end


def naive_period(instance: Instance, schedule: Schedule, start: list[int], end: list[int]) -> int:
    """Largest end; cyclic: the least period by comparing every two legs, but no less than planned."""
    total = max(end, default=0)
    if instance.boundary != CYCLIC:
        return total
    total = max(total, schedule.iteration_time_ticks)
    op_of = derive(instance).leg_op.tolist()
    legs = [
        (int(schedule.leg_plane[g]), int(instance.leg_tx[g]), int(instance.leg_rx[g]), start[op_of[g]], end[op_of[g]])
        for g in range(instance.n_legs)
    ]
    for p, tx, rx, _, leg_end in legs:
        if instance.plane_all_stop[p] and instance.plane_delay_ticks[p]:
            continue
        for q, other_tx, other_rx, other_start, _ in legs:
            touching = p == q and set(ports(instance, p, tx, rx)) & set(ports(instance, q, other_tx, other_rx))
            if touching and circuit(instance, p, tx, rx) != circuit(instance, q, other_tx, other_rx):
                total = max(total, leg_end + int(instance.plane_delay_ticks[p]) - other_start)
    return total


def naive_buffers(
    instance: Instance, start: list[int], end: list[int], leg_plane: list[int], *, eager: bool
) -> np.ndarray:
    """Peak of every transmit port, tick by tick."""
    op_of = derive(instance).leg_op.tolist()
    peak = np.zeros((instance.n_planes, instance.n_endpoints), dtype=np.int64)
    level: dict[tuple[int, int, int], Fraction] = {}
    for leg, op in enumerate(op_of):
        plane, tx = leg_plane[leg], int(instance.leg_tx[leg])
        rate = Fraction(int(instance.plane_rate_bps[plane]) // 10**6 * 10**6 * instance.tick_ns, 10**9)
        handing = Fraction(int(instance.injection_rate_bps[plane]) // 10**6 * 10**6 * instance.tick_ns, 10**9)
        bits = Fraction(int(instance.op_bytes[op]) * 8)
        if bits == 0 and instance.op_fixed_ticks[op] >= 0:
            bits = rate * (end[op] - start[op])
        own = instance.pred_index[instance.pred_indptr[op] : instance.pred_indptr[op + 1]].tolist()
        release = max((end[p] for p in own), default=0) if eager else start[op]
        for tick in range(release, start[op] + int(bits / min(rate, handing)) + 2):
            handed = min(bits, handing * (tick - release))
            sent = min(handed, rate * max(0, tick - start[op]))
            level[plane, tx, tick] = level.get((plane, tx, tick), Fraction(0)) + handed - sent
    for (plane, tx, _), bits in level.items():
        peak[plane, tx] = max(peak[plane, tx], -(-bits // 8))
    return peak
