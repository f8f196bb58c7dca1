from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from fluxscale.errors import InputError, UnsupportedError
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import DARK, Instance
from fluxscale.kernels.closure import longest_paths, reach_bits, topological_order
from fluxscale.milp import closure as module
from fluxscale.milp.closure import close, heads_and_tails, precedence_arcs, releases
from tests.property.exact_instances import random_instance
from tests.unit.pipeline_case import MS, csr, pipeline


def graph_of(instance: Instance) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(instance.n_ops))
    for op in range(instance.n_ops):
        for p in instance.pred_index[instance.pred_indptr[op] : instance.pred_indptr[op + 1]].tolist():
            graph.add_edge(p, op)
    for d in range(instance.n_devices):
        nx.add_path(graph, instance.device_ops[instance.device_indptr[d] : instance.device_indptr[d + 1]].tolist())
    return graph


@pytest.mark.parametrize("seed", range(30))
def test_closure_equals_networkx(seed: int) -> None:
    instance = random_instance(seed)
    closed, graph = close(instance), graph_of(instance)
    with_legs = np.flatnonzero(np.diff(instance.leg_indptr) > 0)
    for op in range(instance.n_ops):
        expected = nx.descendants(graph, op)
        found = with_legs[closed.precedes(np.full(len(with_legs), op), with_legs)]
        assert set(found.tolist()) == expected & set(with_legs.tolist())


def test_closure_over_more_than_one_word() -> None:
    instance = pipeline(4, 16)
    closed, graph = close(instance), graph_of(instance)
    assert closed.bits.shape[1] == 2
    with_legs = np.flatnonzero(np.diff(instance.leg_indptr) > 0)
    for op in with_legs[::7].tolist():
        found = with_legs[closed.precedes(np.full(len(with_legs), op), with_legs)]
        assert set(found.tolist()) == nx.descendants(graph, op) & set(with_legs.tolist())


def test_arcs_follow_a_topological_order() -> None:
    instance = pipeline(3, 5)
    src, dst, order = precedence_arcs(instance)
    position = np.empty(instance.n_ops, dtype=int)
    position[order] = np.arange(instance.n_ops)
    assert (position[src] < position[dst]).all()
    assert (np.diff(position[src]) >= 0).all()


@pytest.mark.parametrize("seed", range(20))
def test_heads_and_tails_equal_naive_longest_paths(seed: int) -> None:
    instance = random_instance(seed)
    closed, graph = close(instance), graph_of(instance)
    found = heads_and_tails(instance, closed)
    assert found is not None
    ticks, release = derive(instance).min_ticks, releases(instance)
    head, tail = {}, {}
    for op in nx.topological_sort(graph):
        head[op] = max([int(release[op]), *(head[p] + int(ticks[p]) for p in graph.predecessors(op))])
    for op in reversed(list(nx.topological_sort(graph))):
        tail[op] = int(ticks[op]) + max([0, *(tail[s] for s in graph.successors(op))])
    assert found[0].tolist() == [head[op] for op in range(instance.n_ops)]
    assert found[1].tolist() == [tail[op] for op in range(instance.n_ops)]


def test_extra_arcs_raise_heads_and_tails() -> None:
    instance = pipeline(2, 2)
    closed = close(instance)
    one, two = np.flatnonzero(np.diff(instance.leg_indptr) > 0)[:2]
    plain = heads_and_tails(instance, closed)
    assert plain is not None
    extra = heads_and_tails(instance, closed, np.array([one]), np.array([two]), np.array([50 * MS]))
    assert extra is not None
    assert extra[0][two] == max(plain[0][two], plain[0][one] + 400_000 + 50 * MS)
    assert (extra[0] >= plain[0]).all()
    assert (extra[1] >= plain[1]).all()


def test_contradicting_arcs_are_noticed() -> None:
    instance = pipeline(2, 2)
    one, two = np.flatnonzero(np.diff(instance.leg_indptr) > 0)[:2]
    both = np.array([one, two]), np.array([two, one])
    assert heads_and_tails(instance, close(instance), *both, np.array([0, 0])) is None


def test_release_is_the_least_delay_where_time_zero_is_dark() -> None:
    assert releases(pipeline(3, 2)).max() == 0
    release = releases(pipeline(3, 2, boundary=DARK))
    legs = np.diff(pipeline(3, 2).leg_indptr) > 0
    assert (release[legs] == 20 * MS).all()
    assert (release[~legs] == 0).all()


def test_cycle_names_an_op() -> None:
    good = pipeline(2, 1)
    preds = [good.pred_index[good.pred_indptr[i] : good.pred_indptr[i + 1]].tolist() for i in range(good.n_ops)]
    preds[0].append(good.n_ops - 1)
    preds[good.n_ops - 1].append(0)
    indptr, index = csr(preds)
    columns = {name: getattr(good, name) for name in good.__dataclass_fields__}
    with pytest.raises(InputError, match=r"cycle .*\(got 'op\d+'\)\. Maybe:"):
        close(Instance(**{**columns, "pred_indptr": indptr, "pred_index": index}))


def test_too_large_a_table_is_refused_before_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 100)
    with pytest.raises(UnsupportedError, match="use --solver list"):
        close(pipeline(3, 3))


def test_kernels_on_hand_made_graphs() -> None:
    indptr, index = np.array([0, 1, 2, 2]), np.array([1, 2])
    order = topological_order(3, indptr, index)
    assert order.tolist() == [0, 1, 2]
    assert reach_bits(order, indptr, index, np.array([-1, 0, 1]), 1).tolist() == [[3], [2], [0]]
    assert topological_order(2, np.array([0, 1, 2]), np.array([1, 0])).tolist() == []


def test_longest_paths_limits_and_cycles() -> None:
    src, dst = np.array([0, 1]), np.array([1, 0])
    value = np.zeros(2, dtype=np.int64)
    assert longest_paths(src, dst, np.array([5, -5]), value, 100)
    assert value.tolist() == [0, 5]
    assert not longest_paths(src, dst, np.array([5, -4]), np.zeros(2, dtype=np.int64), 10**6)
    assert not longest_paths(src, dst, np.array([5, -5]), np.zeros(2, dtype=np.int64), 4)
