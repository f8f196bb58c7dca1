"""DAG JSON: columns of what is right, one telling line about what is wrong."""

from __future__ import annotations

import copy
import itertools
import json
from pathlib import Path
from typing import Any

import jsonschema
import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxscale.errors import InputError
from fluxscale.kernels.toposort import topological_order
from fluxscale.workload import dag_json
from fluxscale.workload.dag import COMPUTE, GANG, LOCAL, TRANSFER, CommDag
from fluxscale.workload.dag_json import read_dag
from fluxscale.workload.schemas import json_schema

EXAMPLE: list[dict[str, Any]] = [
    {"id": "F0@s0", "kind": "compute", "device": "s0", "duration": "3ms", "after": []},
    {"id": "act0", "kind": "transfer", "src": "s0", "dst": "s1", "bytes": 20000000, "after": ["F0@s0"]},
    {
        "id": "rs0",
        "kind": "gang",
        "circuits": [["s0", "s2"], ["s2", "s0"]],
        "bytes": 40000000,
        "after": ["F0@s0"],
    },
]


def document(ops: Any, **more: Any) -> dict[str, Any]:
    return {"format": "fluxscale-dag", "version": 1, "ops": ops, **more}


def refused(doc: Any) -> str:
    with pytest.raises(InputError) as caught:
        read_dag(doc, file="d.json")
    text = str(caught.value)
    assert text.startswith("d.json: ")
    assert "\n" not in text
    return text


def row(indptr: np.ndarray, index: np.ndarray, k: int) -> list[int]:
    return index[indptr[k] : indptr[k + 1]].tolist()


def test_the_example_of_the_interface_page() -> None:
    dag = read_dag(document(EXAMPLE))
    assert dag.op_kind.tolist() == [COMPUTE, TRANSFER, GANG]
    assert dag.op_device.tolist() == [0, -1, -1]
    assert dag.op_bytes.tolist() == [0, 20_000_000, 40_000_000]
    assert dag.op_fixed_ns.tolist() == [3_000_000, -1, -1]
    assert [row(dag.pred_indptr, dag.pred_index, k) for k in range(3)] == [[], [0], [0]]
    assert dag.leg_indptr.tolist() == [0, 0, 1, 3]
    assert dag.endpoint_names == ("s0", "s1", "s2")
    assert (dag.leg_tx.tolist(), dag.leg_rx.tolist()) == ([0, 0, 2], [1, 2, 0])
    assert (dag.op_names, dag.device_names) == (("F0@s0", "act0", "rs0"), ("s0",))
    assert dag.endpoint_rail.tolist() == [0, 0, 0]


def test_order_on_a_device_is_the_order_of_the_list() -> None:
    ops = [{"id": f"o{k}", "kind": "compute", "device": f"s{k % 2}", "duration": k + 1} for k in range(5)]
    dag = read_dag(document(ops))
    assert [row(dag.device_indptr, dag.device_ops, d) for d in range(2)] == [[0, 2, 4], [1, 3]]
    assert dag.op_fixed_ns.tolist() == [1, 2, 3, 4, 5]


def test_local_ops_given_durations_and_sizes_with_units() -> None:
    ops = [
        {"id": "l", "kind": "local", "duration": "5us"},
        {"id": "t", "kind": "transfer", "src": "a", "dst": "b", "duration": 7, "after": ["l", "l"]},
        {"id": "u", "kind": "transfer", "src": "b", "dst": "a", "bytes": "1MiB", "after": ["t", "l"]},
    ]
    dag = read_dag(document(ops))
    assert dag.op_kind.tolist() == [LOCAL, TRANSFER, TRANSFER]
    assert dag.op_fixed_ns.tolist() == [5000, 7, -1]
    assert dag.op_bytes.tolist() == [0, 0, 2**20]
    assert [row(dag.pred_indptr, dag.pred_index, k) for k in range(3)] == [[], [0], [0, 1]]


