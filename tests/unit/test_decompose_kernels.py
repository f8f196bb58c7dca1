"""Kernels of decomposition against plain-Python twins."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pytest

from fluxscale.decompose.incumbent import make_incumbent
from fluxscale.decompose.timeline import Timeline, make_timeline, port_sequences
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance
from fluxscale.kernels.cut_windows import cut_windows
from fluxscale.kernels.hull import hull
from fluxscale.kernels.stitch_order import stitch_order
from fluxscale.solving.protocol import SolveParams
from fluxscale.solving.registry import get_solver
from tests.naive_decompose import (
    graph_of,
    graph_with_ports,
    naive_between,
    naive_cut_windows,
    naive_met,
    naive_stitch_order,
)
from tests.strategies import build, random_instance

Ints = npt.NDArray[Any]
SEEDS = 300


# --- hull -------------------------------------------------------------------------------------------------------------


def list_timeline(seed: int, max_transfers: int) -> Timeline:
    instance = random_instance(np.random.default_rng(seed), max_transfers=max_transfers)
    params = SolveParams(options={"rules": 1, "moves": 0})
    plan = get_solver("list").solve(instance, params, lambda _: None).plan
    assert plan is not None
    return make_timeline(instance, make_incumbent(instance, plan.op_start_ticks, plan.leg_plane))


def graph_of_timeline(timeline: Timeline) -> nx.DiGraph:
    leg_op = np.repeat(np.arange(timeline.instance.n_ops), np.diff(timeline.instance.leg_indptr))
    rank = np.repeat(timeline.position[leg_op], 2)
    return graph_with_ports(timeline.instance, timeline.incumbent.leg_plane, rank)


def run_hull(timeline: Timeline, seeds: Sequence[int], low: int, high: int, limit: int, base: int) -> list[int]:
    instance, sequences = timeline.instance, timeline.sequences
    derived = derive(instance)
    found = hull(
        np.array(seeds, dtype=np.int32), low, high, limit, base, timeline.stamp, timeline.position,
        derived.succ_indptr, derived.succ_index, derived.next_on_device,
        instance.pred_indptr, instance.pred_index, derived.prev_on_device,
        instance.leg_indptr, sequences.leg_entry, sequences.entry_port, sequences.entry_op,
    )  # fmt: skip
    assert found.dtype == np.int32
    return found.tolist()


def test_hull_equals_its_twin() -> None:
    seen = Counter[str]()
    for seed in range(SEEDS):
        rng = np.random.default_rng([seed, 1])
        timeline = list_timeline(seed, max_transfers=int(rng.choice([4, 12, 30])))
        graph, position, order = graph_of_timeline(timeline), timeline.position, timeline.incumbent.order
        assert all(position[a] < position[b] for a, b in graph.edges)
        base = 1
        for trial in range(6):
            low, high = sorted(rng.integers(0, len(order) + 1, size=2).tolist())
            share = rng.choice([0.15, 0.4, 0.8])
            seeds = [int(op) for op in rng.permutation(order[low:high]) if rng.random() < share]
            met = naive_met(graph, position, seeds, high)
            expected = {op for op in met if op in seeds or not nx.descendants(graph, op).isdisjoint(seeds)}
            assert expected == set(seeds) | naive_between(graph, seeds)

            limit = len(met) + int(rng.integers(-2, 3)) if rng.random() < 0.7 else len(order)
            found = run_hull(timeline, seeds, low, high, max(0, limit), base)
            case = f"seed {seed}, trial {trial}"
            if len(met) > limit:
                assert found == [], case
            else:
                assert found[: len(seeds)] == seeds, case
                assert len(found) == len(set(found)), case
                assert set(found) == expected, case
            assert (timeline.stamp < base + 2).all(), case
            seen["too many"] += len(met) > limit
            seen["just enough"] += len(met) == limit > 0
            seen["more than the seeds"] += len(found) > len(seeds)
            seen["met in vain"] += len(met) > len(found) > 0
            base += 2
    assert min(seen.values()) > 50, seen


@pytest.fixture
def chain() -> Timeline:
    """Two computes on a device, then transfers 2 to 5 one after the other on one port, then a local op."""
    ops = [("compute", "d", 1), ("compute", "d", 1)]
    ops += [("transfer", 0, 1, 5, [1]), ("transfer", 0, 2, 5, [1]), ("transfer", 0, 3, 5, [1])]
    ops += [("transfer", 0, 1, 5, [1]), ("local", 1, [3])]
    instance = build(ops)
    starts = np.array([0, 1, 2, 17, 32, 47, 22])
    return make_timeline(instance, make_incumbent(instance, starts, np.zeros(4, dtype=np.int16)))


def test_hull_follows_precedence_device_and_port(chain: Timeline) -> None:
    n = chain.instance.n_ops
    assert sorted(run_hull(chain, [0, 2], 0, n, n, 1)) == [0, 1, 2]  # by device, then precedence
    assert sorted(run_hull(chain, [5, 2], 0, n, n, 3)) == [2, 3, 4, 5]  # by port, never through the local op
    assert run_hull(chain, [6, 4], 0, n, n, 5) == [6, 4]  # neither leads to the other
    assert run_hull(chain, [3], 0, n, n, 7) == [3]
    assert run_hull(chain, [], 0, n, n, 9) == []


def test_hull_counts_seeds_and_all_that_it_meets_below_the_end(chain: Timeline) -> None:
    first, n = int(chain.position[2]), chain.instance.n_ops
    assert chain.incumbent.order.tolist() == [0, 1, 2, 3, 6, 4, 5]
    assert run_hull(chain, [2], first, n, 5, 1) == [2]  # meets 2, 3, 6, 4, 5
    assert run_hull(chain, [2], first, n, 4, 3) == []
    assert run_hull(chain, [2, 3], first, first + 3, 3, 5) == [2, 3]  # meets 2, 3, 6
    assert run_hull(chain, [2, 3], first, first + 3, 2, 7) == []
    assert run_hull(chain, [2, 3], first, first + 2, 2, 9) == [2, 3]
    assert run_hull(chain, [2, 3], first, first + 2, 1, 11) == []
    assert run_hull(chain, [2], first, first + 1, 0, 13) == []


def test_hull_after_a_search_that_was_given_up(chain: Timeline) -> None:
    n = chain.instance.n_ops
    assert run_hull(chain, [2, 5], 0, n, 3, 1) == []
    assert sorted(run_hull(chain, [2, 5], 0, n, n, 3)) == [2, 3, 4, 5]
    assert sorted(run_hull(chain, [2, 4], 0, n, n, 5)) == [2, 3, 4]


# --- cut_windows ------------------------------------------------------------------------------------------------------


def run_cut_windows(instance: Instance, ops: Sequence[int], budget: int, first_budget: int) -> list[int]:
    counts = np.zeros(2 * instance.n_endpoints, dtype=np.int64)
    chosen = np.array(ops, dtype=np.int32)
    found = cut_windows(chosen, instance.leg_indptr, instance.leg_tx, instance.leg_rx, budget, first_budget, counts)
    assert found.dtype == np.int64
    assert not counts.any()
    return found.tolist()


def test_cut_windows_equals_its_twin() -> None:
    seen = Counter[str]()
    for seed in range(SEEDS):
        rng = np.random.default_rng([seed, 2])
        instance = random_instance(rng, max_transfers=int(rng.choice([4, 12, 30])))
        with_legs = rng.permutation(np.flatnonzero(np.diff(instance.leg_indptr) > 0))
        ops = with_legs[: int(rng.integers(1, len(with_legs) + 1))].tolist()
        most = int(rng.choice([2, 6, 20]))
        for trial in range(3):
            budget = int(rng.integers(-1, most))
            first_budget = int(rng.integers(-1, most)) if trial else budget
            found = run_cut_windows(instance, ops, budget, first_budget)
            expected = naive_cut_windows(instance, ops, budget, first_budget)
            assert found == expected, f"seed {seed}, budget {budget}, first budget {first_budget}, ops {ops}"
            assert found[0] == 0
            assert found[-1] == len(ops)
            assert (np.diff(found) > 0).all()
            seen["one window"] += len(found) == 2
            seen["several windows"] += len(found) > 3
            seen["shifted"] += found != naive_cut_windows(instance, ops, budget, budget)
    assert min(seen.values()) > 50, seen


def test_first_budget_shifts_all_cuts() -> None:
    instance = build([("transfer", 0, 1 + i, 5) for i in range(10)])  # k of them: k (k - 1) / 2 pairs
    assert run_cut_windows(instance, range(10), 3, 3) == [0, 3, 6, 9, 10]
    assert run_cut_windows(instance, range(10), 3, 1) == [0, 2, 5, 8, 10]
    assert run_cut_windows(instance, range(10), 3, 0) == [0, 1, 4, 7, 10]
    assert run_cut_windows(instance, range(10), 1, 10) == [0, 5, 7, 9, 10]


def test_pairs_that_share_both_endpoints_count_twice() -> None:
    instance = build([("transfer", 0, 1, 5)] * 6 + [("transfer", 1, 0, 5)])
    assert run_cut_windows(instance, range(6), 6, 6) == [0, 3, 6]
    assert run_cut_windows(instance, range(6), 5, 5) == [0, 2, 4, 6]
    assert run_cut_windows(instance, [0, 6], 0, 0) == [0, 2]  # sending and receiving are not counted together


@pytest.mark.parametrize("budget", [-1, 0, 1, 5])
def test_an_op_with_many_pairs_stands_alone(budget: int) -> None:
    huge = ("gang", [(0, 1)] * 20, 5)
    instance = build([huge, ("transfer", 0, 1, 5), huge, huge, ("transfer", 2, 3, 5)])
    for ops in itertools.permutations(range(5)):
        found = run_cut_windows(instance, ops, budget, budget)
        assert found == naive_cut_windows(instance, ops, budget, budget)
        assert (np.diff(found) > 0).all()
    assert run_cut_windows(instance, [0], budget, budget) == [0, 1]
    assert run_cut_windows(instance, [0, 1, 2, 3], budget, budget) == [0, 1, 2, 3, 4]


def test_no_ops_have_no_windows() -> None:
    instance = build([("transfer", 0, 1, 5)])
    plain = getattr(cut_windows, "py_func", cut_windows)  # compiled, it would write there unnoticed
    counts = np.zeros(2 * instance.n_endpoints, dtype=np.int64)
    found = plain(np.empty(0, dtype=np.int32), instance.leg_indptr, instance.leg_tx, instance.leg_rx, 5, 5, counts)
    assert not found.any()


# --- stitch_order -----------------------------------------------------------------------------------------------------


def run_stitch_order(instance: Instance, leg_plane: Ints, rank: Ints, key: Ints, tie: Ints) -> list[int]:
    derived, sequences = derive(instance), port_sequences(instance, leg_plane, rank)
    in_degree = (np.diff(instance.pred_indptr) + (derived.prev_on_device >= 0)).astype(np.int32)
    before = in_degree.copy()
    order, count = stitch_order(
        derived.succ_indptr, derived.succ_index, derived.next_on_device, in_degree, instance.leg_indptr,
        sequences.leg_entry, sequences.entry_port, sequences.entry_op, key, tie,
    )  # fmt: skip
    assert order.dtype == np.int32
    assert len(order) == instance.n_ops
    assert (in_degree == before).all()
    return order[:count].tolist()


def test_stitch_order_equals_its_twin() -> None:
    seen = Counter[str]()
    for seed in range(SEEDS):
        rng = np.random.default_rng([seed, 3])
        instance = random_instance(rng, max_transfers=int(rng.choice([4, 12, 30])))
        n, derived = instance.n_ops, derive(instance)
        at = [derived.leg_planes[a:b] for a, b in itertools.pairwise(derived.leg_plane_indptr.tolist())]
        leg_plane = np.array([rng.choice(planes) for planes in at], dtype=np.int16)
        place = np.empty(n, dtype=np.int64)
        place[naive_stitch_order(graph_of(instance), rng.random(n), np.arange(n))] = np.arange(n)
        for swaps in (0, 1, 2, 8):
            rank = np.repeat(place[derived.leg_op], 2)
            for _ in range(swaps):
                a, b = rng.integers(len(rank), size=2)
                rank[[a, b]] = rank[[b, a]]
            key = rng.integers(0, rng.choice([1, 4, 1000]), size=n) * 2**40
            tie = rng.permutation(n).astype(np.int32)
            graph = graph_with_ports(instance, leg_plane, rank)
            found = run_stitch_order(instance, leg_plane, rank, key, tie)
            assert found == naive_stitch_order(graph, key, tie), f"seed {seed}, {swaps} swaps"
            complete = nx.is_directed_acyclic_graph(graph)
            assert (len(found) == n) == complete, f"seed {seed}, {swaps} swaps"
            if complete:
                lexicographic = nx.lexicographical_topological_sort(
                    graph, key=lambda op, key=key, tie=tie: (key[op], tie[op])
                )
                assert found == list(lexicographic)
            assert complete or swaps, f"seed {seed}"
            seen["contradiction"] += not complete
            seen["swapped, in order"] += complete and swaps > 0
            seen["some ops before a contradiction"] += not complete and len(found) > 0
    assert min(seen.values()) > 50, seen


@pytest.mark.parametrize("seed", range(20))
def test_stitch_order_with_many_ops_ready_at_once(seed: int) -> None:
    rng = np.random.default_rng([seed, 4])
    preds = [[int(rng.integers(i))] if i > 20 and rng.random() < 0.7 else [] for i in range(80)]
    instance = build([("local", 1, p) for p in preds])
    nothing = np.zeros(0, dtype=np.int64)
    key, tie = rng.integers(0, 60, size=80), rng.permutation(80).astype(np.int32)
    found = run_stitch_order(instance, nothing.astype(np.int16), nothing, key, tie)
    assert found == naive_stitch_order(graph_of(instance), key, tie)


def test_stitch_order_where_two_ports_contradict_each_other() -> None:
    instance = build([("transfer", 0, 1, 5), ("transfer", 0, 1, 5), ("local", 1, [1]), ("local", 1)])
    plane, key, tie = np.zeros(2, dtype=np.int16), np.zeros(4, dtype=np.int64), np.arange(4, dtype=np.int32)
    assert run_stitch_order(instance, plane, np.array([0, 0, 1, 1]), key, tie) == [0, 1, 2, 3]
    assert run_stitch_order(instance, plane, np.array([1, 1, 0, 0]), key, tie) == [1, 0, 2, 3]
    assert run_stitch_order(instance, plane, np.array([0, 1, 1, 0]), key, tie) == [3]


def test_stitch_order_where_a_port_contradicts_precedence() -> None:
    instance = build([("transfer", 0, 1, 5), ("transfer", 0, 2, 5, [0])])
    plane, key, tie = np.zeros(2, dtype=np.int16), np.zeros(2, dtype=np.int64), np.arange(2, dtype=np.int32)
    assert run_stitch_order(instance, plane, np.array([0, 0, 1, 1]), key, tie) == [0, 1]
    assert run_stitch_order(instance, plane, np.array([1, 1, 0, 0]), key, tie) == []


def test_a_gang_may_hold_a_duplex_port_twice_but_not_around_another_op() -> None:
    instance = build([("gang", [(0, 1), (1, 0)], 5), ("transfer", 0, 1, 5)], duplex=True)
    plane, key, tie = np.zeros(3, dtype=np.int16), np.zeros(2, dtype=np.int64), np.arange(2, dtype=np.int32)
    assert run_stitch_order(instance, plane, np.array([0, 0, 0, 0, 1, 1]), key, tie) == [0, 1]
    assert run_stitch_order(instance, plane, np.array([0, 0, 1, 1, 0, 0]), key, tie) == []


def test_lowest_key_first_then_lowest_tie() -> None:
    instance = build([("local", 1), ("local", 1, [0]), ("local", 1), ("local", 1), ("transfer", 0, 1, 5)])
    plane, rank = np.zeros(1, dtype=np.int16), np.zeros(2, dtype=np.int64)
    key, tie = np.array([2**40, 0, 2**41, 2**40, -1]), np.array([1, 4, 2, 0, 3], dtype=np.int32)
    assert run_stitch_order(instance, plane, rank, key, tie) == [4, 3, 0, 1, 2]
