"""JSON Schemas agree with what the parsers take."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from fluxscale.errors import InputError
from fluxscale.workload.schemas import KNOWN, json_schema

FABRIC = {
    "planes": 1, "rate": "400Gbps", "latency": "0ns", "reconfiguration_delay": "20ms", "rule": "per-port",
    "duplex": "simplex", "boundary": "preset", "radix": 320, "injection_rate": "400Gbps",
}  # fmt: skip
JOB = {"parallel": {"pp": 4, "micro_batches": 8}, "timing": {"forward": "3ms", "backward": 6_000_000}}
OPS = [
    {"id": "F0@s0", "kind": "compute", "device": "s0", "duration": "3ms", "after": []},
    {"id": "act0", "kind": "transfer", "src": "s0", "dst": "s1", "bytes": 20000000, "after": ["F0@s0"]},
    {"id": "rs0", "kind": "gang", "circuits": [["s0", "s2"], ["s2", "s0"]], "bytes": 40000000, "after": ["F0@s0"]},
    {"id": "x", "kind": "local", "duration": 3},
]
DAG = {"format": "fluxscale-dag", "version": 1, "ops": OPS, "endpoints": {"s0": ["s0"], "s1": ["s1"], "s2": ["s2"]}}

GOOD: list[tuple[str, Any]] = [
    ("fabric", {"fabric": FABRIC}),
    ("fabric", {"fabric": {"plane": [{"members": ["a", "b*"]}, {"ocs": [["a"], ["b"]], "radix": 2}]}}),
    ("job", JOB),
    ("job", {**JOB, "fabric": FABRIC}),
    ("job", {**JOB, "fabric": "f.toml"}),
    ("dag", DAG),
]
BAD: list[tuple[str, Any]] = [
    ("fabric", FABRIC),
    ("fabric", {"fabric": FABRIC | {"rule": "x"}}),
    ("fabric", {"fabric": FABRIC | {"rat": 1}}),
    ("job", {**JOB, "fabric": 3}),
    ("job", {}),
    ("job", {**JOB, "parallell": {}}),
    ("dag", DAG | {"version": 2}),
    ("dag", DAG | {"ops": []}),
    ("dag", DAG | {"ops": [OPS[0] | {"bytes": 1}]}),
    ("dag", DAG | {"ops": [OPS[1] | {"duration": 1}]}),
    ("dag", DAG | {"ops": [OPS[1] | {"bytes": 2**60}]}),
]


@pytest.mark.parametrize("kind", KNOWN)
def test_schemas_are_schemas(kind: str) -> None:
    schema = json_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"].endswith("2020-12/schema")
    assert "fluxscale" in schema["title"]


@pytest.mark.parametrize(("kind", "document"), GOOD)
def test_good_documents(kind: str, document: Any) -> None:
    jsonschema.Draft202012Validator(json_schema(kind)).validate(document)


@pytest.mark.parametrize(("kind", "document"), BAD)
def test_bad_documents(kind: str, document: Any) -> None:
    assert not jsonschema.Draft202012Validator(json_schema(kind)).is_valid(document)


def test_an_unknown_kind() -> None:
    with pytest.raises(InputError, match="did you mean 'fabric'"):
        json_schema("fabrik")
