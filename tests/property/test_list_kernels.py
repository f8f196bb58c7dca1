"""The list kernels against their plain-Python twins, and against what any schedule must satisfy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fluxscale.errors import InfeasibleError
from fluxscale.instance.derived import derive
from fluxscale.kernels.list_schedule import list_schedule
from fluxscale.kernels.order_decode import decode
from fluxscale.kernels.order_search import search
from fluxscale.kernels.order_settle import settle
from fluxscale.kernels.ports import new_ports
from fluxscale.solving.protocol import SolveParams
from fluxscale_solvers.heuristics.candidates import run_rule
from fluxscale_solvers.heuristics.improvement import saved_states
from fluxscale_solvers.heuristics.inputs import prepare
from fluxscale_solvers.heuristics.list_scheduling import ListScheduling
from fluxscale_solvers.heuristics.rules import FIXED_RULES, random_rule, rank_and_offset
from tests.naive_list import graph, naive_decode, naive_list
from tests.property import exact_instances
from tests.strategies import build

RULES = [*FIXED_RULES[:3], random_rule(2), random_rule(5)]


def random_instance(seed, most_transfers):
    """The first feasible instance of a seed: a ring of three on two duplex planes, say, has no schedule."""
    for attempt in range(100):
        instance = exact_instances.random_instance(seed + 1000 * attempt, most_transfers)
        try:
            prepare(instance)
        except InfeasibleError:
            continue
        return instance
    raise AssertionError("no feasible instance")


def old_numbering(instance, prepared, rank, offset):
    """Ranks, offsets and leg options of a rule, by the instance's own numbers."""
    n = instance.n_ops
    old_rank, old_offset = [0] * n, [0] * n
    for new, old in enumerate(prepared.op_of.tolist()):
        old_rank[old] = int(rank[new])
        old_offset[old] = int(offset[new]) if len(offset) else 0
    options = {}
    problem = prepared.problem
    for new, old in enumerate(prepared.leg_of.tolist()):
        options[old] = problem.option_plane[problem.option_indptr[new] : problem.option_indptr[new + 1]].tolist()
    return old_rank, old_offset, options


@pytest.mark.parametrize("seed", range(60))
def test_list_schedule_equals_its_twin(seed):
    instance = random_instance(seed, 9)
    prepared = prepare(instance)
    for rule in RULES:
        rank, _, offset, coarse = rank_and_offset(prepared, rule, seed)
        assert coarse == 0
        found = run_rule(instance, prepared, rule, seed)
        plan = prepared.plan(found.start, found.leg_option)
        old_rank, old_offset, options = old_numbering(instance, prepared, rank, offset)
        start, _, plane_of = naive_list(instance, old_rank, old_offset, options)
        assert plan.op_start_ticks.tolist() == [start[op] for op in range(instance.n_ops)]
        assert plan.leg_plane.tolist() == [plane_of[leg] for leg in range(instance.n_legs)]


@pytest.mark.parametrize("seed", range(60))
def test_decode_equals_its_twin_and_repeats_the_list_schedule(seed):
    instance = random_instance(seed, 9)
    prepared = prepare(instance)
    found = run_rule(instance, prepared, FIXED_RULES[0])
    n = instance.n_ops
    ports = new_ports(prepared.n_planes, prepared.n_endpoints)
    start, option = np.empty(n, dtype=np.int64), np.zeros(instance.n_legs, dtype=np.int32)
    ready, binder, binding = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int8)
    value, _ = decode(
        *prepared.problem, *ports, found.order, ready, start, option, binder, binding, *saved_states(n, prepared, 0)
    )
    assert start.tolist() == found.start.tolist()
    _, _, options = old_numbering(instance, prepared, np.zeros(n), np.zeros(0))
    twin_start, twin_end = naive_decode(instance, prepared.op_of[found.order].tolist(), options)
    assert prepared.plan(start, option).op_start_ticks.tolist() == [twin_start[op] for op in range(n)]
    assert value == max(twin_end.values())


def test_simple_kernel_equals_the_general_one():
    simple = [
        (seed, instance, prepared)
        for seed in range(200)
        for instance in [random_instance(seed, 9)]
        for prepared in [prepare(instance)]
        if prepared.simple
    ]
    assert len(simple) >= 20
    for (seed, instance, prepared), rule in itertools.product(simple, RULES):
        found = run_rule(instance, prepared, rule, seed)
        start, order = np.empty_like(found.start), np.empty_like(found.order)
        option = np.zeros(instance.n_legs, dtype=np.int32)
        ports = new_ports(prepared.n_planes, prepared.n_endpoints)
        rank = rank_and_offset(prepared, rule, seed)
        assert list_schedule(*prepared.problem, *ports, *rank, start, option, order) == instance.n_ops
        assert start.tolist() == found.start.tolist()
        assert order.tolist() == found.order.tolist()