def test_endpoints_have_rails_and_a_single_one_answers_to_its_device() -> None:
    ops = [
        {"id": "c", "kind": "compute", "device": "free", "duration": 1},
        {"id": "t", "kind": "transfer", "src": "h0.1", "dst": "one", "bytes": 1},
        {"id": "u", "kind": "transfer", "src": "free", "dst": "h0.0", "bytes": 1},
    ]
    dag = read_dag(document(ops, endpoints={"h0": ["h0.0", "h0.1"], "one": ["one.nic"]}))
    assert dag.endpoint_names == ("h0.0", "h0.1", "one.nic", "free")
    assert dag.endpoint_rail.tolist() == [0, 1, 0, 0]
    assert (dag.leg_tx.tolist(), dag.leg_rx.tolist()) == ([1, 3], [2, 0])


@pytest.mark.parametrize(
    ("endpoints", "parts"),
    [
        ({"s0": ["a", "b"]}, ["op 'act0': src", "several endpoints", "'s0'", "one of a, b"]),
        ({"s0": ["s0"], "s2": ["s2"]}, ["op 'act0': dst", "unknown endpoint", "'s1'", "one of s0, s2"]),
        ({"s0": []}, ["endpoints.s0", "list of endpoint names"]),
        ({"s0": "x"}, ["endpoints.s0", "list of endpoint names"]),
        ({"s0": ["x"], "s1": ["x"]}, ["endpoints.s1", "'x' already belongs to 's0'"]),
        ({"s0": ["s1"], "s1": ["y"]}, ["endpoints.s0", "called like another device"]),
        ({"s0": [f"e{k}" for k in range(2000)]}, ["endpoints.s0", "2000 endpoints"]),
        (["s0"], ["endpoints", "must be an object"]),
    ],
)
def test_bad_endpoints(endpoints: Any, parts: list[str]) -> None:
    text = refused(document(EXAMPLE, endpoints=endpoints))
    for part in parts:
        assert part in text


