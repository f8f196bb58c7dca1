"""Transfers relayed over fixed links, written down plainly: the twin of ``fluxscale.kernels.relay.run``."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance
from fluxscale.instance.work import work


@dataclass
class NaiveLink:
    """Circuits from one endpoint to another."""

    tail: int
    head: int
    speed: int
    planes: int
    latency: int
    opens: int
    free: int = 0
    busy: int = 0
    amount: int = 0


@dataclass
class Stay:
    """One transfer in the buffer of one endpoint: when it comes in and at what rate, when it leaves and how fast."""

    endpoint: int
    come_from: int
    come_to: int
    rate: int
    leave_from: int
    leave_to: int
    speed: int

    def level(self, t: int) -> int:
        if not self.come_from <= t <= self.leave_to:
            return 0
        return self.speed * (self.leave_to - max(t, self.leave_from)) - self.rate * max(0, self.come_to - t)


@dataclass
class NaiveRun:
    start: list[int]
    end: list[int]
    links: list[NaiveLink]
    stays: list[Stay] = field(default_factory=list)

    def peaks(self, n_endpoints: int) -> list[int]:
        """Largest level of each endpoint at any tick."""
        last = max(self.end, default=0)
        peaks = [0] * n_endpoints
        for end in range(n_endpoints):
            mine = [stay for stay in self.stays if stay.endpoint == end]
            peaks[end] = max((sum(stay.level(t) for stay in mine) for t in range(last + 1)), default=0)
        return peaks


def naive_relay(
    instance: Instance, links: list[NaiveLink], routes: dict[tuple[int, int], list[int]], injection: dict[Any, int]
) -> NaiveRun:
    """Run an iteration; ``routes`` are numbers of links by (tx, rx), ``injection`` units a tick by (tx, rx)."""
    amounts, derived, n = work(instance), derive(instance), instance.n_ops
    preds: list[set[tuple[str, int]]] = []
    for op in range(n):
        mine = instance.pred_index[instance.pred_indptr[op] : instance.pred_indptr[op + 1]].tolist()
        entries = {("edge", k) for k in range(len(mine))}
        preds.append(entries)
    open_preds = [len(p) + (derived.prev_on_device[op] >= 0) for op, p in enumerate(preds)]
    run = NaiveRun([-1] * n, [-1] * n, links)
    for link in links:
        link.free = link.opens
    heap: list[tuple[int, int]] = []
    what: list[tuple[str, int]] = []
    position: dict[int, int] = {}
    bits_in: dict[int, int] = {}
    legs_open: dict[int, int] = {}
    latest: dict[int, int] = {}

    def release(op: int, now: int) -> None:
        legs = range(int(instance.leg_indptr[op]), int(instance.leg_indptr[op + 1]))
        if not legs:
            run.start[op] = now
            what.append(("end", op))
            heapq.heappush(heap, (now + max(0, int(instance.op_fixed_ticks[op])), len(what) - 1))
        legs_open[op], latest[op] = len(legs), 0
        for leg in legs:
            position[leg], bits_in[leg] = 0, 0
            what.append(("head", leg))
            heapq.heappush(heap, (now, len(what) - 1))

    for op in range(n):
        if open_preds[op] == 0:
            release(op, 0)
    while heap:
        now, number = heapq.heappop(heap)
        kind, who = what[number]
        if kind == "end":
            run.end[who] = now
            followers = derived.succ_index[derived.succ_indptr[who] : derived.succ_indptr[who + 1]].tolist()
            followers += [int(derived.next_on_device[who])] if derived.next_on_device[who] >= 0 else []
            ready = []
            for follower in followers:
                open_preds[follower] -= 1
                if open_preds[follower] == 0:
                    ready.append(follower)
            for op in ready:
                release(op, now)
            continue
        leg, op = who, int(derived.leg_op[who])
        pair = int(instance.leg_tx[leg]), int(instance.leg_rx[leg])
        link = links[routes[pair][position[leg]]]
        fixed, amount = bool(amounts.leg_fixed[leg]), int(amounts.leg_amount[leg])
        ticks = -(-amount // (link.planes if fixed else link.speed))
        begin = max(now, link.free)
        end = max(begin + ticks, bits_in[leg])
        link.free, link.busy, link.amount = end, link.busy + ticks, link.amount + amount
        latency = 0 if fixed else link.latency
        carried = (end - begin) * link.speed
        if position[leg] == 0:
            run.start[op] = begin if run.start[op] < 0 else min(run.start[op], begin)
            come_to = min(now + -(-carried // injection[pair]), end)
        else:
            come_to = bits_in[leg]
        if carried:
            rate = carried // (come_to - now) if come_to > now else 0
            run.stays.append(Stay(link.tail, now, come_to, rate, begin, end, link.speed))
        bits_in[leg] = end + latency
        position[leg] += 1
        if position[leg] < len(routes[pair]):
            heapq.heappush(heap, (begin + latency, number))
            continue
        latest[op] = max(latest[op], end + latency)
        legs_open[op] -= 1
        if legs_open[op] == 0:
            what[number] = ("end", op)
            heapq.heappush(heap, (latest[op], number))
    return run


def no_light_overtakes(instance: Instance) -> bool:
    """Whether no transfer without latency can arrive before the light of the one before it (buffers are then exact)."""
    return not (np.any(work(instance).leg_fixed) and np.any(instance.plane_latency_ticks))
