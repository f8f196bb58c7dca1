"""Plain twin of the fluid simulator: one tick after the other, one pair after the other."""

from __future__ import annotations

import heapq
from typing import Any

from fluxscale.instance.derived import derive
from fluxscale.instance.instance import COMPUTE, LOCAL, Instance
from fluxscale.instance.pairs import pairs
from fluxscale.instance.work import work

Row = tuple[int, int, int, int]


def naive_fluid(
    instance: Instance, rows: list[Row], cycle: int, floor: list[int], last_tick: int
) -> tuple[list[int], list[int], list[int], list[int]] | None:
    """Starts, ends, peak units of each endpoint, and busy ticks of each plane; None if it takes too long.

    ``rows``: (pair, plane, from, to) within a cycle.
    """
    amounts, asked, derived = work(instance), pairs(instance), derive(instance)
    n = instance.n_ops
    waiting = [
        int(instance.pred_indptr[op + 1] - instance.pred_indptr[op]) + int(derived.prev_on_device[op] >= 0)
        for op in range(n)
    ]
    left = [int(a) for a in amounts.leg_amount]
    legs_left = [int(instance.leg_indptr[op + 1] - instance.leg_indptr[op]) for op in range(n)]
    start: list[Any] = [None] * n
    end: list[Any] = [None] * n
    arrival = [0] * n
    queue: list[list[int]] = [[] for _ in range(asked.count)]
    released: dict[int, int] = {}
    sizes = [_size(instance, amounts, asked, leg) for leg in range(instance.n_legs)]
    injection = [
        sum(int(amounts.plane_injection[p]) for p in asked.planes[asked.plane_indptr[q] : asked.plane_indptr[q + 1]])
        for q in range(asked.count)
    ]
    peak = [0] * instance.n_endpoints
    busy = [0] * instance.n_planes
    heap = [(0, n + op) for op in range(n) if waiting[op] == 0]
    heapq.heapify(heap)

    def finish(op: int, now: int) -> None:
        end[op] = now
        followers = derived.succ_index[derived.succ_indptr[op] : derived.succ_indptr[op + 1]].tolist()
        if derived.next_on_device[op] >= 0:
            followers.append(int(derived.next_on_device[op]))
        for after in followers:
            waiting[after] -= 1
            if waiting[after] == 0:
                heapq.heappush(heap, (now, n + after))

    def head_done(pair: int, now: int) -> None:
        leg = queue[pair].pop(0)
        op = int(derived.leg_op[leg])
        legs_left[op] -= 1
        if legs_left[op] == 0:
            if arrival[op] > now:
                heapq.heappush(heap, (arrival[op], op))
            else:
                finish(op, now)
        empty_head(pair, now)

    def empty_head(pair: int, now: int) -> None:
        """A head without anything to send ends when it may begin."""
        if queue[pair] and left[queue[pair][0]] == 0:
            leg = queue[pair][0]
            op, when = int(derived.leg_op[leg]), max(now, floor[pair])
            mine = [row for row in rows if row[0] == pair]
            first = min(mine, key=lambda row: row[2])[2] if mine else 0
            late = (
                0
                if amounts.leg_fixed[leg] or not mine
                else max(int(instance.plane_latency_ticks[row[1]]) for row in mine if row[2] <= first < row[3])
            )
            start[op] = when if start[op] is None else min(start[op], when)
            arrival[op] = max(arrival[op], when + late)
            heapq.heappush(heap, (when, 2 * n + pair))

    for now in range(last_tick):
        while heap and heap[0][0] == now:
            number = heapq.heappop(heap)[1]
            if number >= 2 * n:
                head_done(number - 2 * n, now)
            elif number < n:
                finish(number, now)
            else:
                op = number - n
                if instance.op_kind[op] in (COMPUTE, LOCAL):
                    start[op] = now
                    heapq.heappush(heap, (now + int(instance.op_fixed_ticks[op]), op))
                elif legs_left[op] == 0:
                    start[op] = now
                    finish(op, now)
                else:
                    for leg in range(int(instance.leg_indptr[op]), int(instance.leg_indptr[op + 1])):
                        pair = int(asked.leg_pair[leg])
                        released[leg] = now
                        queue[pair].append(leg)
                        if len(queue[pair]) == 1:
                            empty_head(pair, now)
        for endpoint in range(instance.n_endpoints):
            level = 0
            for leg, since in released.items():
                if instance.leg_tx[leg] == endpoint:
                    size, per_tick = sizes[leg]
                    pair = int(asked.leg_pair[leg])
                    n_planes = int(asked.plane_indptr[pair + 1] - asked.plane_indptr[pair])
                    rate = max(1, per_tick * n_planes) if amounts.leg_fixed[leg] else injection[pair]
                    handed = min(size, rate * (now - since))
                    level += handed - (size - min(size, left[leg] * per_tick))
            peak[endpoint] = max(peak[endpoint], level)
        if all(e is not None for e in end):
            return start, end, peak, busy
        for pair in range(asked.count):
            if not queue[pair] or now < floor[pair]:
                continue
            leg = queue[pair][0]
            up = [p for q, p, a, b in rows if q == pair and a <= now % cycle < b]
            if not up or left[leg] == 0:
                continue
            op, fixed = int(derived.leg_op[leg]), bool(amounts.leg_fixed[leg])
            start[op] = now if start[op] is None else min(start[op], now)
            left[leg] -= min(left[leg], sum(1 if fixed else int(amounts.plane_speed[p]) for p in up))
            for plane in up:
                busy[plane] += 1
            late = 0 if fixed else max(int(instance.plane_latency_ticks[p]) for p in up)
            arrival[op] = max(arrival[op], now + 1 + late)
            if left[leg] == 0:
                heapq.heappush(heap, (now + 1, 2 * n + pair))
    return None


def _size(instance: Instance, amounts: Any, asked: Any, leg: int) -> tuple[int, int]:
    """Units of a leg in a buffer, and how many one of its own units stands for."""
    own = int(amounts.leg_amount[leg])
    if not amounts.leg_fixed[leg]:
        return own, 1
    op = int(derive(instance).leg_op[leg])
    plane = int(asked.planes[asked.plane_indptr[asked.leg_pair[leg]]])
    given = int(instance.op_bytes[op]) * amounts.units_per_byte or own * int(amounts.plane_speed[plane])
    return given, given // max(own, 1)