@pytest.mark.parametrize(
    ("op", "change", "parts"),
    [
        (0, {"id": 3}, ["ops[0].id", "text", "3"]),
        (0, {"id": None}, ["ops[0].id", "text"]),
        (0, {"id": ...}, ["ops[0].id", "required"]),
        (1, {"id": "F0@s0"}, ["ops[1].id", "given twice", "'F0@s0'"]),
        (0, {"kind": "compte"}, ["op 'F0@s0'", "unknown kind", "did you mean 'compute'"]),
        (0, {"kind": ["compute"]}, ["op 'F0@s0'", "unknown kind"]),
        (0, {"kind": ...}, ["op 'F0@s0'", "kind is required"]),
        (0, {"device": ...}, ["op 'F0@s0'", "device is required"]),
        (0, {"device": 0}, ["op 'F0@s0': device", "text"]),
        (0, {"device": ""}, ["op 'F0@s0': device", "not empty"]),
        (0, {"duratoin": 3}, ["unknown key 'duratoin' of a compute", "'duration'"]),
        (0, {"bytes": 3}, ["unknown key 'bytes' of a compute"]),
        (0, {"duration": ...}, ["op 'F0@s0'", "duration is required"]),
        (0, {"duration": 0}, ["op 'F0@s0': duration", "more than zero", "(got 0)"]),
        (0, {"duration": -5}, ["op 'F0@s0': duration", "more than zero", "(got -5)"]),
        (0, {"duration": 1.5}, ["op 'F0@s0': duration", "whole number of ns", "1.5"]),
        (0, {"duration": float("nan")}, ["op 'F0@s0': duration", "nan"]),
        (0, {"duration": float("inf")}, ["op 'F0@s0': duration", "inf"]),
        (0, {"duration": True}, ["op 'F0@s0': duration", "True"]),
        (0, {"duration": None}, ["op 'F0@s0': duration", "whole number"]),
        (0, {"duration": "3 lightyears"}, ["op 'F0@s0': duration", "unknown unit 'lightyears'"]),
        (0, {"duration": 2**63}, ["op 'F0@s0': duration", "64 bits"]),
        (0, {"duration": 10**400}, ["op 'F0@s0': duration", "64 bits"]),
        (1, {"bytes": 0}, ["op 'act0': bytes", "more than zero"]),
        (1, {"bytes": -1}, ["op 'act0': bytes", "more than zero", "-1"]),
        (1, {"bytes": 2**60}, ["op 'act0': bytes", "larger than"]),
        (1, {"bytes": "20Mb"}, ["op 'act0': bytes", "wrong unit 'Mb'", "not bits"]),
        (1, {"bytes": 1e6}, ["op 'act0': bytes", "whole number of bytes"]),
        (1, {"duration": 5}, ["op 'act0'", "bytes or a duration, but has both"]),
        (1, {"bytes": ...}, ["op 'act0'", "bytes or a duration, but has neither"]),
        (1, {"src": ...}, ["op 'act0'", "src is required"]),
        (1, {"dst": "s0"}, ["op 'act0': dst", "itself", "'s0'"]),
        (1, {"dst": ["s0"]}, ["op 'act0': dst", "text"]),
        (1, {"after": "F0@s0"}, ["op 'act0': after", "list of ids"]),
        (1, {"after": [1]}, ["op 'act0': after", "ids only", "1"]),
        (1, {"after": [["F0@s0"]]}, ["op 'act0': after", "ids only"]),
        (1, {"after": ["F0@s1"]}, ["op 'act0': after", "unknown id", "'F0@s1'", "did you mean 'F0@s0'"]),
        (1, {"after": ["act0"]}, ["op 'act0': after", "cycle of one"]),
        (2, {"circuits": []}, ["op 'rs0': circuits", "at least one"]),
        (2, {"circuits": "s0"}, ["op 'rs0': circuits", "list"]),
        (2, {"circuits": [["s0"]]}, ["op 'rs0': circuits[0]", "pair"]),
        (2, {"circuits": [["s0", "s1"], "s2"]}, ["op 'rs0': circuits[1]", "pair"]),
        (2, {"circuits": [["s0", 1]]}, ["op 'rs0': circuits[0]", "text"]),
        (2, {"circuits": [["s0", "s1"], ["s0", "s1"]]}, ["op 'rs0': circuits[1]", "twice"]),
        (2, {"circuits": [["s0", "s1"], ["s2", "s2"]]}, ["op 'rs0': circuits[1]", "itself", "'s2'"]),
    ],
)
def test_bad_ops(op: int, change: dict[str, Any], parts: list[str]) -> None:
    ops = copy.deepcopy(EXAMPLE)
    for key, value in change.items():
        if value is ...:
            del ops[op][key]
        else:
            ops[op][key] = value
    text = refused(document(ops))
    for part in parts:
        assert part in text


@pytest.mark.parametrize(
    ("doc", "parts"),
    [
        ([], ["must be an object"]),
        ({"ops": EXAMPLE}, ["format", "'fluxscale-dag'"]),
        ({"format": "fluxscale-schedule"}, ["`fluxscale check` reads schedules"]),
        ({"format": "fluxscale-dag", "version": 2, "ops": EXAMPLE}, ["version", "must be 1", "2"]),
        ({"format": "fluxscale-dag", "version": True, "ops": EXAMPLE}, ["version", "True"]),
        ({"format": "fluxscale-dag", "version": 1}, ["ops", "required"]),
        (document(EXAMPLE, opps=[]), ["opps", "unknown key", "'ops'"]),
        (document({}), ["ops", "must be a list"]),
        (document([]), ["ops", "no ops"]),
        (document([3]), ["ops[0]", "must be an object"]),
    ],
)
def test_bad_documents(doc: Any, parts: list[str]) -> None:
    text = refused(doc)
    for part in parts:
        assert part in text


