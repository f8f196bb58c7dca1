"""Finds ops that wait for each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fluxscale.errors import InputError
from fluxscale.kernels.toposort import topological_order
from fluxscale.workload.dag import CommDag

SHOWN = 12


def refuse_cycle(dag: CommDag, *, file: object = None) -> None:
    """Raise if ops wait for each other in a circle, by precedence or by their order on a device.

    Parameters
    ----------
    dag
        The DAG.
    file
        For the message.

    Raises
    ------
    InputError
        With the ids along the cycle.
    """
    order, count = topological_order(dag.pred_indptr, dag.pred_index, dag.device_indptr, dag.device_ops)
    if count == dag.n_ops:
        return
    stuck = np.ones(dag.n_ops, dtype=bool)
    stuck[order[:count]] = False
    before = np.full(dag.n_ops, -1, dtype=np.int64)
    inner = np.ones(len(dag.device_ops), dtype=bool)
    inner[dag.device_indptr[:-1][np.diff(dag.device_indptr) > 0]] = False
    places = np.flatnonzero(inner)
    before[dag.device_ops[places]] = dag.device_ops[places - 1]
    raise _error(dag, _walk_back(dag, stuck, before), before, file)


def _walk_back(dag: CommDag, stuck: Sequence[bool] | np.ndarray, before: np.ndarray) -> list[int]:
    """Go from a stuck op to a stuck one that it waits for (there always is one), and on, until an op comes again."""
    op = int(np.argmax(stuck))
    place: dict[int, int] = {}
    path: list[int] = []
    while op not in place:
        place[op] = len(path)
        path.append(op)
        waits = dag.pred_index[dag.pred_indptr[op] : dag.pred_indptr[op + 1]].tolist()
        if before[op] >= 0:
            waits.append(int(before[op]))
        op = next(other for other in waits if stuck[other])
    cycle = path[place[op] :][::-1]
    first = cycle.index(min(cycle))
    return [*cycle[first:], *cycle[:first]]


def _error(dag: CommDag, cycle: list[int], before: np.ndarray, file: object) -> InputError:
    names = [dag.op_names[op] if dag.op_names else f"op{op}" for op in cycle]
    shown = names[:SHOWN] + ([f"({len(names) - SHOWN} more)"] if len(names) > SHOWN else [])
    text = f"ops wait for each other in a cycle: {' -> '.join([*shown, names[0]])}"
    for k, op in enumerate(cycle):
        prev = cycle[k - 1]
        explicit = dag.pred_index[dag.pred_indptr[op] : dag.pred_indptr[op + 1]]
        if before[op] == prev and prev not in explicit:
            device = dag.device_names[int(dag.op_device[op])] if dag.device_names else f"dev{dag.op_device[op]}"
            maybe = f"{names[k - 1]} comes before {names[k]} only by the order on device {device}; change that order."
            return InputError(text, file=file, maybe=maybe)
    return InputError(text, file=file)
