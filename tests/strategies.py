"""Small instances for tests: a readable builder, a random generator of mixed families, optima by brute force."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from fluxscale.instance.instance import COMPUTE, CYCLIC, DARK, GANG, LOCAL, PRESET, TRANSFER, Instance
from fluxscale.instance.names import Names
from tests.brute import brute_force

__all__ = ["CYCLIC", "DARK", "FAMILIES", "PRESET", "Bytes", "brute_force", "build", "instances", "random_instance"]

BYTE_PER_TICK = 8 * 10**9
"""Rate at which one byte takes one tick of 1 ns."""


class Bytes(NamedTuple):
    """Duration of a transfer or gang that follows from its bytes and the plane's rate."""

    size: int


def build(
    ops: Sequence[Sequence[Any]],
    *,
    delay: int | Sequence[int] = 10,
    planes: int | None = None,
    rate: int | Sequence[int] = BYTE_PER_TICK,
    latency: int | Sequence[int] = 0,
    duplex: bool | Sequence[bool] = False,
    all_stop: bool | Sequence[bool] = False,
    radix: int | Sequence[int] = 0,
    boundary: int = PRESET,
    attach: Sequence[Sequence[int]] | None = None,
    endpoints: int | None = None,
    tick_ns: int = 1,
    nic_buffer_bytes: int = 0,
) -> Instance:
    """Columns of a list of ops; a device runs its compute ops in the order of the list.

    An op is ``("compute", device, ticks, [preds])``, ``("transfer", src, dst, ticks, [preds])``,
    ``("local", ticks, [preds])`` or ``("gang", [(src, dst), ...], ticks, [preds])``; preds are op numbers and may be
    left out; ``Bytes(n)`` may stand for the ticks of a transfer or gang. Devices are texts, endpoints numbers. What is
    given per plane may be one value for all.
    """
    rows = [_row(op) for op in ops]
    n_planes = planes or max(
        [len(v) for v in (delay, rate, latency, duplex, all_stop, radix, attach or []) if isinstance(v, Sequence)] + [1]
    )
    legs = [leg for row in rows for leg in row.legs]
    n_endpoints = endpoints or (len(attach[0]) if attach else 1 + max((max(leg) for leg in legs), default=0))
    devices = list(dict.fromkeys(row.device for row in rows if row.device is not None))
    order = [[i for i, row in enumerate(rows) if row.device == name] for name in devices]

    def plane_column(value: Any) -> np.ndarray:
        return np.array(list(value) if isinstance(value, Sequence) else [value] * n_planes)

    return Instance(
        op_kind=np.array([row.kind for row in rows], dtype=np.int8),
        op_device=np.array([-1 if row.device is None else devices.index(row.device) for row in rows], dtype=np.int32),
        op_bytes=np.array([row.ticks.size if isinstance(row.ticks, Bytes) else 0 for row in rows], dtype=np.int64),
        op_fixed_ticks=np.array([-1 if isinstance(row.ticks, Bytes) else row.ticks for row in rows], dtype=np.int64),
        pred_indptr=_pointer([row.preds for row in rows]),
        pred_index=_flat([row.preds for row in rows]),
        device_indptr=_pointer(order),
        device_ops=_flat(order),
        leg_indptr=_pointer([row.legs for row in rows]),
        leg_tx=np.array([tx for tx, _ in legs], dtype=np.int32),
        leg_rx=np.array([rx for _, rx in legs], dtype=np.int32),
        plane_rate_bps=plane_column(rate),
        plane_latency_ticks=plane_column(latency),
        plane_delay_ticks=plane_column(delay),
        plane_radix=plane_column(radix),
        plane_all_stop=plane_column(all_stop),
        plane_duplex=plane_column(duplex),
        attach=np.zeros((n_planes, n_endpoints)) if attach is None else np.array(attach),
        injection_rate_bps=plane_column(rate),
        boundary=boundary,
        tick_ns=tick_ns,
        nic_buffer_bytes=nic_buffer_bytes,
        names=Names(devices=devices),
    )


@dataclass(frozen=True)
class _Row:
    kind: int
    device: str | None
    legs: tuple[tuple[int, int], ...]
    ticks: int | Bytes
    preds: tuple[int, ...]


def _row(op: Sequence[Any]) -> _Row:
    kind, *rest = op
    n_fields = {"compute": 2, "transfer": 3, "gang": 2, "local": 1}[kind]
    preds = tuple(rest[n_fields]) if len(rest) > n_fields else ()
    if kind == "compute":
        return _Row(COMPUTE, rest[0], (), rest[1], preds)
    if kind == "transfer":
        return _Row(TRANSFER, None, ((rest[0], rest[1]),), rest[2], preds)
    if kind == "gang":
        return _Row(GANG, None, tuple(tuple(leg) for leg in rest[0]), rest[1], preds)
    return _Row(LOCAL, None, (), rest[0], preds)


