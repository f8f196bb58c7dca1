"""Small jobs for the workload tests, and their DAGs as plain Python dictionaries keyed by op name."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from fluxscale.instance.names import OpLabels
from fluxscale.workload.dag import CommDag
from fluxscale.workload.spec import JobSpec, parse_job

MODEL = {"layers": 8, "hidden": 1024, "ffn": 4096, "heads": 8, "kv_heads": 8, "vocab": 32000, "seq_len": 512}


def job(
    *, model: dict[str, Any] | None = MODEL, hardware: dict[str, Any] | None = None, timing=None, **parallel
) -> JobSpec:
    document: dict[str, Any] = {
        "parallel": {"micro_batches": 4} | parallel,
        "hardware": hardware or {},
        "timing": timing or {},
    }
    if model is not None:
        document["model"] = model
    return parse_job(document)


def names(dag: CommDag) -> list[str]:
    labels = OpLabels(**dag.labels)
    return [labels.name(op) for op in range(dag.n_ops)]


def preds(dag: CommDag) -> dict[str, set[str]]:
    called = names(dag)
    assert len(set(called)) == dag.n_ops, "names are unique"
    return {
        called[op]: {called[i] for i in dag.pred_index[dag.pred_indptr[op] : dag.pred_indptr[op + 1]]}
        for op in range(dag.n_ops)
    }


def legs(dag: CommDag) -> dict[str, list[tuple[int, int]]]:
    called = names(dag)
    pairs = list(zip(dag.leg_tx.tolist(), dag.leg_rx.tolist(), strict=True))
    return {called[op]: pairs[dag.leg_indptr[op] : dag.leg_indptr[op + 1]] for op in range(dag.n_ops)}


def orders(dag: CommDag) -> list[list[str]]:
    called = names(dag)
    return [
        [called[op] for op in dag.device_ops[dag.device_indptr[d] : dag.device_indptr[d + 1]]]
        for d in range(len(dag.device_indptr) - 1)
    ]


def ideal_ns(dag: CommDag, rate_bps: int) -> int:
    """Longest path on a network without circuits; fails if there is a cycle."""
    n = dag.n_ops
    by_bytes = -(-dag.op_bytes * 8 * 10**9 // rate_bps)
    duration = np.where(dag.op_fixed_ns >= 0, dag.op_fixed_ns, by_bytes).tolist()
    waits: list[list[int]] = [dag.pred_index[dag.pred_indptr[op] : dag.pred_indptr[op + 1]].tolist() for op in range(n)]
    for d in range(len(dag.device_indptr) - 1):
        mine = dag.device_ops[dag.device_indptr[d] : dag.device_indptr[d + 1]].tolist()
        for before, after in pairwise(mine):
            waits[after].append(before)
    followers: list[list[int]] = [[] for _ in range(n)]
    for op, before in enumerate(waits):
        for other in before:
            followers[other].append(op)
    open_preds = [len(w) for w in waits]
    ready = [op for op in range(n) if not open_preds[op]]
    end = [0] * n
    done = 0
    while ready:
        op = ready.pop()
        done += 1
        end[op] = max((end[other] for other in waits[op]), default=0) + duration[op]
        for other in followers[op]:
            open_preds[other] -= 1
            if not open_preds[other]:
                ready.append(other)
    assert done == n, "the DAG has a cycle"
    return max(end)
