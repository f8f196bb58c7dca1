"""JSON Schema of the schedule document (and of the header of the archive form)."""

from __future__ import annotations

from typing import Any

from fluxscale.schedule.json_form import OPTIONAL, SECTIONS
from fluxscale.schedule.saved import FORMAT, VERSION
from fluxscale.units import MAX_TICKS

_TIME = {"type": "integer", "minimum": 0, "maximum": MAX_TICKS}

_COLUMN_TEXT = {
    "ops.id": "Every op of the instance once, in any order.",
    "ops.start_ns": "Start of each op.",
    "transfers.op": "Op that the row belongs to: a transfer has one row, a gang one for each of its circuits.",
    "transfers.tx": "Sending endpoint.",
    "transfers.rx": "Receiving endpoint.",
    "transfers.plane": "Plane on which it runs.",
    "transfers.start_ns": "Start; must be that of the op. May be left out.",
    "circuits.plane": "Plane of the circuit.",
    "circuits.tx": "Sending endpoint (on a duplex plane: either end).",
    "circuits.rx": "Receiving endpoint (on a duplex plane: the other end).",
    "circuits.up_from_ns": "From when the circuit carries light; the dark time is before it.",
    "circuits.up_to_ns": "Until when it does.",
}

_SECTION_TEXT = {
    "ops": "Start times.",
    "transfers": "Planes and starts of transfers.",
    "circuits": "Which circuits are up when.",
}


def schedule_schema() -> dict[str, Any]:
    """Build the JSON Schema (draft 2020-12) of ``schedule.json``. All columns of a section have the same length."""
    properties: dict[str, Any] = {
        "format": {"const": FORMAT},
        "version": {"type": "integer", "minimum": 1, "maximum": VERSION, "description": "Version of this format."},
        "instance_sha256": {
            "type": ["string", "null"],
            "pattern": "^[0-9a-f]{64}$",
            "description": "Instance that the schedule is for; null: matched by names alone.",
        },
        "iteration_time_ns": _TIME | {"description": "Iteration time; with a cyclic boundary the period."},
        "tick_ns": {
            "type": "integer",
            "minimum": 1,
            "maximum": 10**9,
            "default": 1,
            "description": "Length of a tick.",
        },
        "provenance": {"type": ["object", "null"], "description": "Command, versions, seed, hashes."},
        "source": {"type": ["object", "null"], "description": "Job or DAG from which the instance can be rebuilt."},
    }
    for section, columns in SECTIONS.items():
        properties[section] = {
            "type": "object",
            "description": _SECTION_TEXT[section],
            "additionalProperties": False,
            "required": [key for key in columns if (section, key) not in OPTIONAL],
            "properties": {
                key: {
                    "type": "array",
                    "description": _COLUMN_TEXT[f"{section}.{key}"],
                    "items": {"type": "string"} if kind is str else _TIME,
                }
                for key, kind in columns.items()
            },
        }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fluxscale schedule",
        "description": "Times are in ns. Large schedules are .npz archives of this header and numbered columns.",
        "type": "object",
        "additionalProperties": False,
        "required": ["format", "version", "iteration_time_ns", *SECTIONS],
        "properties": properties,
    }
