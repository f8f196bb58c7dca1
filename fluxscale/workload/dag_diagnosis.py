"""Says which op of a DAG JSON document is wrong, and how: one op at a time, once the quick reading has failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from fluxscale.errors import InputError, did_you_mean
from fluxscale.units import MAX_TICKS, parse_size, parse_time
from fluxscale.workload.dag_endpoints import EndpointTable
from fluxscale.workload.dag_format import KINDS, MAX_BYTES, OPTIONAL_KEYS, REQUIRED_KEYS


def diagnose(ops: Sequence[Any], listed: dict[str, list[str]], *, file: object = None) -> NoReturn:
    """Raise the error of the first op that is not as the format asks.

    Parameters
    ----------
    ops
        The document's ops.
    listed
        The document's ``endpoints``.
    file
        For messages.

    Raises
    ------
    InputError
        Always: with op, field, value and remedy.
    """
    seen: set[str] = set()
    for k, op in enumerate(ops):
        _check_op(op, f"ops[{k}]", file)
        if op["id"] in seen:
            raise InputError("this id is given twice", file=file, field=f"ops[{k}].id", value=op["id"])
        seen.add(op["id"])
    devices = dict.fromkeys(op["device"] for op in ops if op["kind"] == "compute")
    table = EndpointTable(listed, devices)
    for op in ops:
        _check_after(op, seen, file)
        _check_circuits(op, table, file)
    raise InputError("cannot be read as a list of ops", file=file, field="ops")


def _check_op(op: Any, place: str, file: object) -> None:
    if not isinstance(op, dict):
        raise InputError("must be an object", file=file, field=place, value=op)
    if "id" not in op:
        raise InputError("is required but absent", file=file, field=f"{place}.id")
    name = op["id"]
    _name(name, f"{place}.id", file)
    place = f"op {name!r}"
    if "kind" not in op:
        raise InputError("kind is required but absent", file=file, field=place, maybe=did_you_mean("", KINDS))
    kind = op["kind"]
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(
            "unknown kind", file=file, field=f"{place}: kind", value=kind, maybe=did_you_mean(str(kind), KINDS)
        )
    known = REQUIRED_KEYS[kind] + OPTIONAL_KEYS[kind]
    for key in op:
        if key not in known:
            raise InputError(f"unknown key {key!r} of a {kind}", file=file, field=place, maybe=did_you_mean(key, known))
    for key in REQUIRED_KEYS[kind]:
        if key not in op:
            raise InputError(f"{key} is required but absent", file=file, field=place)
    if ("bytes" in op) == ("duration" in op):
        which = "both" if "bytes" in op else "neither"
        raise InputError(f"must have bytes or a duration, but has {which}", file=file, field=place)
    _check_amounts(op, place, file)
    if kind == "compute":
        _name(op["device"], f"{place}: device", file)
    elif kind == "transfer":
        for key in ("src", "dst"):
            _name(op[key], f"{place}: {key}", file)
    elif kind == "gang":
        _check_pairs(op["circuits"], f"{place}: circuits", file)


def _name(value: object, field: str, file: object) -> None:
    if not isinstance(value, str) or not value:
        raise InputError("must be a text that is not empty", file=file, field=field, value=value)


def _check_amounts(op: dict[str, Any], place: str, file: object) -> None:
    for key, reader, limit in (("duration", parse_time, MAX_TICKS), ("bytes", parse_size, MAX_BYTES)):
        if key not in op:
            continue
        value, field = op[key], f"{place}: {key}"
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            unit = "ns" if key == "duration" else "bytes"
            raise InputError(
                f"must be a whole number of {unit} or a text with a unit", file=file, field=field, value=value
            )
        if reader(value, allow_zero=False, file=file, field=field) > limit:
            raise InputError(f"is larger than {limit}", file=file, field=field, value=value)


def _check_pairs(circuits: object, field: str, file: object) -> None:
    if not isinstance(circuits, (list, tuple)) or not circuits:
        raise InputError("must be a list of at least one circuit", file=file, field=field, value=circuits)
    for k, circuit in enumerate(circuits):
        if not isinstance(circuit, (list, tuple)) or len(circuit) != 2:
            raise InputError('must be a pair like ["s0", "s1"]', file=file, field=f"{field}[{k}]", value=circuit)
        for end in circuit:
            _name(end, f"{field}[{k}]", file)


def _check_after(op: dict[str, Any], ids: set[str], file: object) -> None:
    after, field = op.get("after", []), f"op {op['id']!r}: after"
    if not isinstance(after, (list, tuple)):
        raise InputError("must be a list of ids", file=file, field=field, value=after)
    for name in after:
        if not isinstance(name, str):
            raise InputError("must hold ids only", file=file, field=field, value=name)
        if name not in ids:
            raise InputError("unknown id", file=file, field=field, value=name, maybe=did_you_mean(name, ids))
        if name == op["id"]:
            raise InputError("an op cannot wait for itself: a cycle of one", file=file, field=field, value=name)


def _check_circuits(op: dict[str, Any], table: EndpointTable, file: object) -> None:
    place = f"op {op['id']!r}"
    if op["kind"] == "transfer":
        named = [((op["src"], f"{place}: src"), (op["dst"], f"{place}: dst"))]
    elif op["kind"] == "gang":
        fields = [f"{place}: circuits[{k}]" for k in range(len(op["circuits"]))]
        named = [((tx, field), (rx, field)) for (tx, rx), field in zip(op["circuits"], fields, strict=True)]
    else:
        return
    seen: set[tuple[int, int]] = set()
    for (tx, tx_field), (rx, rx_field) in named:
        ends = (table.check(tx, file=file, field=tx_field), table.check(rx, file=file, field=rx_field))
        if ends[0] == ends[1]:
            raise InputError(
                "a transfer from an endpoint to itself needs no circuit", file=file, field=rx_field, value=rx
            )
        if ends in seen:
            raise InputError("this circuit is given twice", file=file, field=rx_field, value=[tx, rx])
        seen.add(ends)
