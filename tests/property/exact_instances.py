"""Random tiny instances of every family, and an independent pairwise test of a plan."""

from __future__ import annotations

import itertools

import numpy as np

from fluxscale.errors import InfeasibleError
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import COMPUTE, CYCLIC, DARK, GANG, TRANSFER, Instance
from fluxscale.milp.conflicts import find_conflicts
from tests.unit.pipeline_case import csr


def random_instance(seed: int, most_transfers: int = 6) -> Instance:
    """Draw until the instance has a schedule at all (a gang may ask one port for two circuits)."""
    rng = np.random.default_rng(seed)
    while True:
        instance = _draw(rng, most_transfers)
        try:
            find_conflicts(instance)
        except InfeasibleError:
            continue
        return instance


def _draw(rng: np.random.Generator, most_transfers: int) -> Instance:
    endpoints, planes = int(rng.integers(2, 5)), int(rng.choice([1, 1, 2]))
    transfers, computes = int(rng.integers(2, most_transfers + 1)), int(rng.integers(0, 5))
    n = transfers + computes
    is_transfer = np.zeros(n, dtype=bool)
    is_transfer[rng.permutation(n)[:transfers]] = True
    n_devices = int(rng.integers(1, 4))
    kind, device, size, fixed, preds, legs = [], [], [], [], [], []
    for op in range(n):
        preds.append(sorted(int(p) for p in range(op) if rng.random() < 0.2))
        if not is_transfer[op]:
            kind.append(COMPUTE)
            device.append(int(rng.integers(n_devices)))
            size.append(0)
            fixed.append(int(rng.integers(0, 20)))
            legs.append([])
            continue
        device.append(-1)
        ring = rng.permutation(endpoints).tolist()
        length = int(rng.integers(2, endpoints + 1)) if rng.random() < 0.3 else 1
        if length == 1:
            legs.append([(ring[0], ring[1])])
        else:
            members = ring[:length]
            legs.append(list(zip(members, members[1:] + members[:1], strict=True))[: int(rng.integers(1, length + 1))])
        kind.append(GANG if len(legs[-1]) > 1 else TRANSFER)
        size.append(int(rng.integers(1, 12)))
        fixed.append(int(rng.integers(1, 15)) if rng.random() < 0.4 else -1)
    order = [[op for op in range(n) if device[op] == d] for d in range(n_devices)]
    pred_indptr, pred_index = csr(preds)
    device_indptr, device_ops = csr(order)
    flat = [leg for mine in legs for leg in mine]
    attach = np.zeros((planes, endpoints), dtype=np.int32)
    return Instance(
        op_kind=np.array(kind), op_device=np.array(device), op_bytes=np.array(size), op_fixed_ticks=np.array(fixed),
        pred_indptr=pred_indptr, pred_index=pred_index, device_indptr=device_indptr, device_ops=device_ops,
        leg_indptr=np.concatenate([[0], np.cumsum([len(mine) for mine in legs])]),
        leg_tx=np.array([a for a, _ in flat]), leg_rx=np.array([b for _, b in flat]),
        plane_rate_bps=rng.choice([8 * 10**9, 4 * 10**9], size=planes),
        plane_latency_ticks=rng.integers(0, 3, size=planes),
        plane_delay_ticks=rng.choice([0, 1, 7, 15, 15, 30], size=planes), plane_radix=np.zeros(planes),
        plane_all_stop=rng.random(planes) < 0.4, plane_duplex=rng.random(planes) < 0.4, attach=attach,
        injection_rate_bps=np.full(planes, 10**9), boundary=int(rng.integers(0, 3)),
    )  # fmt: skip


