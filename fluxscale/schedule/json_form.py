"""Schedules as one JSON document that speaks in names: for people, small instances and other tools."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from fluxscale.errors import InputError
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance
from fluxscale.schedule.naming import Lookup, unique_names
from fluxscale.schedule.saved import (
    HEADER_KEYS,
    Header,
    SavedSchedule,
    read_header,
    refuse_unknown_keys,
    to_ticks,
)
from fluxscale.schedule.schedule import Schedule
from fluxscale.units import MAX_TICKS

SECTIONS: dict[str, dict[str, type]] = {
    "ops": {"id": str, "start_ns": int},
    "transfers": {"op": str, "tx": str, "rx": str, "plane": str, "start_ns": int},
    "circuits": {"plane": str, "tx": str, "rx": str, "up_from_ns": int, "up_to_ns": int},
}
"""Columns of each section and the type of their entries."""

OPTIONAL = {("transfers", "start_ns")}
"""Columns that may be left out: a transfer's start is that of its op."""

Columns = dict[str, dict[str, list[Any]]]


def to_text(header: Header, schedule: Schedule, instance: Instance) -> str:
    """Write a schedule as JSON, one column a line.

    Parameters
    ----------
    header
        Everything but the columns.
    schedule
        The schedule.
    instance
        Its instance, for the names.
    """
    ops = unique_names(instance.names.op, instance.n_ops)
    ends = unique_names(instance.names.endpoint, instance.n_endpoints)
    planes = unique_names(instance.names.plane, instance.n_planes)
    leg_op = derive(instance).leg_op
    tick = instance.tick_ns

    def named(names: list[str], column: Any) -> list[str]:
        return [names[i] for i in column.tolist()]

    def times(column: Any) -> list[int]:
        return [tick * ticks for ticks in column.tolist()]

    columns: Columns = {
        "ops": {"id": ops, "start_ns": times(schedule.op_start_ticks)},
        "transfers": {
            "op": named(ops, leg_op),
            "tx": named(ends, instance.leg_tx),
            "rx": named(ends, instance.leg_rx),
            "plane": named(planes, schedule.leg_plane),
            "start_ns": times(schedule.op_start_ticks[leg_op]),
        },
        "circuits": {
            "plane": named(planes, schedule.circuit_plane),
            "tx": named(ends, schedule.circuit_tx),
            "rx": named(ends, schedule.circuit_rx),
            "up_from_ns": times(schedule.circuit_up_from_ticks),
            "up_to_ns": times(schedule.circuit_up_to_ticks),
        },
    }
    dump: Callable[[Any], str] = partial(json.dumps, allow_nan=False, ensure_ascii=False, sort_keys=True)
    lines = [f"{dump(key)}: {dump(value)}" for key, value in header.as_dict().items()]
    for section, content in columns.items():
        rows = ",\n  ".join(f"{dump(key)}: {dump(value)}" for key, value in content.items())
        lines.append(f"{dump(section)}: {{\n  {rows}}}")
    return "{" + ",\n ".join(lines) + "}\n"


def parse_json(text: bytes, file: str) -> dict[str, Any]:
    """Parse untrusted JSON whose top is an object; NaN, infinite numbers, repeated keys and deep nesting are refused.

    Parameters
    ----------
    text
        UTF-8.
    file
        For messages.
    """

    def refuse(word: str) -> float:
        raise InputError("not a finite number", file=file, value=word)

    def number(word: str) -> float:
        value = float(word)
        return value if math.isfinite(value) else refuse(word)

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            raise InputError(f"key {next(k for k in keys if keys.count(k) > 1)!r} is given twice", file=file)
        return found

    try:
        raw = json.loads(text.decode("utf-8"), parse_constant=refuse, parse_float=number, object_pairs_hook=distinct)
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text (byte {error.start})", file=file) from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}", file=file
        ) from None
    except RecursionError:
        raise InputError("nested too deeply", file=file) from None
    except ValueError:
        raise InputError("a number has too many digits", file=file) from None
    if not isinstance(raw, dict):
        raise InputError("must be one JSON object", file=file, value=raw)
    return raw


def from_text(text: bytes, file: str) -> SavedSchedule:
    """Read a schedule document; names are resolved when it is bound to an instance."""
    raw = parse_json(text, file)
    header = read_header(raw, file)
    refuse_unknown_keys(raw, HEADER_KEYS + tuple(SECTIONS), file)
    columns = {section: _read_section(raw, section, file) for section in SECTIONS}
    return SavedSchedule(file, header, partial(_bind, columns, header, file))