@pytest.mark.parametrize("seed", range(40))
def test_search_keeps_a_topological_order_and_never_gets_worse(seed):
    instance = random_instance(seed, 9)
    prepared = prepare(instance)
    found = run_rule(instance, prepared, FIXED_RULES[0])
    order = found.order.copy()
    ports = new_ports(prepared.n_planes, prepared.n_endpoints)
    makespan = max(
        naive_decode(instance, prepared.op_of[order].tolist(), old_numbering(instance, prepared, order, [])[2])[
            1
        ].values()
    )
    value, _, _ = search(
        *prepared.problem,
        *ports,
        order,
        prepared.tail,
        0,
        300,
        seed + 1,
        5.0,
        0.99,
        *saved_states(instance.n_ops, prepared, 4),
    )
    assert sorted(order.tolist()) == list(range(instance.n_ops))
    at = {op: i for i, op in enumerate(prepared.op_of[order].tolist())}
    for op in range(instance.n_ops):
        for pred in instance.pred_index[instance.pred_indptr[op] : instance.pred_indptr[op + 1]].tolist():
            assert at[pred] < at[op]
        before = derive(instance).prev_on_device[op]
        assert before < 0 or at[before] < at[op]
    options = old_numbering(instance, prepared, order, [])[2]
    assert max(naive_decode(instance, prepared.op_of[order].tolist(), options)[1].values()) == value <= makespan


def test_same_answer_with_one_and_three_workers():
    for seed in range(8):
        instance = random_instance(seed, 9)
        plans = [
            ListScheduling().solve(instance, SolveParams(seed=5, workers=w, work_limit=20_000), lambda _: None).plan
            for w in (1, 3)
        ]
        assert plans[0].op_start_ticks.tolist() == plans[1].op_start_ticks.tolist()
        assert plans[0].leg_plane.tolist() == plans[1].leg_plane.tolist()


@pytest.mark.parametrize("seed", range(40))
def test_backfilling_keeps_a_topological_order_and_never_gets_worse(seed):
    instance = random_instance(seed, 9)
    prepared = prepare(instance)
    found = run_rule(instance, prepared, FIXED_RULES[2])
    options = old_numbering(instance, prepared, found.order, [])[2]
    before = max(naive_decode(instance, prepared.op_of[found.order].tolist(), options)[1].values())
    order = found.order.copy()
    ports = new_ports(prepared.n_planes, prepared.n_endpoints)
    saved = saved_states(instance.n_ops, prepared, 4)
    value, used, taken = settle(*prepared.problem, *ports, order, prepared.tail, 500, 64, *saved)
    assert taken <= used <= 500
    assert max(naive_decode(instance, prepared.op_of[order].tolist(), options)[1].values()) == value <= before
    preds, _ = graph(instance)
    at = {op: i for i, op in enumerate(prepared.op_of[order].tolist())}
    assert all(at[before_it] < at[op] for op in range(instance.n_ops) for before_it in preds[op])


def test_backfilling_finds_the_gap_that_appending_leaves():
    """A short transfer of no urgency fits between two urgent ones on another circuit of its port."""
    instance = build(
        [
            ("compute", "a", 40, []),
            ("compute", "a", 40, [0]),
            ("transfer", 0, 1, 5, [0]),
            ("transfer", 0, 1, 5, [1]),
            ("compute", "b", 100, [2, 3]),
            ("transfer", 0, 2, 5, [0]),
        ],
        delay=10,
    )
    prepared = prepare(instance)
    late = [op for op in range(6) if op != 5] + [5]
    order = np.argsort(prepared.op_of).astype(np.int32)[np.array(late)]
    ports = new_ports(prepared.n_planes, prepared.n_endpoints)
    start, _ = naive_decode(instance, late, old_numbering(instance, prepared, order, [])[2])
    assert start[5] == 95
    settle(*prepared.problem, *ports, order, prepared.tail, 100, 64, *saved_states(6, prepared, 2))
    start, _ = naive_decode(instance, prepared.op_of[order].tolist(), old_numbering(instance, prepared, order, [])[2])
    assert start[5] < start[3] == 80