def test_too_many_ops_are_refused_before_they_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dag_json, "MAX_OPS", 2)
    text = refused(document([None] * 3))
    assert "there are 3 ops, more than the 2" in text


def chain(n: int, first_waits_for_last: bool) -> list[dict[str, Any]]:
    ops = [{"id": f"n{k}", "kind": "local", "duration": 1, "after": [f"n{k - 1}"] if k else []} for k in range(n)]
    if first_waits_for_last:
        ops[0]["after"] = [f"n{n - 1}"]
    return ops


def test_a_cycle_is_printed() -> None:
    ops = [*chain(3, True), {"id": "behind", "kind": "local", "duration": 1, "after": ["n1"]}]
    assert "in a cycle: n0 -> n1 -> n2 -> n0." in refused(document(ops))
    assert "n11 -> (18 more) -> n0" in refused(document(chain(30, True)))


def test_a_cycle_through_the_order_on_a_device() -> None:
    ops = [
        {"id": "late", "kind": "compute", "device": "s0", "duration": 1, "after": ["early"]},
        {"id": "early", "kind": "compute", "device": "s0", "duration": 1},
    ]
    text = refused(document(ops))
    assert "late -> early -> late" in text
    assert "late comes before early only by the order on device s0" in text


def test_files_are_read_too(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document(EXAMPLE)))
    assert read_dag(path).n_ops == 3
    path.write_text("{")
    with pytest.raises(InputError, match=r"x\.json: not JSON"):
        read_dag(path)


JUNK = st.sampled_from([None, True, 0, -1, 2.5, "", "x", "F0@s0", [], ["F0@s0"], [["s0", "s0"]], {}, 10**30, "1us"])
KEYS = ["id", "kind", "device", "duration", "after", "src", "dst", "bytes", "circuits", "extra"]


@given(st.integers(0, 2), st.sampled_from(KEYS), JUNK | st.just(...))
def test_any_damage_is_read_or_explained_as_the_schema_says(op: int, key: str, junk: Any) -> None:
    ops = copy.deepcopy(EXAMPLE)
    if junk is ...:
        ops[op].pop(key, None)
    else:
        ops[op][key] = junk
    doc = document(ops)
    fits = jsonschema.Draft202012Validator(json_schema("dag")).is_valid(doc)
    try:
        dag = read_dag(doc, file="d.json")
    except InputError as error:
        unexplained = "cannot be read as a list of ops" in str(error)
    else:
        unexplained = not fits or not isinstance(dag, CommDag)
    assert not unexplained


@given(st.integers(1, 8), st.data())
def test_the_order_kernel_agrees_with_networkx(n: int, data: st.DataObject) -> None:
    edges = data.draw(st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda e: e[0] != e[1])))
    devices = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    preds = [sorted(a for a, b in edges if b == k) for k in range(n)]
    on_device = [[k for k in range(n) if devices[k] == d] for d in range(3)]

    def csr(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
        return np.cumsum([0, *map(len, rows)]), np.array(list(itertools.chain(*rows)), dtype=np.int32)

    order, count = topological_order(*csr(preds), *csr(on_device))
    graph = nx.DiGraph(list(edges))
    graph.add_nodes_from(range(n))
    for ops in on_device:
        nx.add_path(graph, ops)
    if nx.is_directed_acyclic_graph(graph):
        place = {op: k for k, op in enumerate(order.tolist())}
        assert count == n == len(place)
        assert all(place[a] < place[b] for a, b in graph.edges)
    else:
        on_cycles = {v for part in nx.strongly_connected_components(graph) if len(part) > 1 for v in part}
        stuck = on_cycles.union(*(nx.descendants(graph, v) for v in on_cycles))
        assert set(order[:count].tolist()) == set(range(n)) - stuck
