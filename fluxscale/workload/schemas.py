"""JSON Schemas of the files that people write: job, fabric and DAG."""

from __future__ import annotations

from typing import Any

from fluxscale.errors import InputError, did_you_mean
from fluxscale.fabric.spec import FabricDocument, FabricSpec
from fluxscale.workload.dag_format import FORMAT, KINDS, MAX_BYTES, MAX_OPS, OPTIONAL_KEYS, REQUIRED_KEYS, VERSION

DRAFT = "https://json-schema.org/draft/2020-12/schema"
KNOWN = ("job", "fabric", "dag")

_NAME = {"type": "string", "minLength": 1}
_UNIT_TEXT = {"type": "string", "maxLength": 64}

_KEYS: dict[str, dict[str, Any]] = {
    "id": _NAME | {"description": "Name of the op; no other op has it."},
    "device": _NAME | {"description": "Device; it runs its compute ops one at a time, in the order of the list."},
    "src": _NAME | {"description": "Endpoint that sends: a device, or one of its endpoints."},
    "dst": _NAME | {"description": "Endpoint that receives; not the sending one."},
    "circuits": {
        "type": "array",
        "minItems": 1,
        "items": {"type": "array", "prefixItems": [_NAME, _NAME], "items": False, "minItems": 2},
        "description": "Pairs of sending and receiving endpoint; all are held at once from start to end.",
    },
    "after": {"type": "array", "items": _NAME, "description": "Ids of the ops that must have ended before."},
    "bytes": {
        "anyOf": [{"type": "integer", "minimum": 1, "maximum": MAX_BYTES}, _UNIT_TEXT],
        "description": 'Bytes through each circuit, or a text such as "20MB".',
    },
    "duration": {
        "anyOf": [{"type": "integer", "minimum": 1, "maximum": 2**62}, _UNIT_TEXT],
        "description": 'Duration in ns, or a text such as "3ms".',
    },
}

_KIND_TEXT = {
    "compute": "An op that a device runs for a known time.",
    "transfer": "Bytes from one endpoint to another. It has bytes or a duration.",
    "gang": "Several circuits that are held together, such as a ring. It has bytes or a duration.",
    "local": "A fixed delay that needs neither device nor circuit.",
}


def json_schema(kind: str) -> dict[str, Any]:
    """Build the JSON Schema (draft 2020-12) of a kind of file.

    Parameters
    ----------
    kind
        ``job``, ``fabric`` or ``dag``.

    Raises
    ------
    InputError
        For another kind.
    """
    if kind == "fabric":
        return {"$schema": DRAFT, **FabricDocument.model_json_schema(), "title": "fluxscale fabric"}
    if kind == "job":
        return _job_schema()
    if kind == "dag":
        return _dag_schema()
    raise InputError("unknown kind of file", value=kind, maybe=did_you_mean(kind, KNOWN))


def _job_schema() -> dict[str, Any]:
    from fluxscale.workload.spec import JobSpec

    job, fabric = JobSpec.model_json_schema(), FabricSpec.model_json_schema()
    job["$defs"].update(fabric.pop("$defs"))
    job["$defs"]["FabricSpec"] = fabric
    job["properties"]["fabric"] = {
        "anyOf": [{"$ref": "#/$defs/FabricSpec"}, {"type": "string"}],
        "description": "The fabric, or the TOML file that holds it; default: assumed, and the output says so.",
    }
    return {"$schema": DRAFT, **job, "title": "fluxscale job"}


def _dag_schema() -> dict[str, Any]:
    return {
        "$schema": DRAFT,
        "title": "fluxscale DAG",
        "description": "Ops of one training iteration and what they wait for. There must be no cycle.",
        "type": "object",
        "additionalProperties": False,
        "required": ["format", "version", "ops"],
        "properties": {
            "format": {"const": FORMAT},
            "version": {"const": VERSION},
            "ops": {
                "type": "array",
                "minItems": 1,
                "maxItems": MAX_OPS,
                "items": {"oneOf": [_op_schema(kind) for kind in KINDS]},
                "description": "The ops; the order of compute ops on a device is their order here.",
            },
            "endpoints": {
                "type": "object",
                "additionalProperties": {"type": "array", "minItems": 1, "items": _NAME},
                "description": "Device to its endpoints, one for each rail; default: one called like it.",
            },
        },
    }


def _op_schema(kind: str) -> dict[str, Any]:
    keys = [key for key in (*REQUIRED_KEYS[kind], *OPTIONAL_KEYS[kind]) if key != "kind"]
    schema: dict[str, Any] = {
        "type": "object",
        "description": _KIND_TEXT[kind],
        "additionalProperties": False,
        "required": list(REQUIRED_KEYS[kind]),
        "properties": {"kind": {"const": kind}} | {key: _KEYS[key] for key in keys},
    }
    if "bytes" in OPTIONAL_KEYS[kind]:
        schema["oneOf"] = [{"required": ["bytes"]}, {"required": ["duration"]}]
    return schema
