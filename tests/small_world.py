"""Small instances written by hand, schedules made one op at a time, and optima by brute force: slow and obvious."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fluxscale.instance.derived import derive
from fluxscale.instance.instance import COMPUTE, CYCLIC, DARK, GANG, LOCAL, PRESET, TRANSFER, Instance

__all__ = ["CYCLIC", "DARK", "PRESET", "Op", "Plane", "build", "objective", "optimum", "replicas", "serial"]


@dataclass
class Plane:
    """A plane: 1 byte takes 1 tick at the default rate."""

    delay: int = 0
    rate: int = 8 * 10**9
    latency: int = 0
    duplex: bool = False
    all_stop: bool = False
    endpoints: Sequence[int] | None = None


@dataclass
class Op:
    """An op: compute with a device, transfer or gang with legs, local otherwise."""

    ticks: int = -1
    after: Sequence[int] = ()
    device: int = -1
    legs: Sequence[tuple[int, int]] = ()
    size: int = 0
    kind: int = field(init=False)

    def __post_init__(self) -> None:
        self.kind = (
            COMPUTE if self.device >= 0 else LOCAL if not self.legs else TRANSFER if len(self.legs) == 1 else GANG
        )


def build(
    ops: Sequence[Op], planes: Sequence[Plane] = (Plane(),), boundary: int = PRESET, endpoints: int | None = None
) -> Instance:
    """Columns of a list of ops; a device runs its ops in the order of the list."""
    legs = [leg for op in ops for leg in op.legs]
    n_endpoints = endpoints if endpoints is not None else 1 + max((max(leg) for leg in legs), default=-1)
    n_devices = 1 + max((op.device for op in ops), default=-1)
    on_device = [[i for i, op in enumerate(ops) if op.device == d] for d in range(n_devices)]
    attach = np.full((len(planes), n_endpoints), -1)
    for p, plane in enumerate(planes):
        attach[p, list(range(n_endpoints) if plane.endpoints is None else plane.endpoints)] = 0

    def pointer(sizes: Sequence[int]) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64))]).astype(np.int64)

    return Instance(
        op_kind=np.array([op.kind for op in ops]),
        op_device=np.array([op.device for op in ops]),
        op_bytes=np.array([op.size for op in ops]),
        op_fixed_ticks=np.array([op.ticks for op in ops]),
        pred_indptr=pointer([len(op.after) for op in ops]),
        pred_index=np.array([p for op in ops for p in op.after], dtype=np.int64),
        device_indptr=pointer([len(row) for row in on_device]),
        device_ops=np.array([i for row in on_device for i in row], dtype=np.int64),
        leg_indptr=pointer([len(op.legs) for op in ops]),
        leg_tx=np.array([leg[0] for leg in legs], dtype=np.int64),
        leg_rx=np.array([leg[1] for leg in legs], dtype=np.int64),
        plane_rate_bps=np.array([p.rate for p in planes]),
        plane_latency_ticks=np.array([p.latency for p in planes]),
        plane_delay_ticks=np.array([p.delay for p in planes]),
        plane_radix=np.zeros(len(planes)),
        plane_all_stop=np.array([p.all_stop for p in planes]),
        plane_duplex=np.array([p.duplex for p in planes]),
        attach=attach,
        injection_rate_bps=np.array([p.rate for p in planes]),
        boundary=boundary,
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


def ticks_of(instance: Instance, op: int, leg_plane: Sequence[int]) -> int:
    """Duration of an op on the planes that its legs take."""
    if instance.op_fixed_ticks[op] >= 0:
        return int(instance.op_fixed_ticks[op])
    bits = int(instance.op_bytes[op]) * 8
    planes = [leg_plane[leg] for leg in range(instance.leg_indptr[op], instance.leg_indptr[op + 1])]
    return max(
        int(instance.plane_latency_ticks[p]) - (-bits * 10**9 // int(instance.plane_rate_bps[p])) for p in planes
    )


def lanes(instance: Instance, leg: int, plane: int) -> list[tuple[object, tuple[int, int], int]]:
    """(port, circuit, direction) at both ends of a leg."""
    tx, rx = int(instance.leg_tx[leg]), int(instance.leg_rx[leg])
    if instance.plane_duplex[plane]:
        return [((plane, e), (min(tx, rx), max(tx, rx)), int(tx < rx)) for e in (tx, rx)]
    return [((plane, tx, "tx"), (tx, rx), 0), ((plane, rx, "rx"), (tx, rx), 0)]


def serial(instance: Instance, order: Sequence[int], leg_plane: Sequence[int]) -> list[int] | None:
    """Start the ops one by one, each as early as those before it allow (per-port rule); None if a gang clashes."""
    preds = preds_of(instance)
    start, end = [0] * instance.n_ops, [0] * instance.n_ops
    on_port: dict[object, list[tuple[tuple[int, int], int, int]]] = {}
    for op in order:
        at = max((end[p] for p in preds[op]), default=0)
        held: dict[object, list[tuple[tuple[int, int], int]]] = {}
        for leg in range(instance.leg_indptr[op], instance.leg_indptr[op + 1]):
            plane = leg_plane[leg]
            delay = int(instance.plane_delay_ticks[plane])
            at = max(at, delay if instance.boundary == DARK else 0)
            for port, circuit, way in lanes(instance, leg, plane):
                if any(c != circuit or w == way for c, w in held.get(port, [])):
                    return None
                held.setdefault(port, []).append((circuit, way))
                for other, other_way, until in on_port.get(port, []):
                    if other != circuit:
                        at = max(at, until + delay)
                    elif other_way == way:
                        at = max(at, until)
        start[op], end[op] = at, at + ticks_of(instance, op, leg_plane)
        for port, taken in held.items():
            on_port.setdefault(port, []).extend((circuit, way, end[op]) for circuit, way in taken)
    return start


def objective(instance: Instance, start: Sequence[int], leg_plane: Sequence[int]) -> int:
    """Iteration time, or the period when cyclic (per-port rule)."""
    end = [start[i] + ticks_of(instance, i, leg_plane) for i in range(instance.n_ops)]
    value = max(end, default=0)
    if instance.boundary == CYCLIC:
        op_of = np.repeat(np.arange(instance.n_ops), np.diff(instance.leg_indptr)).tolist()
        uses = [
            (port, circuit, leg, plane)
            for leg, plane in enumerate(leg_plane)
            for port, circuit, _ in lanes(instance, leg, plane)
        ]
        for port, circuit, i, plane in uses:
            for other_port, other, j, _ in uses:
                if port == other_port and circuit != other:
                    value = max(value, end[op_of[i]] + int(instance.plane_delay_ticks[plane]) - start[op_of[j]])
    return value


def plane_choices(instance: Instance) -> list[tuple[int, ...]]:
    """Every way to put the legs on planes."""
    derived = derive(instance)
    rows = [
        derived.leg_planes[derived.leg_plane_indptr[k] : derived.leg_plane_indptr[k + 1]].tolist()
        for k in range(instance.n_legs)
    ]
    return list(itertools.product(*rows))


def optimum(instance: Instance) -> tuple[int, list[int], tuple[int, ...]] | None:
    """Best (value, starts, planes) over every order and every choice of planes (not cyclic, per-port rule)."""
    preds = preds_of(instance)
    best = None

    def orders(done: tuple[int, ...]) -> itertools.chain[tuple[int, ...]] | list[tuple[int, ...]]:
        if len(done) == instance.n_ops:
            return [done]
        ready = [i for i in range(instance.n_ops) if i not in done and all(p in done for p in preds[i])]
        return itertools.chain.from_iterable(orders((*done, i)) for i in ready)

    for leg_plane in plane_choices(instance):
        for order in orders(()):
            start = serial(instance, order, leg_plane)
            if start is not None:
                value = objective(instance, start, leg_plane)
                if best is None or value < best[0]:
                    best = (value, start, leg_plane)
    return best


def replicas(
    stages: int = 3,
    copies: int = 2,
    rails: int = 1,
    micro_batches: int = 2,
    *,
    delay: int = 5,
    boundary: int = DARK,
    ring: bool = True,
) -> Instance:
    """Data-parallel copies of a GPipe pipeline; a plane for each rail; in the end rings tie the copies."""
    ops: list[Op] = []
    ring_after: dict[tuple[int, int], list[int]] = {}

    def endpoint(stage: int, copy: int, rail: int) -> int:
        return (stage * copies + copy) * rails + rail

    for copy in range(copies):
        arrived: dict[tuple[int, int, int], list[int]] = {}
        for way in (0, 1):
            for m in range(micro_batches):
                for stage in range(stages) if way == 0 else reversed(range(stages)):
                    ops.append(
                        Op(ticks=3 + 3 * way, after=arrived.get((way, m, stage), []), device=stage * copies + copy)
                    )
                    done = len(ops) - 1
                    peer = stage + 1 - 2 * way
                    if 0 <= peer < stages:
                        for rail in range(rails):
                            ends = (endpoint(stage, copy, rail), endpoint(peer, copy, rail))
                            ops.append(Op(size=2, after=[done], legs=[ends]))
                            arrived.setdefault((way, m, peer), []).append(len(ops) - 1)
                    elif way == 0:
                        arrived.setdefault((1, m, stage), []).append(done)
                    if way == 1 and m == micro_batches - 1:
                        ring_after.setdefault((stage, copy), []).append(done)
    if ring and copies > 1:
        for stage in range(stages):
            for rail in range(rails):
                legs = [(endpoint(stage, c, rail), endpoint(stage, (c + 1) % copies, rail)) for c in range(copies)]
                ops.append(Op(size=7, after=[p for c in range(copies) for p in ring_after[stage, c]], legs=legs))
    n_endpoints = stages * copies * rails
    planes = [Plane(delay=delay, endpoints=range(rail, n_endpoints, rails)) for rail in range(rails)]
    return build(ops, planes, boundary, n_endpoints)