def faults(instance: Instance, starts: np.ndarray, leg_plane: np.ndarray, period: int) -> list[str]:
    """Everything that a plan breaks, pair by pair, straight from the statement of the problem (all-stop: see below).

    The epochs of an all-stop plane are the finest split into stretches with at least the delay of silence between
    them; a coarser split allows nothing more.
    """
    derived, found = derive(instance), []
    length = [
        int(
            max(
                [derived.op_ticks[op, derived.plane_class[leg_plane[leg]]] for leg in _legs(instance, op)]
                or [derived.op_ticks[op, 0]]
            )
        )
        for op in range(instance.n_ops)
    ]
    start = [int(s) for s in starts]
    end = [s + d for s, d in zip(start, length, strict=True)]
    for op in range(instance.n_ops):
        if start[op] < 0 or end[op] > period:
            found.append(f"op {op} outside [0, {period}]")
        for p in instance.pred_index[instance.pred_indptr[op] : instance.pred_indptr[op + 1]].tolist():
            if start[op] < end[p]:
                found.append(f"op {op} before its predecessor {p}")
    for d in range(instance.n_devices):
        mine = instance.device_ops[instance.device_indptr[d] : instance.device_indptr[d + 1]].tolist()
        found += [f"device order {a} {b}" for a, b in itertools.pairwise(mine) if start[b] < end[a]]
    cyclic = instance.boundary == CYCLIC
    for plane in range(instance.n_planes):
        legs = [leg for leg in range(instance.n_legs) if leg_plane[leg] == plane]
        delay = int(instance.plane_delay_ticks[plane])
        op = {leg: int(derived.leg_op[leg]) for leg in legs}
        for leg in legs:
            a, b = instance.attach[plane, instance.leg_tx[leg]], instance.attach[plane, instance.leg_rx[leg]]
            if a < 0 or a != b:
                found.append(f"leg {leg} not on plane {plane}")
            if instance.boundary == DARK and start[op[leg]] < delay:
                found.append(f"leg {leg} in the dark")
        for a, b in itertools.combinations(legs, 2):
            what = relation(instance, plane, a, b)
            gap = {"serial": 0, "switch": delay, "apart": None}[what]
            if gap is None:
                continue
            s, e, t, f = start[op[a]], end[op[a]], start[op[b]], end[op[b]]
            if t < e + gap and s < f + gap:
                found.append(f"legs {a} and {b} on plane {plane} need {gap}")
            whole = bool(instance.plane_all_stop[plane]) and delay > 0
            if cyclic and what == "switch" and not whole and (s + period < f + delay or t + period < e + delay):
                found.append(f"wrap of legs {a} and {b} on plane {plane}")
        if instance.plane_all_stop[plane] and delay > 0 and legs:
            epochs: list[list[int]] = []
            last = None
            for leg in sorted(legs, key=lambda leg: (start[op[leg]], end[op[leg]])):
                if last is None or start[op[leg]] >= last + delay:
                    epochs.append([])
                epochs[-1].append(leg)
                last = max(end[op[leg]], last or 0)
            for epoch in epochs:
                if any(relation(instance, plane, a, b) == "switch" for a, b in itertools.combinations(epoch, 2)):
                    found.append(f"all-stop plane {plane}: {epoch} is no matching")
            ends_differ = any(
                relation(instance, plane, a, b) == "switch" for a in epochs[0] for b in epochs[-1] if a != b
            )
            if (
                cyclic
                and ends_differ
                and min(start[op[x]] for x in legs) + period < max(end[op[x]] for x in legs) + delay
            ):
                found.append(f"wrap of all-stop plane {plane}")
    return found


def relation(instance: Instance, plane: int, a: int, b: int) -> str:
    """How two legs on one plane constrain each other: "serial", "switch" or "apart"."""
    ends_a, ends_b = (
        (int(instance.leg_tx[a]), int(instance.leg_rx[a])),
        (int(instance.leg_tx[b]), int(instance.leg_rx[b])),
    )
    if ends_a == ends_b:
        return "serial"
    if instance.plane_duplex[plane]:
        return "switch" if len({*ends_a} & {*ends_b}) == 1 else "apart"
    return "switch" if ends_a[0] == ends_b[0] or ends_a[1] == ends_b[1] else "apart"


def _legs(instance: Instance, op: int) -> range:
    return range(int(instance.leg_indptr[op]), int(instance.leg_indptr[op + 1]))
