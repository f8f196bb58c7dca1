"""Kernel that orders the ops of a DAG, precedence and device order together (Kahn's algorithm)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale._numba import kernel

Ints = npt.NDArray[Any]


@kernel
def topological_order(pred_indptr: Ints, pred_index: Ints, device_indptr: Ints, device_ops: Ints) -> tuple[Ints, int]:
    """Order the ops so that each comes after its predecessors and after the op before it on its device.

    Parameters
    ----------
    pred_indptr, pred_index
        CSR of predecessors.
    device_indptr, device_ops
        CSR of each device's ops in order.

    Returns
    -------
    order
        int32 ``[n]``; only the first ``count`` entries mean something.
    count
        Ops that could be ordered: n, or less if there is a cycle (the ops on and behind cycles are missing).
    """
    n = len(pred_indptr) - 1
    waits = np.zeros(n, dtype=np.int32)
    succ_indptr = np.zeros(n + 1, dtype=np.int64)
    for op in range(n):
        waits[op] = pred_indptr[op + 1] - pred_indptr[op]
    for edge in range(len(pred_index)):
        succ_indptr[pred_index[edge] + 1] += 1
    for op in range(n):
        succ_indptr[op + 1] += succ_indptr[op]
    fill = succ_indptr[:-1].copy()
    succ_index = np.empty(len(pred_index), dtype=np.int32)
    for op in range(n):
        for edge in range(pred_indptr[op], pred_indptr[op + 1]):
            pred = pred_index[edge]
            succ_index[fill[pred]] = op
            fill[pred] += 1
    next_on_device = np.full(n, -1, dtype=np.int32)
    for device in range(len(device_indptr) - 1):
        for place in range(device_indptr[device] + 1, device_indptr[device + 1]):
            next_on_device[device_ops[place - 1]] = device_ops[place]
            waits[device_ops[place]] += 1

    order = np.empty(n, dtype=np.int32)
    count = 0
    for op in range(n):
        if waits[op] == 0:
            order[count] = op
            count += 1
    done = 0
    while done < count:
        op = order[done]
        done += 1
        for edge in range(succ_indptr[op], succ_indptr[op + 1]):
            after = succ_index[edge]
            waits[after] -= 1
            if waits[after] == 0:
                order[count] = after
                count += 1
        after = next_on_device[op]
        if after >= 0:
            waits[after] -= 1
            if waits[after] == 0:
                order[count] = after
                count += 1
    return order, count
