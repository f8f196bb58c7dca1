"""Planes on endpoints: rails, tables, attachment maps, radix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fluxscale.errors import InputError
from fluxscale.fabric.planes import Planes, resolve_planes
from fluxscale.fabric.spec import parse_fabric

NAMES = ("h0.0", "h0.1", "h1.0", "h1.1")
RAILS = np.array([0, 1, 0, 1], dtype=np.int16)


def planes(names: tuple[str, ...] = NAMES, rails: Any = RAILS, **table: Any) -> Planes:
    return resolve_planes(parse_fabric({"fabric": table}), names, np.asarray(rails))


def refused(**table: Any) -> str:
    with pytest.raises(InputError) as caught:
        planes(**table)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_one_plane_for_each_rail() -> None:
    found = planes()
    assert found.names == ("rail0", "rail1")
    assert found.attach.tolist() == [[0, -1, 0, -1], [-1, 0, -1, 0]]
    assert found.attach.dtype == np.int32
    assert found.rate_bps.tolist() == found.injection_rate_bps.tolist() == [400 * 10**9] * 2


def test_two_planes_for_each_rail() -> None:
    found = planes(planes=2, duplex="duplex", rule="all-stop", latency="1us", reconfiguration_delay="2us")
    assert found.names == ("rail0.plane0", "rail0.plane1", "rail1.plane0", "rail1.plane1")
    assert found.attach[:, 0].tolist() == [0, 0, -1, -1]
    assert found.duplex.all()
    assert found.all_stop.all()
    assert (found.latency_ns.tolist(), found.delay_ns.tolist()) == ([1000] * 4, [2000] * 4)


def test_without_rails_and_with_attachment_all() -> None:
    single = planes(rails=[0, 0, 0, 0], planes=2)
    joined = planes(attachment="all", planes=2)
    assert single.names == joined.names == ("plane0", "plane1")
    assert single.attach.tolist() == joined.attach.tolist() == [[0] * 4] * 2


def test_no_endpoints_at_all() -> None:
    assert planes(names=(), rails=[]).attach.shape == (1, 0)


def test_tables_with_patterns_names_and_ocs() -> None:
    found = planes(
        plane=[
            {"name": "even", "members": ["h?.0"], "rate": "100Gbps"},
            {"ocs": [["h0.*"], ["h1.0", "h1.1"]], "injection_rate": "800Gbps"},
            {},
        ]
    )
    assert found.names == ("even", "plane1", "plane2")
    assert found.attach.tolist() == [[0, -1, 0, -1], [0, 0, 1, 1], [0, 0, 0, 0]]
    assert found.rate_bps.tolist() == [10**11, 4 * 10**11, 4 * 10**11]
    assert found.injection_rate_bps.tolist() == [10**11, 8 * 10**11, 4 * 10**11]


def test_endpoints_without_names_are_numbered() -> None:
    assert planes(names=(), plane=[{"members": ["ep1", "ep3"]}]).attach.tolist() == [[-1, 0, -1, 0]]


def test_a_name_is_not_read_as_a_pattern() -> None:
    names = ("a[0]", "a0")
    assert planes(names, [0, 0], plane=[{"members": ["a[0]"]}]).attach.tolist() == [[0, -1]]


@pytest.mark.parametrize(
    ("tables", "parts"),
    [
        ([{"members": ["h0.2"]}], ["fabric.plane[0].members", "no such endpoint", "'h0.2'", "did you mean 'h0."]),
        ([{}, {"ocs": [["h0.0"], ["x*"]]}], ["fabric.plane[1].ocs[1]", "fits no endpoint", "h0.0, h0.1"]),
        ([{"ocs": [["h0.*"], ["*.0"]]}], ["fabric.plane[0].ocs[1]", "'h0.0'", "already hangs on OCS 0"]),
        ([{"members": ["*"], "ocs": [["h0.*"]]}], ["members and ocs disagree", "'h1.0'"]),
        ([{"name": "a"}, {"name": "a"}], ["fabric.plane[1].name", "two planes", "'a'"]),
    ],
)
def test_bad_tables(tables: list[dict[str, Any]], parts: list[str]) -> None:
    text = refused(plane=tables)
    for part in parts:
        assert part in text


def test_a_radix_that_is_exceeded_names_plane_and_ocs() -> None:
    assert planes(radix=2).radix.tolist() == [2, 2]
    text = refused(radix=1)
    for part in ("plane 'rail0'", "OCS 0 has 1 ports", "2 endpoints", "fabric.radix", "Maybe: raise radix"):
        assert part in text
    ocs = [["h0.0"], ["h0.1", "h1.0", "h1.1"]]
    assert "plane 'plane0': OCS 1 has 2 ports, but 3 endpoints" in refused(radix=2, plane=[{"ocs": ocs}])
    planes(radix=2, plane=[{"ocs": ocs, "radix": 3}])


def test_too_many_planes_are_refused_before_they_are_made() -> None:
    rails = np.arange(1000)
    with pytest.raises(InputError, match="too many"):
        resolve_planes(parse_fabric({"fabric": {"planes": 1000}}), (), rails)
