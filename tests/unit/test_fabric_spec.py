"""The fabric table: defaults, units, and every way to get it wrong."""

from __future__ import annotations

from typing import Any

import pytest

from fluxscale.errors import InputError
from fluxscale.fabric.spec import FabricSpec, parse_fabric


def parse(**table: Any) -> FabricSpec:
    return parse_fabric({"fabric": table}, file="f.toml")


def refused(**table: Any) -> str:
    with pytest.raises(InputError) as caught:
        parse(**table)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_defaults_are_those_of_a_mems_switch_per_rail() -> None:
    fabric = parse()
    assert (fabric.planes, fabric.attachment, fabric.rate, fabric.latency) == (1, "rail", 400 * 10**9, 0)
    assert (fabric.reconfiguration_delay, fabric.rule, fabric.duplex) == (10 * 10**6, "per-port", "simplex")
    assert (fabric.boundary, fabric.radix, fabric.injection_rate, fabric.nic_buffer) == ("dark", 0, None, 0)
    assert fabric.describe() == (
        "one plane per rail, 400 Gbps, reconfiguration 10 ms, per-port, simplex, boundary dark, radix unlimited"
    )


def test_the_table_of_the_interface_page() -> None:
    fabric = parse(
        planes=1, rate="400Gbps", latency="0ns", reconfiguration_delay="20ms", rule="per-port", duplex="simplex",
        boundary="preset", radix=320, injection_rate="400Gbps",
    )  # fmt: skip
    assert (fabric.reconfiguration_delay, fabric.radix, fabric.injection_rate) == (20 * 10**6, 320, 400 * 10**9)


def test_what_is_said_of_other_fabrics() -> None:
    text = parse(planes=2, attachment="all", latency="5us", nic_buffer="16MiB", radix=320).describe()
    assert text.startswith("2 planes, 400 Gbps, latency 5 us,")
    assert text.endswith("radix 320, NIC buffer 16 MiB")
    assert parse(plane=[{}, {}]).describe().startswith("2 planes given one by one")


def test_a_plane_takes_from_the_fabric_what_it_leaves_out() -> None:
    fabric = parse(rate="100Gbps", plane=[{"latency": "1us"}, {"rate": "200Gbps", "duplex": "duplex"}])
    assert fabric.plane is not None
    assert [fabric.plane_value(plane, "rate") for plane in fabric.plane] == [10**11, 2 * 10**11]
    assert [fabric.plane_value(plane, "latency") for plane in fabric.plane] == [1000, 0]
    assert fabric.any_duplex
    assert not parse().any_duplex


def test_planes_that_surely_hold_every_endpoint() -> None:
    assert parse(planes=3).planes_per_endpoint == 3
    assert parse(plane=[{"members": ["a"]}, {"members": ["b"]}]).planes_per_endpoint == 1
    assert parse(plane=[{}, {"members": ["a", "*"]}, {"ocs": [["*"]]}]).planes_per_endpoint == 2


@pytest.mark.parametrize(
    ("table", "parts"),
    [
        ({"rate": "400GB"}, ["fabric.rate", "wrong unit 'GB'", "'400GB'", "bits per second"]),
        ({"rate": "400Gbs"}, ["fabric.rate", "unknown unit", "Maybe: did you mean 'Gbps'"]),
        ({"rate": 0}, ["fabric.rate", "more than zero"]),
        ({"rate": float("inf")}, ["fabric.rate", "finite"]),
        ({"latency": float("nan")}, ["fabric.latency", "finite"]),
        ({"latency": "-1us"}, ["fabric.latency", "zero or more"]),
        ({"reconfiguration_delay": "10 m"}, ["fabric.reconfiguration_delay", "unknown unit 'm'"]),
        ({"reconfiguration_delay": "0.5ns"}, ["fabric.reconfiguration_delay", "whole number of ns"]),
        ({"reconfiguration_dealy": "1ms"}, ["fabric.reconfiguration_dealy", "unknown key", "'reconfiguration_delay'"]),
        ({"rule": "allstop"}, ["fabric.rule", "'per-port' or 'all-stop'", "'allstop'"]),
        ({"duplex": True}, ["fabric.duplex", "'simplex' or 'duplex'", "True"]),
        ({"boundary": "periodic"}, ["fabric.boundary", "'cyclic'"]),
        ({"planes": 0}, ["fabric.planes", "greater than or equal to 1"]),
        ({"planes": True}, ["fabric.planes", "integer"]),
        ({"planes": "2"}, ["fabric.planes", "integer", "'2'"]),
        ({"planes": 10**9}, ["fabric.planes", "1024"]),
        ({"radix": -1}, ["fabric.radix", "greater than or equal to 0"]),
        ({"nic_buffer": "16Mb"}, ["fabric.nic_buffer", "wrong unit", "not bits"]),
        ({"injection_rate": "100Gbps"}, ["fabric.injection_rate", "starve", "400 Gbps", "'100 Gbps'"]),
        ({"plane": [{}, {"latncy": 1}]}, ["fabric.plane[1].latncy", "unknown key", "'latency'"]),
        ({"plane": [{"injection_rate": "1Gbps"}]}, ["fabric.plane[0].injection_rate", "starve"]),
        ({"plane": [{"members": "s0"}]}, ["fabric.plane[0].members", "list"]),
        ({"plane": [{"members": []}]}, ["fabric.plane[0].members", "at least 1"]),
        ({"plane": []}, ["fabric.plane", "at least 1"]),
        ({"plane": [3]}, ["fabric.plane[0]", "should be a table"]),
        ({"planes": 3, "plane": [{}]}, ["planes = 3", "1 [[fabric.plane]]"]),
    ],
)
def test_bad_tables(table: dict[str, Any], parts: list[str]) -> None:
    text = refused(**table)
    for part in ["f.toml", *parts]:
        assert part in text


def test_an_injection_rate_counts_against_the_rates_of_the_planes() -> None:
    parse(injection_rate="100Gbps", plane=[{"rate": "100Gbps"}])
    assert "fabric.injection_rate" in refused(injection_rate="100Gbps", plane=[{"rate": "100Gbps"}, {}])


@pytest.mark.parametrize(
    ("document", "part"),
    [
        ({}, "fabric: is required but absent"),
        ({"fabrik": {}}, "did you mean 'fabric'?"),
        ({"fabric": []}, "fabric: should be a table"),
        ({"fabric": {}, "model": {}}, "model: unknown key"),
    ],
)
def test_bad_documents(document: dict[str, Any], part: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_fabric(document, file="f.toml")
    assert part in str(caught.value)


def test_every_field_is_described_and_survives_json() -> None:
    fabric = parse(planes=2, latency="3us", plane=[{"ocs": [["a"], ["b"]]}, {"name": "x"}])
    assert parse_fabric({"fabric": fabric.model_dump(mode="json", exclude_none=True)}) == fabric
    schema = FabricSpec.model_json_schema()
    for properties in (schema["properties"], schema["$defs"]["PlaneSpec"]["properties"]):
        assert all("description" in field for field in properties.values())