def _read_section(raw: dict[str, Any], section: str, file: str) -> dict[str, list[Any]]:
    content = raw.get(section)
    if not isinstance(content, dict):
        raise InputError("must be an object of columns", file=file, field=section, value=content)
    expected = SECTIONS[section]
    refuse_unknown_keys(content, tuple(expected), file, section)
    length: int | None = None
    for key, kind in expected.items():
        where = f"{section}.{key}"
        if key not in content and (section, key) in OPTIONAL:
            continue
        column = content.get(key)
        if not isinstance(column, list):
            raise InputError("must be a list", file=file, field=where, value=column)
        for i, value in enumerate(column):
            if type(value) is not kind:
                noun = "a name" if kind is str else "a whole number"
                raise InputError(f"entry {i} must be {noun}", file=file, field=where, value=value)
            if kind is int and not 0 <= value <= MAX_TICKS:
                raise InputError(f"entry {i} must be from 0 to 2**62", file=file, field=where, value=value)
        if length is not None and len(column) != length:
            raise InputError(f"has {len(column)} entries, the other columns {length}", file=file, field=where)
        length = len(column)
    return content


def _bind(columns: Columns, header: Header, file: str, instance: Instance) -> Schedule:
    tick = instance.tick_ns
    op_ids = unique_names(instance.names.op, instance.n_ops)
    ops = Lookup("op", op_ids, file)
    ends = Lookup("endpoint", unique_names(instance.names.endpoint, instance.n_endpoints), file)
    planes = Lookup("plane", unique_names(instance.names.plane, instance.n_planes), file)

    def times(section: str, key: str) -> list[int]:
        return [to_ticks(ns, tick, file, f"{section}.{key}") for ns in columns[section][key]]

    start = [-1] * instance.n_ops
    for name, ticks in zip(columns["ops"]["id"], times("ops", "start_ns"), strict=True):
        op = ops.index(name, "ops.id")
        if start[op] >= 0:
            raise InputError(f"op {name!r} appears twice", file=file, field="ops.id")
        start[op] = ticks
    if -1 in start:
        raise InputError(f"op {op_ids[start.index(-1)]!r} is missing", file=file, field="ops.id")
    circuits = columns["circuits"]
    return Schedule(
        instance.sha256,
        np.array(start, dtype=np.int64),
        np.array(_bind_legs(columns["transfers"], start, ops, ends, planes, file, instance), dtype=np.int16),
        np.array([planes.index(name, "circuits.plane") for name in circuits["plane"]], dtype=np.int16),
        np.array([ends.index(name, "circuits.tx") for name in circuits["tx"]], dtype=np.int32),
        np.array([ends.index(name, "circuits.rx") for name in circuits["rx"]], dtype=np.int32),
        np.array(times("circuits", "up_from_ns"), dtype=np.int64),
        np.array(times("circuits", "up_to_ns"), dtype=np.int64),
        to_ticks(header.iteration_time_ns, tick, file, "iteration_time_ns"),
    )


def _bind_legs(
    rows: dict[str, list[Any]],
    start: list[int],
    ops: Lookup,
    ends: Lookup,
    planes: Lookup,
    file: str,
    instance: Instance,
) -> list[int]:
    """Plane of each leg. Legs of one op between the same two ends are taken in the order of the file."""
    waiting: dict[tuple[int, int, int], list[int]] = {}
    keys = list(zip(derive(instance).leg_op.tolist(), instance.leg_tx.tolist(), instance.leg_rx.tolist(), strict=True))
    for leg in reversed(range(len(keys))):
        waiting.setdefault(keys[leg], []).append(leg)
    leg_plane = [-1] * len(keys)
    for i, (op_name, tx, rx, plane) in enumerate(zip(rows["op"], rows["tx"], rows["rx"], rows["plane"], strict=True)):
        op = ops.index(op_name, "transfers.op")
        legs = waiting.get((op, ends.index(tx, "transfers.tx"), ends.index(rx, "transfers.rx")))
        if legs is None:
            raise InputError(f"op {op_name!r} has no circuit {tx} -> {rx}", file=file, field="transfers")
        if not legs:
            raise InputError(f"circuit {tx} -> {rx} of op {op_name!r} appears too often", file=file, field="transfers")
        leg_plane[legs.pop()] = planes.index(plane, "transfers.plane")
        if "start_ns" in rows and rows["start_ns"][i] != start[op] * instance.tick_ns:
            raise InputError(
                f"op {op_name!r} starts at {start[op] * instance.tick_ns} ns in ops but not here",
                file=file, field="transfers.start_ns", value=rows["start_ns"][i],
            )  # fmt: skip
    if -1 in leg_plane:
        op, tx, rx = keys[leg_plane.index(-1)]
        raise InputError(
            f"circuit {ends.names[tx]} -> {ends.names[rx]} of op {ops.names[op]!r} is missing",
            file=file,
            field="transfers",
        )
    return leg_plane
