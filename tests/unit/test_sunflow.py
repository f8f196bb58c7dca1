"""`sunflow`: cases worked by hand, its paper's guarantee, and the twin on random and on crowded instances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fluxscale.errors import InputError
from fluxscale.instance.instance import Instance
from fluxscale.schedule.circuits import make_schedule
from fluxscale.simulate.replay import replay
from fluxscale.solving.protocol import Outcome, SolveParams
from fluxscale.validate.checker import check
from fluxscale_solvers.baselines.sunflow import Sunflow
from fluxscale_solvers.heuristics.inputs import prepare
from tests.naive_sunflow import naive_sunflow
from tests.strategies import CYCLIC, DARK, Bytes, build, random_instance

HUNDRED_GBPS = 100 * 10**9


def played(instance: Instance) -> Outcome:
    """Outcome whose plan the checker and the replay accept."""
    outcome = Sunflow().solve(instance, SolveParams(), lambda _: None)
    assert outcome.plan is not None
    schedule = make_schedule(instance, outcome.plan.op_start_ticks, outcome.plan.leg_plane)
    report = check(instance, schedule)
    assert report.ok, [v.message for v in report.violations]
    assert outcome.iteration_time_ticks == schedule.iteration_time_ticks
    assert replay(instance, schedule).iteration_time_ticks == schedule.iteration_time_ticks
    return outcome


def starts(instance: Instance) -> list[int]:
    outcome = played(instance)
    assert outcome.plan is not None
    return outcome.plan.op_start_ticks.tolist()


def assert_equal_to_twin(instance: Instance, seed: int) -> None:
    prepared = prepare(instance)
    problem = prepared.problem
    options = {
        old: problem.option_plane[problem.option_indptr[new] : problem.option_indptr[new + 1]].tolist()
        for new, old in enumerate(prepared.leg_of.tolist())
    }
    outcome = played(instance)
    held: dict[object, object] = {}
    for _ in range(outcome.stats["rounds"]):
        start, plane, held = naive_sunflow(instance, options, held=held)
    assert outcome.plan is not None
    assert outcome.plan.op_start_ticks.tolist() == [start[op] for op in range(instance.n_ops)], seed
    assert outcome.plan.leg_plane.tolist() == [plane[leg] for leg in range(instance.n_legs)], seed


def test_later_transfers_pass_one_whose_port_is_busy():
    ops = [
        ("transfer", 0, 1, 100, []),
        ("local", 1, []),
        ("transfer", 2, 1, 5, [1]),
        ("local", 2, []),
        ("transfer", 2, 3, 5, [3]),
    ]
    assert starts(build(ops, delay=10)) == [0, 0, 110, 0, 2]


def test_when_ports_fall_idle_the_oldest_goes_first():
    ops = [
        ("transfer", 0, 1, 50, []),
        ("local", 3, []),
        ("transfer", 0, 2, 5, [1]),
        ("local", 2, []),
        ("transfer", 3, 1, 7, [3]),
        ("transfer", 0, 1, 1, [3]),
    ]
    # at 50 both ports fall idle: 3 -> 1 came first (op 4), so 0 -> 1 may not reuse its circuit, and 0 -> 2 starts too
    assert starts(build(ops, delay=10)) == [0, 0, 60, 0, 60, 77]


def test_the_very_circuit_costs_no_delay_and_a_dark_start_does():
    ops = [("transfer", 0, 1, 5, []), ("transfer", 0, 1, 6, []), ("transfer", 0, 2, 7, [])]
    assert starts(build(ops, delay=10, boundary=DARK)) == [10, 15, 31]


def test_a_gang_needs_all_its_ports_at_once():
    ops = [
        ("transfer", 0, 1, 20, []),
        ("gang", [(0, 1), (2, 3)], 4, []),
        ("transfer", 2, 3, 15, []),
        ("transfer", 2, 3, 15, []),
    ]
    # at 20 the ports 2 and 3 are busy again: nothing is kept for the gang
    assert starts(build(ops, delay=10)) == [0, 30, 0, 15]


def test_the_other_direction_of_a_duplex_circuit_is_used():
    ops = [("transfer", 0, 1, 5, []), ("transfer", 1, 2, 8, []), ("local", 3, []), ("transfer", 1, 0, 9, [2])]
    assert starts(build(ops, delay=10, duplex=True)) == [0, 22, 0, 3]


def test_an_all_stop_plane_changes_when_it_is_silent():
    ops = [
        ("transfer", 0, 1, 5, []),
        ("transfer", 2, 3, 9, []),
        ("transfer", 0, 3, 5, []),
        ("transfer", 2, 1, 5, []),
        ("transfer", 0, 1, 2, []),
    ]
    # 0 -> 1 goes on with its circuit at 5; the plane is silent at 9, and both others are set then
    assert starts(build(ops, delay=10, all_stop=True)) == [0, 0, 19, 19, 5]


def test_a_cyclic_iteration_begins_with_the_circuits_that_it_leaves():
    ops = [("transfer", 0, 1, 4, []), ("transfer", 0, 2, 3, [0])]
    outcome = played(build(ops, delay=10, boundary=CYCLIC))
    assert outcome.iteration_time_ticks == 27
    assert outcome.stats["rounds"] == 2


def all_to_all(n: int, size: int | np.ndarray, order: np.ndarray | None = None) -> Instance:
    """Every mapper sends to every reducer (two sets of endpoints) at 100 Gb/s, 10 us a change."""
    pairs = [(i, n + j) for i in range(n) for j in range(n)]
    sizes = np.broadcast_to(size, n * n)
    chosen = range(n * n) if order is None else order.tolist()
    ops = [("transfer", *pairs[k], Bytes(int(sizes[k])), []) for k in chosen]
    return build(ops, delay=10_000, rate=HUNDRED_GBPS, boundary=DARK)


def circuit_bound(instance: Instance) -> int:
    """Largest sum of delay and duration over a port's peers."""
    ticks = -(-instance.op_bytes * 8 * 10**9 // HUNDRED_GBPS) + int(instance.plane_delay_ticks[0])
    loads = [np.bincount(ends, weights=ticks) for ends in (instance.leg_tx, instance.leg_rx)]
    return int(max(load.max() for load in loads))


def test_one_coflow_ends_within_twice_the_circuit_bound():
    rng = np.random.default_rng(7)
    worst = 0.0
    for _ in range(60):
        n = int(rng.integers(2, 9))
        size = rng.integers(1, 10**6, size=n * n) ** int(rng.integers(1, 3)) // 1000 + 1
        kept = rng.permutation(n * n)[: int(rng.integers(1, n * n + 1))]
        instance = all_to_all(n, size, kept)
        value = played(instance).iteration_time_ticks
        bound = circuit_bound(instance)
        assert value is not None
        assert bound <= value <= 2 * bound
        worst = max(worst, value / bound)
    assert worst > 1.2  # the guarantee is put to the test


@pytest.mark.parametrize(("n", "measured"), [(16, 1.18), (32, 1.12), (64, 1.07)])
def test_all_to_all_as_the_authors_simulator_has_it(n, measured):
    """Each reducer receives 4n MB: the order of arrival is random there, so near its figures and no further."""
    instance = all_to_all(n, 4 * 2**20, np.random.default_rng(1).permutation(n * n))
    value = played(instance).iteration_time_ticks
    assert value is not None
    assert abs(value / circuit_bound(instance) - measured) < 0.04


def test_all_to_all_of_128_ports_in_order_wastes_nothing():
    instance = all_to_all(128, 4 * 2**20)
    assert played(instance).iteration_time_ticks == circuit_bound(instance)


@pytest.mark.parametrize("chunk", range(8))
def test_equal_to_the_twin_and_valid_on_every_fabric(chunk):
    for seed in range(20 * chunk, 20 * chunk + 20):
        instance = random_instance(np.random.default_rng(seed), max_transfers=5 + seed % 17, max_planes=3)
        assert_equal_to_twin(instance, seed)


@pytest.mark.parametrize("seed", range(24))
def test_equal_to_the_twin_where_many_wait(seed):
    """Chunks of the same pairs, gangs between them, releases at many and at few instants."""
    rng = np.random.default_rng(1000 + seed)
    n = int(rng.integers(3, 10))
    instants = int(rng.choice([1, 4, 50]))
    ops: list[Any] = [("local", int(ticks), []) for ticks in rng.integers(0, 200, size=instants)]
    for _ in range(200):
        after = [int(rng.integers(instants))]
        members = rng.permutation(n)[: int(rng.integers(2, 4))].tolist()
        ticks = int(rng.integers(1, 30)) if seed % 2 else 10
        if len(members) == 3 and seed % 3 == 0:
            ops.append(("gang", [(members[0], members[1]), (members[1], members[0])], ticks, after))
        else:
            ops.append(("transfer", members[0], members[1], ticks, after))
    planes = int(rng.integers(1, 3))
    duplex = [bool(rng.random() < 0.4) for _ in range(planes)]
    all_stop = [bool(rng.random() < 0.3) for _ in range(planes)]
    delays = rng.integers(0, 12, size=planes).tolist()
    boundary = int(rng.integers(3))
    instance = build(ops, delay=delays, duplex=duplex, all_stop=all_stop, boundary=boundary, endpoints=n)
    assert_equal_to_twin(instance, seed)


def test_unknown_options_are_refused():
    with pytest.raises(InputError, match=r"solver\.colour"):
        Sunflow().solve(build([("transfer", 0, 1, 5)]), SolveParams(options={"colour": 1}), lambda _: None)
