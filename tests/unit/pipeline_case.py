"""The 1F1B pipeline of the measured facts, built by hand: one plane, simplex, per-port, preset."""

from __future__ import annotations

import numpy as np

from fluxscale.instance.instance import COMPUTE, PRESET, TRANSFER, Instance

MS = 1_000_000


def csr(lists: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    indptr = np.concatenate([[0], np.cumsum([len(x) for x in lists])]).astype(np.int64)
    return indptr, np.array([y for x in lists for y in x], dtype=np.int64)


def pipeline(
    stages: int,
    micro_batches: int,
    delay: int = 20 * MS,
    boundary: int = PRESET,
    forward: int = 3 * MS,
    backward: int = 6 * MS,
    transfer: int = 400_000,
) -> Instance:
    """1F1B: stage s warms up with min(S - 1 - s, M) forwards; activations go up the stages, gradients down."""
    kind, device, fixed, preds, legs = [], [], [], [], []
    index: dict[tuple[str, int, int], int] = {}

    def add(key, op_kind, op_device, ticks, leg=None):
        index[key] = len(kind)
        kind.append(op_kind)
        device.append(op_device)
        fixed.append(ticks)
        preds.append([])
        legs.append([] if leg is None else [leg])

    for m in range(micro_batches):
        for s in range(stages):
            add(("F", s, m), COMPUTE, s, forward)
            add(("B", s, m), COMPUTE, s, backward)
            if s + 1 < stages:
                add(("act", s, m), TRANSFER, -1, transfer, (s, s + 1))
                add(("grad", s + 1, m), TRANSFER, -1, transfer, (s + 1, s))
    for m in range(micro_batches):
        for s in range(stages):
            if s + 1 < stages:
                preds[index["act", s, m]].append(index["F", s, m])
                preds[index["F", s + 1, m]].append(index["act", s, m])
                preds[index["grad", s + 1, m]].append(index["B", s + 1, m])
                preds[index["B", s, m]].append(index["grad", s + 1, m])
            preds[index["B", s, m]].append(index["F", s, m])
    order = []
    for s in range(stages):
        warm = min(stages - 1 - s, micro_batches)
        mine = [index["F", s, m] for m in range(warm)]
        for m in range(micro_batches - warm):
            mine += [index["F", s, warm + m], index["B", s, m]]
        order.append(mine + [index["B", s, m] for m in range(micro_batches - warm, micro_batches)])
    pred_indptr, pred_index = csr(preds)
    device_indptr, device_ops = csr(order)
    leg_indptr = np.concatenate([[0], np.cumsum([len(x) for x in legs])])
    flat = [leg for x in legs for leg in x]
    n = len(kind)
    return Instance(
        op_kind=np.array(kind),
        op_device=np.array(device),
        op_bytes=np.zeros(n, dtype=np.int64),
        op_fixed_ticks=np.array(fixed),
        pred_indptr=pred_indptr,
        pred_index=pred_index,
        device_indptr=device_indptr,
        device_ops=device_ops,
        leg_indptr=leg_indptr,
        leg_tx=np.array([a for a, _ in flat], dtype=np.int32),
        leg_rx=np.array([b for _, b in flat], dtype=np.int32),
        plane_rate_bps=np.array([400 * 10**9]),
        plane_latency_ticks=np.array([0]),
        plane_delay_ticks=np.array([delay]),
        plane_radix=np.array([0]),
        plane_all_stop=np.array([False]),
        plane_duplex=np.array([False]),
        attach=np.zeros((1, stages), dtype=np.int32),
        injection_rate_bps=np.array([400 * 10**9]),
        boundary=boundary,
    )
