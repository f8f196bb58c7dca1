"""DAG + fabric -> instance, and what only both together show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fluxscale.errors import InputError
from fluxscale.fabric.spec import parse_fabric
from fluxscale.instance.build import assemble, build_instance
from fluxscale.instance.instance import CYCLIC, DARK, Instance
from fluxscale.workload.dag import CommDag
from fluxscale.workload.dag_json import read_dag
from fluxscale.workload.job import Job


def dag(ops: list[dict[str, Any]], **more: Any) -> CommDag:
    return read_dag({"format": "fluxscale-dag", "version": 1, "ops": ops, **more})


def transfer(src: str, dst: str, **more: Any) -> dict[str, Any]:
    return {"id": f"{src}-{dst}", "kind": "transfer", "src": src, "dst": dst, **({"bytes": 1000} | more)}


def gang(*circuits: tuple[str, str]) -> dict[str, Any]:
    return {"id": "ring", "kind": "gang", "circuits": [list(pair) for pair in circuits], "duration": "4ms"}


RING = (("a", "b"), ("b", "c"), ("c", "a"))
SQUARE = (("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"))


def put(ops: list[dict[str, Any]], endpoints: dict[str, list[str]] | None = None, **table: Any) -> Instance:
    more = {} if endpoints is None else {"endpoints": endpoints}
    return assemble(dag(ops, **more), parse_fabric({"fabric": table}))


def refused(*arguments: Any, **table: Any) -> str:
    with pytest.raises(InputError) as caught:
        put(*arguments, **table)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_columns_and_names() -> None:
    ops = [{"id": "c", "kind": "compute", "device": "a", "duration": 5}, transfer("a", "b", after=["c"])]
    found = put(ops, planes=2, latency="1us", boundary="cyclic", nic_buffer="1MiB", radix=4, injection_rate="800Gbps")
    assert (found.n_ops, found.n_legs, found.n_planes, found.n_endpoints) == (2, 1, 2, 2)
    assert (found.boundary, found.nic_buffer_bytes, found.tick_ns) == (CYCLIC, 2**20, 1)
    assert found.plane_latency_ticks.tolist() == [1000, 1000]
    assert found.plane_delay_ticks.tolist() == [10**7, 10**7]
    assert found.plane_radix.tolist() == [4, 4]
    assert found.injection_rate_bps.tolist() == [8 * 10**11] * 2
    assert (found.names.op(1), found.names.device(0), found.names.plane(1)) == ("a-b", "a", "plane1")
    assert put(ops).boundary == DARK


def test_rules_and_port_kinds_by_plane() -> None:
    found = put([transfer("a", "b")], plane=[{"duplex": "duplex"}, {"rule": "all-stop"}])
    assert found.plane_duplex.tolist() == [True, False]
    assert found.plane_all_stop.tolist() == [False, True]


def test_labels_become_names() -> None:
    plain = dag([transfer("a", "b")])
    column = np.zeros(1, dtype=np.int16)
    labels = {"role": column + 2, "stage": column + 4, "chunk": column - 1, "micro_batch": column + 3}
    labels |= {"replica": column - 1, "rail": column - 1, "step": column - 1}
    named = CommDag(**{**vars(plain), "op_names": (), "labels": labels})
    assert assemble(named, parse_fabric({"fabric": {}})).names.op(0) == "act.m3@s4"


def test_build_instance_of_a_dag_job() -> None:
    document = {"format": "fluxscale-dag", "version": 1, "ops": [transfer("a", "b")]}
    fabric = parse_fabric({"fabric": {}})
    assert build_instance(Job("x", "dag", None, fabric, document)).sha256 == put([transfer("a", "b")]).sha256


def test_endpoints_on_no_common_ocs() -> None:
    rails = {"h0": ["h0.0", "h0.1"], "h1": ["h1.0", "h1.1"]}
    text = refused([transfer("h0.0", "h1.0"), transfer("h0.0", "h1.1")], rails)
    for part in ("op 'h0.0-h1.1'", "'h0.0' and 'h1.1' are on no common OCS", 'attachment = "all"'):
        assert part in text
    assert put([transfer("h0.0", "h1.1")], rails, attachment="all").n_planes == 1
    text = refused([transfer("a", "b")], plane=[{"ocs": [["a"], ["b"]]}])
    assert "attach them to one OCS" in text


def test_a_gang_that_needs_a_simplex_port_twice() -> None:
    put([gang(*RING)])
    text = refused([gang(("a", "b"), ("a", "c"))])
    for part in ("op 'ring'", "2 circuits at once at endpoint 'a'", "a port is in one circuit", "Maybe: add a plane"):
        assert part in text
    assert "endpoint 'c'" in refused([gang(("a", "c"), ("b", "c"))])
    put([gang(("a", "b"), ("a", "c"))], planes=2)
    assert "3 circuits" in refused([gang(("a", "b"), ("a", "c"), ("a", "d"))], planes=2)


def test_a_ring_on_one_duplex_plane_is_explained() -> None:
    put([gang(("a", "b"), ("b", "a"))], duplex="duplex")
    text = refused([gang(*RING)], duplex="duplex")
    for part in ("op 'ring'", "one peer at a time", "two planes", "halving-doubling"):
        assert part in text
    put([gang(*SQUARE)], duplex="duplex", planes=2)


def test_legs_that_have_but_one_plane_among_several() -> None:
    tables = [{"members": ["a", "b", "c"]}, {"members": ["c", "d"]}]
    assert "endpoint 'a'" in refused([gang(("a", "b"), ("a", "c")), transfer("c", "d")], plane=tables)
    put([gang(("a", "b"), ("c", "d"))], plane=tables)
    mixed = [{"duplex": "duplex", "members": ["a", "b", "c"]}, {"members": ["d", "a"]}]
    assert "one peer at a time" in refused([gang(("a", "b"), ("b", "c")), transfer("a", "d")], plane=mixed)


def test_separate_ops_may_use_one_port() -> None:
    put([transfer("a", "b"), transfer("a", "c")])


def test_times_beyond_64_bits() -> None:
    text = refused([transfer("a", "b", bytes=2**59)], rate="1bps")
    assert "op 'a-b'" in text
    assert "check the units" in text
    put([transfer("a", "b", bytes=2**59)])
    long = [{"id": f"l{k}", "kind": "local", "duration": 2**61} for k in range(3)]
    put(long[:1])
    assert "ops: the ops one after another" in refused(long[:2])
    assert "fabric.reconfiguration_delay" in refused([transfer("a", "b")], reconfiguration_delay=2**62)
    assert "op 'a-b'" in refused([transfer("a", "b", bytes=2**59)], latency=2**62)


def test_radix_and_members_are_checked_against_the_dag() -> None:
    assert "OCS 0 has 2 ports, but 3 endpoints" in refused([gang(*RING)], radix=2)
    assert "no such endpoint" in refused([transfer("a", "b")], plane=[{"members": ["a", "bee"]}])


def test_the_order_of_after_does_not_change_the_hash() -> None:
    ops = [transfer("a", "b"), transfer("b", "a"), transfer("a", "c", after=["a-b", "b-a"])]
    turned = [*ops[:2], transfer("a", "c", after=["b-a", "a-b", "b-a"])]
    assert put(ops).sha256 == put(turned).sha256