def _pointer(rows: Sequence[Sequence[Any]]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)]).astype(np.int64)


def _flat(rows: Sequence[Sequence[int]]) -> np.ndarray:
    return np.array([x for row in rows for x in row], dtype=np.int32)


FAMILIES = ("dag", "pipeline", "burst")


def random_instance(
    rng: np.random.Generator,
    *,
    max_transfers: int = 7,
    family: str | None = None,
    gangs: bool = True,
    max_planes: int = 2,
    duplex: bool | None = None,
    all_stop: bool | None = None,
    boundary: int | None = None,
    several_ocs: bool = True,
    max_delay: int = 20,
    max_endpoints: int = 5,
) -> Instance:
    """Draw a small instance that has a schedule; what is left None is drawn too.

    ``family`` is one of ``FAMILIES``; ``max_transfers`` counts gangs too, and ``gangs`` allows rings and pairs that
    hold several circuits; ``duplex`` and ``all_stop`` hold for all planes or are drawn for each; ``several_ocs`` allows
    planes of two switches and endpoints that are missing from a plane; ``max_delay`` is in ticks.
    """
    while True:
        n_planes = int(rng.integers(1, max_planes + 1))
        n_endpoints = int(rng.integers(2, max_endpoints + 1))
        attach = np.zeros((n_planes, n_endpoints), dtype=np.int32)
        if several_ocs and n_endpoints >= 4 and rng.random() < 0.25:
            attach[0] = rng.integers(-1 if n_planes > 1 else 0, 2, size=n_endpoints)
        duplexes = [bool(rng.random() < 0.4) if duplex is None else duplex for _ in range(n_planes)]
        alike = rng.random() < 0.4  # all planes of one kind, as in most fabrics

        def per_plane(choices: Sequence[int], alike: bool = alike, n_planes: int = n_planes) -> list[int]:
            drawn = [int(rng.choice(choices)) for _ in range(n_planes)]
            return drawn[:1] * n_planes if alike else drawn

        reachable = [
            (a, b)
            for a, b in itertools.permutations(range(n_endpoints), 2)
            if any(attach[p, a] == attach[p, b] >= 0 for p in range(n_planes))
        ]
        if not reachable:
            continue
        chosen = family or FAMILIES[int(rng.integers(len(FAMILIES)))]
        make = {"dag": _random_dag, "pipeline": _random_pipeline, "burst": _random_burst}[chosen]
        ops = make(rng, reachable, n_endpoints, max_transfers, gangs)
        legs = [_row(op).legs for op in ops]
        if not any(legs) or not all(_placeable(of_op, attach, duplexes) for of_op in legs):
            continue
        return build(
            ops,
            delay=per_plane([d for d in (0, 1, 3, 7, 12, 20, max_delay) if d <= max_delay]),
            rate=per_plane([BYTE_PER_TICK, BYTE_PER_TICK // 2, BYTE_PER_TICK * 2 // 3]),
            latency=per_plane([0, 0, 1, 4]),
            duplex=duplexes,
            all_stop=[bool(rng.random() < 0.35) if all_stop is None else all_stop for _ in range(n_planes)],
            boundary=int(rng.integers(3)) if boundary is None else boundary,
            attach=attach.tolist(),
        )


def _placeable(legs: Sequence[tuple[int, int]], attach: np.ndarray, duplexes: Sequence[bool]) -> bool:
    """Whether the legs of one op can be spread over planes so that no port holds two circuits."""
    return any(
        all(attach[p, tx] == attach[p, rx] >= 0 for p, (tx, rx) in zip(planes, legs, strict=True))
        and not any(
            p == q and _clash(a, b, duplexes[p])
            for (p, a), (q, b) in itertools.combinations(zip(planes, legs, strict=True), 2)
        )
        for planes in itertools.product(range(len(attach)), repeat=len(legs))
    )


def _clash(a: tuple[int, int], b: tuple[int, int], duplex: bool) -> bool:
    """Whether two legs cannot run at once on one plane."""
    if duplex:
        return a == b or (set(a) != set(b) and bool(set(a) & set(b)))
    return a[0] == b[0] or a[1] == b[1]


def _ticks(rng: np.random.Generator) -> int | Bytes:
    return Bytes(int(rng.integers(1, 16))) if rng.random() < 0.6 else int(rng.integers(1, 16))


def _gang(rng: np.random.Generator, n_endpoints: int) -> list[tuple[int, int]]:
    """A ring, or pairs, over some of the endpoints."""
    members = rng.permutation(n_endpoints)[: int(rng.integers(2, min(n_endpoints, 4) + 1))].tolist()
    if rng.random() < 0.5:
        return list(zip(members, members[1:] + members[:1], strict=True))
    pairs = list(zip(members[::2], members[1::2], strict=False))
    return [leg for a, b in pairs for leg in ((a, b), (b, a))]


Pairs = list[tuple[int, int]]


def _random_dag(rng: np.random.Generator, reachable: Pairs, n_endpoints: int, most: int, gangs: bool) -> list[Any]:
    """Ops of any kind, each after a few earlier ones."""
    kinds = ["transfer"] * int(rng.integers(1, most + 1))
    kinds += ["compute"] * int(rng.integers(0, 6)) + ["local"] * int(rng.integers(0, 2))
    density = rng.choice([0.1, 0.3])
    ops: list[Any] = []
    for i, kind in enumerate(rng.permutation(kinds).tolist()):
        preds = [p for p in range(i) if rng.random() < density]
        if kind == "compute":
            ops.append(("compute", f"d{int(rng.integers(3))}", int(rng.integers(0, 16)), preds))
        elif kind == "local":
            ops.append(("local", int(rng.integers(0, 10)), preds))
        elif gangs and rng.random() < 0.3:
            ops.append(("gang", _gang(rng, n_endpoints), _ticks(rng), preds))
        else:
            tx, rx = reachable[int(rng.integers(len(reachable)))]
            ops.append(("transfer", tx, rx, _ticks(rng), preds))
    return ops


def _random_pipeline(rng: np.random.Generator, reachable: Pairs, n_endpoints: int, most: int, gangs: bool) -> list[Any]:
    """A 1F1B pipeline over a chain of endpoints, with a last gang over all stages where that fits."""
    shapes = [(s, m) for s in (2, 3, 4) for m in (1, 2, 3, 4) if s <= n_endpoints and 2 * (s - 1) * m <= most]
    if not shapes:
        return _random_dag(rng, reachable, n_endpoints, most, gangs)
    stages, micro_batches = shapes[int(rng.integers(len(shapes)))]
    forward, backward, transfer = int(rng.integers(1, 8)), int(rng.integers(1, 12)), _ticks(rng)
    ends = rng.permutation(n_endpoints).tolist()
    orders = [_one_f_one_b(s, stages, micro_batches) for s in range(stages)]
    ops: list[Any] = []
    sent: dict[tuple[str, int, int], int] = {}
    while any(orders):
        for stage in range(stages):
            if not orders[stage]:
                continue
            way, m = orders[stage][0]
            step = 1 if way == "F" else -1
            inputs = [(way, m, stage)] if 0 <= stage - step < stages else []
            if any(key not in sent for key in inputs):
                continue
            orders[stage].pop(0)
            ticks = forward if way == "F" else backward
            ops.append(("compute", f"s{stage}", ticks, [sent[key] for key in inputs]))
            if 0 <= stage + step < stages:
                ops.append(("transfer", ends[stage], ends[stage + step], transfer, [len(ops) - 1]))
                sent[way, m, stage + step] = len(ops) - 1
    if gangs and 2 * (stages - 1) * micro_batches < most and rng.random() < 0.5:
        ops.append(("gang", _gang(rng, n_endpoints), _ticks(rng), [len(ops) - 1]))
    return ops


def _one_f_one_b(stage: int, stages: int, micro_batches: int) -> list[tuple[str, int]]:
    """Order of one stage: warm up with forwards, then one backward for each forward."""
    warm = min(stages - 1 - stage, micro_batches)
    order = [("F", m) for m in range(warm)]
    for m in range(micro_batches - warm):
        order += [("F", warm + m), ("B", m)]
    return order + [("B", m) for m in range(micro_batches - warm, micro_batches)]


def _random_burst(rng: np.random.Generator, reachable: Pairs, n_endpoints: int, most: int, gangs: bool) -> list[Any]:
    """All-to-all between endpoints (as many pairs as allowed), each after its sender's compute op; then another."""
    chosen = [reachable[k] for k in rng.permutation(len(reachable))[:most]]
    ops: list[Any] = [("compute", f"e{e}", int(rng.integers(0, 10)), []) for e in range(n_endpoints)]
    ops += [("transfer", tx, rx, _ticks(rng), [tx]) for tx, rx in chosen]
    if gangs and len(chosen) < most and rng.random() < 0.5:
        ops.append(("gang", _gang(rng, n_endpoints), _ticks(rng), []))
    arrived = [i for i, op in enumerate(ops) if op[0] == "transfer" and op[2] == 0]
    ops.append(("compute", "e0", int(rng.integers(0, 10)), arrived))
    return ops


def instances(**options: Any) -> st.SearchStrategy[Instance]:
    """Hypothesis strategy over ``random_instance`` (options as there)."""
    return st.integers(0, 2**32 - 1).map(lambda seed: random_instance(np.random.default_rng(seed), **options))
