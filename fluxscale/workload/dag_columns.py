"""The ops of a DAG JSON document as columns: whole columns are read at once, and nothing is said about who is wrong.

Whatever does not fit raises ``Misfit``; :mod:`fluxscale.workload.dag_diagnosis` then goes through the ops one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.units import MAX_TICKS, parse_size, parse_time
from fluxscale.workload.dag import COMPUTE, GANG, TRANSFER, CommDag
from fluxscale.workload.dag_endpoints import EndpointTable
from fluxscale.workload.dag_format import KINDS, MAX_BYTES, OPTIONAL_KEYS, REQUIRED_KEYS

Ints = npt.NDArray[Any]
Op = dict[str, Any]


class Misfit(Exception):
    """Some op is not as the format asks."""


def read_columns(ops: Sequence[Op], listed: dict[str, list[str]]) -> CommDag:
    """Read all ops at once.

    Parameters
    ----------
    ops
        The document's ops.
    listed
        The document's ``endpoints``.

    Raises
    ------
    Misfit
        If any op is not as the format asks. Cycles are not looked for.
    """
    try:
        return _read(ops, listed)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, InputError) as error:
        raise Misfit from error


def _read(ops: Sequence[Op], listed: dict[str, list[str]]) -> CommDag:
    n = len(ops)
    _check_keys(ops)
    ids = [op["id"] for op in ops]
    _only(ids, str)
    number = dict(zip(ids, range(n), strict=True))
    _require(len(number) == n and "" not in number)

    kinds = np.fromiter((KINDS[op["kind"]] for op in ops), dtype=np.int8, count=n)
    pred_indptr, pred_index = _predecessors(ops, number)

    op_device = np.full(n, -1, dtype=np.int32)
    compute = np.flatnonzero(kinds == COMPUTE)
    devices = [ops[k]["device"] for k in compute.tolist()]
    _only(devices, str)
    device_number = {name: k for k, name in enumerate(dict.fromkeys(devices))}
    _require("" not in device_number)
    op_device[compute] = np.fromiter(map(device_number.__getitem__, devices), dtype=np.int32, count=len(devices))
    device_ops = compute[np.argsort(op_device[compute], kind="stable")]

    table = EndpointTable(listed, device_number)
    leg_indptr, leg_tx, leg_rx = _legs(ops, kinds, table)
    return CommDag(
        op_kind=kinds,
        op_device=op_device,
        op_bytes=_amounts(ops, "bytes", parse_size, MAX_BYTES, absent=0),
        op_fixed_ns=_amounts(ops, "duration", _positive_time, MAX_TICKS, absent=-1),
        pred_indptr=pred_indptr,
        pred_index=pred_index,
        device_indptr=_pointer(np.bincount(op_device[compute], minlength=len(device_number))),
        device_ops=device_ops.astype(np.int32),
        leg_indptr=leg_indptr,
        leg_tx=leg_tx,
        leg_rx=leg_rx,
        endpoint_rail=np.array(table.rails, dtype=np.int16),
        op_names=tuple(ids),
        device_names=tuple(device_number),
        endpoint_names=tuple(table.number),
    )


def _require(holds: bool | np.bool_) -> None:
    if not holds:
        raise Misfit


def _only(values: Sequence[object], *types: type) -> None:
    _require(set(map(type, values)) <= set(types))


def _pointer(counts: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _check_keys(ops: Sequence[Op]) -> None:
    """Few different sets of keys occur, so each is looked at once."""
    _only(ops, dict)
    for kind, *keys in {(op["kind"], *op) for op in ops}:
        required, found = set(REQUIRED_KEYS[kind]), set(keys)
        _require(required <= found <= required | set(OPTIONAL_KEYS[kind]))
        _require(("bytes" in found) != ("duration" in found))


def _predecessors(ops: Sequence[Op], number: dict[str, int]) -> tuple[Ints, Ints]:
    after = [op.get("after", ()) for op in ops]
    _only(after, list, tuple)
    n = len(ops)
    rows = np.repeat(np.arange(n, dtype=np.int64), np.fromiter(map(len, after), dtype=np.int64, count=n))
    flat = np.fromiter((number[name] for names in after for name in names), dtype=np.int64, count=len(rows))
    edges = np.unique(rows * n + flat)
    _require(not np.any(edges // n == edges % n))
    return _pointer(np.bincount(edges // n, minlength=n)), (edges % n).astype(np.int32)


def _positive_time(value: object) -> int:
    return parse_time(value, allow_zero=False)


def _amounts(ops: Sequence[Op], key: str, read: Callable[[object], int], limit: int, *, absent: int) -> Ints:
    """Column of times or sizes; the texts among them are read once each."""
    values = [op.get(key) for op in ops]
    _only(values, int, str, type(None))
    table: dict[Any, int] = {text: read(text) for text in set(values) if type(text) is str}
    there = np.fromiter((key in op for op in ops), dtype=bool, count=len(ops))
    column = np.array([table.get(value, value) if value is not None else absent for value in values], dtype=np.int64)
    _require(np.all((column[there] > 0) & (column[there] <= limit)))
    return column


def _legs(ops: Sequence[Op], kinds: Ints, table: EndpointTable) -> tuple[Ints, Ints, Ints]:
    counts = np.zeros(len(ops), dtype=np.int64)
    counts[kinds == TRANSFER] = 1
    transfers = [ops[k] for k in np.flatnonzero(kinds == TRANSFER).tolist()]
    gangs = [ops[k]["circuits"] for k in np.flatnonzero(kinds == GANG).tolist()]
    _only(gangs, list, tuple)
    counts[kinds == GANG] = np.fromiter(map(len, gangs), dtype=np.int64, count=len(gangs))
    _require(np.all(counts[kinds == GANG] > 0))
    circuits = [circuit for gang in gangs for circuit in gang]
    _only(circuits, list, tuple)
    _require(set(map(len, circuits)) <= {2})

    names = [end for op in transfers for end in (op["src"], op["dst"])] + [end for pair in circuits for end in pair]
    _only(names, str)
    _require("" not in names)
    ends = table.numbers(names).reshape(-1, 2)
    _require(not np.any(ends[:, 0] == ends[:, 1]))

    op_of_leg = np.repeat(np.arange(len(ops)), counts)
    is_gang = kinds[op_of_leg] == GANG
    legs = np.empty((len(op_of_leg), 2), dtype=np.int32)
    legs[~is_gang] = ends[: len(transfers)]
    legs[is_gang] = ends[len(transfers) :]
    base = len(table.number) + 1
    circuit = legs[is_gang, 0].astype(np.int64) * base + legs[is_gang, 1]
    order = np.lexsort((circuit, op_of_leg[is_gang]))
    same = (np.diff(circuit[order]) == 0) & (np.diff(op_of_leg[is_gang][order]) == 0)
    _require(not np.any(same))
    return _pointer(counts), legs[:, 0].copy(), legs[:, 1].copy()
