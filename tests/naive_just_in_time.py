"""Fixed orders, windows and delayed producers the slow way: every pair of ops, repeated until nothing changes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from fluxscale.instance.instance import Instance

Rules = list[tuple[int, int, int]]


def rules(instance: Instance, start: Any, op_ticks: Any, leg_plane: Any, order: Any) -> Rules:
    """All rules ``(before, after, gap)`` of per-port planes: after starts gap or more after before has ended."""
    found: Rules = []
    for op in range(instance.n_ops):
        found += [(int(p), op, 0) for p in instance.pred_index[instance.pred_indptr[op] : instance.pred_indptr[op + 1]]]
    for d in range(instance.n_devices):
        ops = instance.device_ops[instance.device_indptr[d] : instance.device_indptr[d + 1]].tolist()
        found += [(a, b, 0) for a, b in itertools.pairwise(ops)]
    place = {int(op): i for i, op in enumerate(order)}
    for end in ("tx", "rx"):
        for plane in range(instance.n_planes):
            duplex = bool(instance.plane_duplex[plane])
            delay = int(instance.plane_delay_ticks[plane])
            for endpoint in range(instance.n_endpoints):
                uses = []
                for op in range(instance.n_ops):
                    for leg in range(instance.leg_indptr[op], instance.leg_indptr[op + 1]):
                        tx, rx = int(instance.leg_tx[leg]), int(instance.leg_rx[leg])
                        if leg_plane[leg] != plane:
                            continue
                        if duplex and endpoint in (tx, rx):
                            uses.append((place[op], op, frozenset((tx, rx)), tx == endpoint))
                        if not duplex and endpoint == (tx if end == "tx" else rx):
                            uses.append((place[op], op, (tx, rx), True))
                uses.sort(key=lambda use: use[0])
                for (i, one), (j, two) in itertools.combinations(enumerate(uses), 2):
                    if one[1] == two[1]:
                        continue
                    between = {use[2] for use in uses[i : j + 1]}
                    if one[2] != two[2]:
                        found.append((one[1], two[1], delay))
                    elif one[3] == two[3] or len(between) > 1:
                        found.append((one[1], two[1], 0))
    return found


def earliest(found: Rules, op_ticks: Any, start: Any) -> np.ndarray:
    """Raise starts until every rule holds."""
    start = np.array(start, dtype=np.int64)
    changed = True
    while changed:
        changed = False
        for before, after, gap in found:
            need = start[before] + op_ticks[before] + gap
            if start[after] < need:
                start[after], changed = need, True
    return start


def latest(found: Rules, op_ticks: Any, start: Any) -> np.ndarray:
    """Lower starts until every rule holds."""
    start = np.array(start, dtype=np.int64)
    changed = True
    while changed:
        changed = False
        for before, after, gap in found:
            most = start[after] - gap - op_ticks[before]
            if start[before] > most:
                start[before], changed = most, True
    return start


def window(amounts: list[int], target: int, at: int) -> int | None:
    """First leg of the longest run up to ``at`` whose amounts fit the target; None where it alone does not."""
    if amounts[at] > target:
        return None
    first = at
    while first > 0 and sum(amounts[first - 1 : at + 1]) <= target:
        first -= 1
    return first


def enough(amount: int, wait: int, handing: int, sending: int, target: int) -> bool:
    """Whether a leg that waits so long, behind a port that is busy until its start, keeps the target at every tick."""
    return all(
        min(amount, handing * t) + sending * max(0, wait - t) - sending * max(0, t - wait) <= target
        for t in range(wait + amount // handing + 2)
    )


def leg_level(since_release: int, since_start: int, amount: int, handing: int, sending: int) -> int:
    """Buffer of one leg at a tick, from what has been handed over and sent tick by tick."""
    handed = min(amount, handing * max(0, since_release))
    return max(0, handed - sending * max(0, since_start))
