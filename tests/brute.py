"""Least iteration time of a tiny instance by trying all planes, orders and splits into epochs.

Each try fixes an order; what remains are waits of the form "x at least w after y", solved by repeated relaxation. Every
schedule belongs to some try (the order of its starts), so the least value over all tries is the optimum. Shares no code
with the package but the columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from fluxscale.instance.instance import CYCLIC, DARK, Instance

Wait = tuple[int, int, int, int]
"""``time[later] + laps * period >= time[earlier] + ticks`` as (earlier, later, ticks, laps)."""


def brute_force(instance: Instance) -> int:
    """Least iteration time (cyclic: least period) in ticks; meant for up to five transfers."""
    transfers = [op for op in range(instance.n_ops) if instance.leg_indptr[op] < instance.leg_indptr[op + 1]]
    orders = [o for o in itertools.permutations(transfers) if _follows_precedence(instance, o)]
    best: int | None = None
    for planes in itertools.product(*(_planes_of(instance, leg) for leg in range(instance.n_legs))):
        ticks = [_ticks(instance, op, planes) for op in range(instance.n_ops)]
        uses = [_uses(instance, op, planes) for op in range(instance.n_ops)]
        if any(_gap(instance, a, b) is not None for mine in uses for a, b in itertools.combinations(mine, 2)):
            continue
        for order in orders:
            for waits, n_times in _tries(instance, uses, ticks, order):
                best = _improve(instance, waits, n_times, ticks, best)
    assert best is not None, "no plane choice fits the gangs"
    return best


Use = tuple[int, int, int]
"""Plane, tx, rx of one leg."""


def _planes_of(instance: Instance, leg: int) -> list[int]:
    tx, rx = instance.leg_tx[leg], instance.leg_rx[leg]
    return [p for p in range(instance.n_planes) if instance.attach[p, tx] == instance.attach[p, rx] >= 0]


def _uses(instance: Instance, op: int, planes: tuple[int, ...]) -> list[Use]:
    legs = range(int(instance.leg_indptr[op]), int(instance.leg_indptr[op + 1]))
    return [(planes[leg], int(instance.leg_tx[leg]), int(instance.leg_rx[leg])) for leg in legs]


def _ticks(instance: Instance, op: int, planes: tuple[int, ...]) -> int:
    if instance.op_fixed_ticks[op] >= 0:
        return int(instance.op_fixed_ticks[op])
    bits_ns = int(instance.op_bytes[op]) * 8 * 10**9
    return max(
        int(instance.plane_latency_ticks[p]) - (-bits_ns // (int(instance.plane_rate_bps[p]) * instance.tick_ns))
        for p, _, _ in _uses(instance, op, planes)
    )


def _gap(instance: Instance, a: Use, b: Use) -> int | None:
    """Ticks between two legs in either order: None where they may run at once."""
    (plane, *ends_a), (other, *ends_b) = a, b
    if plane != other:
        return None
    if ends_a == ends_b:
        return 0
    if instance.plane_duplex[plane]:
        shared = len({*ends_a} & {*ends_b}) == 1
    else:
        shared = ends_a[0] == ends_b[0] or ends_a[1] == ends_b[1]
    return int(instance.plane_delay_ticks[plane]) if shared else None


def _changes(instance: Instance, a: Use, b: Use) -> bool:
    """Whether a port must be switched between two legs."""
    same = a == b or (bool(instance.plane_duplex[a[0]]) and {a[1], a[2]} == {b[1], b[2]})
    return not same and _gap(instance, a, b) is not None


def _preds(instance: Instance, op: int) -> list[int]:
    preds = instance.pred_index[instance.pred_indptr[op] : instance.pred_indptr[op + 1]].tolist()
    for d in range(instance.n_devices):
        mine = instance.device_ops[instance.device_indptr[d] : instance.device_indptr[d + 1]].tolist()
        preds += [before for before, after in itertools.pairwise(mine) if after == op]
    return preds


def _follows_precedence(instance: Instance, order: tuple[int, ...]) -> bool:
    """Whether no transfer comes before one that it waits for."""
    reach: list[set[int]] = [set() for _ in range(instance.n_ops)]
    for _ in range(instance.n_ops):
        for op in range(instance.n_ops):
            for p in _preds(instance, op):
                reach[op] |= {p} | reach[p]
    return not any(late in reach[early] for early, late in itertools.combinations(order, 2))


def _tries(
    instance: Instance, uses: list[list[Use]], ticks: list[int], order: tuple[int, ...]
) -> Iterator[tuple[list[Wait], int]]:
    """Systems of waits for one order of the transfers: one for each way to cut the all-stop planes into epochs."""
    waits = [(p, op, ticks[p], 0) for op in range(instance.n_ops) for p in _preds(instance, op)]
    stopping = [p for p in range(instance.n_planes) if instance.plane_all_stop[p] and instance.plane_delay_ticks[p]]
    for i, j in itertools.combinations(order, 2):
        for a, b in itertools.product(uses[i], uses[j]):
            gap = _gap(instance, a, b)
            if gap is not None:
                waits.append((i, j, ticks[i] + gap, 0))
                if a[0] not in stopping and _changes(instance, a, b):
                    waits += [(i, j, ticks[i] + gap, 1), (j, i, ticks[j] + gap, 1)]
    if instance.boundary == DARK:
        dark = [(op, int(instance.plane_delay_ticks[use[0]])) for op in order for use in uses[op]]
        waits += [(-1, op, delay, 0) for op, delay in dark]
    users = [[op for op in order if any(use[0] == p for use in uses[op])] for p in stopping]
    cuts = [[(0, *cut) for cut in itertools.product((0, 1), repeat=len(mine) - 1)] for mine in users if mine]
    stopping, users = [p for p, mine in zip(stopping, users, strict=True) if mine], [mine for mine in users if mine]
    for chosen in itertools.product(*cuts):
        more, n_times, fits = list(waits), instance.n_ops, True
        for plane, mine, cut in zip(stopping, users, chosen, strict=True):
            epochs: list[list[int]] = []
            for op, new in zip(mine, (1, *cut[1:]), strict=True):
                epochs += [[]] if new else []
                epochs[-1].append(op)
            fits = fits and not any(_differ(instance, uses, plane, e, e) for e in epochs)
            delay = int(instance.plane_delay_ticks[plane])
            for before, after in itertools.pairwise(epochs):  # the opening of the later epoch is a time of its own
                more += [(op, n_times, ticks[op] + delay, 0) for op in before] + [(n_times, op, 0, 0) for op in after]
                n_times += 1
            if _differ(instance, uses, plane, epochs[-1], epochs[0]):
                more += [(late, early, ticks[late] + delay, 1) for late in mine for early in mine]
        if fits:
            yield more, n_times


def _differ(instance: Instance, uses: list[list[Use]], plane: int, one: list[int], two: list[int]) -> bool:
    """Whether the circuits of two epochs together are no matching."""
    on = [[use for op in epoch for use in uses[op] if use[0] == plane] for epoch in (one, two)]
    return any(_changes(instance, a, b) for a in on[0] for b in on[1])


def _improve(instance: Instance, waits: list[Wait], n_times: int, ticks: list[int], best: int | None) -> int | None:
    """The better of the best value so far and the least value of one system."""
    once = [w for w in waits if not w[3]]
    times = _relax(once, n_times, 0)
    if times is None:
        return best
    low = max([times[op] + t for op, t in enumerate(ticks)], default=0)
    if instance.boundary != CYCLIC:
        return low if best is None else min(best, low)
    high = best if best is not None else low + sum(w[2] for w in waits)
    while low < high:  # a longer period only loosens the system
        middle = (low + high) // 2
        times = _relax(waits, n_times, middle)
        if times is not None and all(times[op] + t <= middle for op, t in enumerate(ticks)):
            high = middle
        else:
            low = middle + 1
    return high


def _relax(waits: list[Wait], n_times: int, period: int) -> list[int] | None:
    """Earliest times that keep every wait, or None where waits chase each other round a cycle."""
    times = [0] * n_times
    for _ in range(n_times + 1):
        before = list(times)
        for earlier, later, amount, laps in waits:
            times[later] = max(times[later], (times[earlier] if earlier >= 0 else 0) + amount - laps * period)
        if times == before:
            return times
    return None
