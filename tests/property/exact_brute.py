"""Optimum by enumeration of every order, plane choice and epoch split: shares nothing with the solvers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from fluxscale.instance.derived import derive
from fluxscale.instance.instance import CYCLIC, DARK, Instance
from tests.property.exact_instances import relation

Arc = tuple[int, int, int, int]
"""``value[dst] >= value[src] + weight - laps * T``."""


def optimum(instance: Instance) -> int | None:
    """Least iteration time (period), or None where no plan is valid."""
    derived = derive(instance)
    choices = [
        derived.leg_planes[derived.leg_plane_indptr[leg] : derived.leg_plane_indptr[leg + 1]].tolist()
        for leg in range(instance.n_legs)
    ]
    best: int | None = None
    for planes in itertools.product(*choices):
        length = [
            int(
                max(
                    [derived.op_ticks[op, derived.plane_class[planes[leg]]] for leg in legs_of(instance, op)]
                    or [derived.op_ticks[op, 0]]
                )
            )
            for op in range(instance.n_ops)
        ]
        if any(
            relation(instance, planes[a], a, b) != "apart"
            for op in range(instance.n_ops)
            for a, b in itertools.combinations(legs_of(instance, op), 2)
            if planes[a] == planes[b]
        ):
            continue
        for order in orders(instance):
            for arcs, nodes in systems(instance, planes, length, order):
                value = least(instance, arcs, nodes, length, best)
                best = value if best is None or (value is not None and value < best) else best
    return best


def legs_of(instance: Instance, op: int) -> range:
    return range(int(instance.leg_indptr[op]), int(instance.leg_indptr[op + 1]))


def orders(instance: Instance) -> Iterator[tuple[int, ...]]:
    """Orders of the ops that have legs, by start, that precedence does not forbid outright."""
    preds = [
        set(instance.pred_index[instance.pred_indptr[i] : instance.pred_indptr[i + 1]].tolist())
        for i in range(instance.n_ops)
    ]
    for order in itertools.permutations([op for op in range(instance.n_ops) if len(legs_of(instance, op))]):
        if not any(late in preds[early] for early, late in itertools.combinations(order, 2)):
            yield order


def systems(
    instance: Instance, planes: tuple[int, ...], length: list[int], order: tuple[int, ...]
) -> Iterator[tuple[list[Arc], int]]:
    """Systems of difference constraints of one order: one for each way to split the all-stop planes into epochs."""
    n = instance.n_ops
    base: list[Arc] = []
    for op in range(n):
        base += [
            (p, op, length[p], 0)
            for p in instance.pred_index[instance.pred_indptr[op] : instance.pred_indptr[op + 1]].tolist()
        ]
    for d in range(instance.n_devices):
        mine = instance.device_ops[instance.device_indptr[d] : instance.device_indptr[d + 1]].tolist()
        base += [(a, b, length[a], 0) for a, b in itertools.pairwise(mine)]
    split_at: list[tuple[int, list[int]]] = []
    for plane in range(instance.n_planes):
        delay = int(instance.plane_delay_ticks[plane])
        users = [op for op in order if any(planes[leg] == plane for leg in legs_of(instance, op))]
        if instance.plane_all_stop[plane] and delay > 0:
            split_at.append((plane, users))
            continue
        if instance.boundary == DARK:
            base += [(-1, op, delay, 0) for op in users]
        for i, j in itertools.combinations(users, 2):
            for what in meetings(instance, planes, plane, i, j):
                if what != "apart":
                    gap = delay if what == "switch" else 0
                    base.append((i, j, length[i] + gap, 0))
                    if what == "switch" and instance.boundary == CYCLIC:
                        base += [(i, j, length[i] + gap, 1), (j, i, length[j] + gap, 1)]
    cuts = [itertools.product([False, True], repeat=max(0, len(users) - 1)) for _, users in split_at]
    for chosen in itertools.product(*cuts):
        arcs, nodes, valid = list(base), n, True
        for (plane, users), cut in zip(split_at, chosen, strict=True):
            delay, index = (
                int(instance.plane_delay_ticks[plane]),
                np.concatenate([[0], np.cumsum(cut)]).astype(int).tolist(),
            )
            opening = {epoch: nodes + epoch for epoch in set(index[: len(users)])}
            nodes += len(opening)
            if instance.boundary == DARK:
                arcs += [(-1, o, delay, 0) for o in opening.values()]
            for k, op in enumerate(users):
                arcs.append((opening[index[k]], op, 0, 0))
                arcs += [(op, opening[e], length[op] + delay, 0) for e in opening if e > index[k]]
            wrap = False
            for (k, i), (m, j) in itertools.combinations(enumerate(users), 2):
                kinds = meetings(instance, planes, plane, i, j)
                if index[k] == index[m]:
                    valid &= "switch" not in kinds
                    if "serial" in kinds:
                        arcs.append((i, j, length[i], 0))
                wrap |= index[k] == 0 and index[m] == index[len(users) - 1] and "switch" in kinds
            if wrap and instance.boundary == CYCLIC:
                arcs += [(late, early, length[late] + delay, 1) for late in users for early in users]
        if valid:
            yield arcs, nodes


def meetings(instance: Instance, planes: tuple[int, ...], plane: int, i: int, j: int) -> set[str]:
    return {
        relation(instance, plane, a, b)
        for a in legs_of(instance, i)
        for b in legs_of(instance, j)
        if planes[a] == planes[b] == plane
    }


def least(instance: Instance, arcs: list[Arc], nodes: int, length: list[int], best: int | None) -> int | None:
    """Least iteration time of one system if it is below the best known, else None."""
    value = solve([a for a in arcs if not a[3]], nodes, 0)
    if value is None:
        return None
    low = max([s + d for s, d in zip(value, length, strict=False)], default=0)
    if instance.boundary != CYCLIC:
        return low if best is None or low < best else None
    high = best - 1 if best is not None else low + sum(w for _, _, w, laps in arcs if laps)
    if high < low or not fits(arcs, nodes, length, high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(arcs, nodes, length, middle) else (middle + 1, high)
    return low


def fits(arcs: list[Arc], nodes: int, length: list[int], period: int) -> bool:
    value = solve(arcs, nodes, period)
    return value is not None and all(s + d <= period for s, d in zip(value, length, strict=False))


def solve(arcs: list[Arc], nodes: int, period: int) -> list[int] | None:
    value = [0] * nodes
    for _ in range(nodes + 1):
        changed = False
        for src, dst, weight, laps in arcs:
            reached = (value[src] if src >= 0 else 0) + weight - laps * period
            if reached > value[dst]:
                value[dst], changed = reached, True
        if not changed:
            return value
    return None
