"""`on-demand` and `on-demand-ahead`: cases worked by hand, twins on random instances, the checker on every fabric."""

from __future__ import annotations

import numpy as np
import pytest

from fluxscale.errors import InputError
from fluxscale.instance.instance import Instance
from fluxscale.schedule.circuits import make_schedule
from fluxscale.simulate.replay import replay
from fluxscale.solving.protocol import Outcome, SolveParams
from fluxscale.solving.status import Termination
from fluxscale.validate.checker import check
from fluxscale_solvers.baselines.on_demand import OnDemand, OnDemandAhead
from fluxscale_solvers.heuristics.inputs import prepare
from tests.naive_on_demand import naive_on_demand
from tests.strategies import CYCLIC, DARK, PRESET, build, random_instance


def played(solver: OnDemand | OnDemandAhead, instance: Instance) -> Outcome:
    """Outcome of a solver whose plan the checker and the replay accept."""
    outcome = solver.solve(instance, SolveParams(), lambda _: None)
    assert outcome.plan is not None
    schedule = make_schedule(instance, outcome.plan.op_start_ticks, outcome.plan.leg_plane)
    report = check(instance, schedule)
    assert report.ok, [v.message for v in report.violations]
    assert outcome.iteration_time_ticks == schedule.iteration_time_ticks
    assert replay(instance, schedule).iteration_time_ticks == schedule.iteration_time_ticks
    assert outcome.termination is Termination.FINISHED
    return outcome


def starts(instance: Instance, *, ahead: bool = False) -> list[int]:
    outcome = played(OnDemandAhead() if ahead else OnDemand(), instance)
    assert outcome.plan is not None
    return outcome.plan.op_start_ticks.tolist()


def leg_options(instance: Instance) -> dict[int, list[int]]:
    """Planes that each leg may use, as the solvers see it (gangs may be fixed)."""
    prepared = prepare(instance)
    problem = prepared.problem
    return {
        old: problem.option_plane[problem.option_indptr[new] : problem.option_indptr[new + 1]].tolist()
        for new, old in enumerate(prepared.leg_of.tolist())
    }


def test_a_change_begins_with_the_request_or_when_the_ports_are_idle():
    ops = [
        ("transfer", 0, 1, 4, []),
        ("local", 30, []),
        ("transfer", 0, 2, 3, [1]),
        ("transfer", 0, 2, 3, [1]),
        ("transfer", 0, 1, 5, [2]),
    ]
    # the first circuit was there; at 30 the ports are idle and the change begins; the second 0 -> 2 reuses the circuit
    assert starts(build(ops, delay=10)) == [0, 0, 40, 43, 56]
    # ahead: 0 -> 2 is set from 4 on
    assert starts(build(ops, delay=10), ahead=True) == [0, 0, 30, 33, 46]


def test_a_dark_start_costs_the_delay_after_the_request():
    ops = [("local", 5, []), ("transfer", 0, 1, 4, [0])]
    assert starts(build(ops, delay=10, boundary=DARK)) == [0, 15]
    assert starts(build(ops, delay=10, boundary=DARK), ahead=True) == [0, 10]
    assert starts(build(ops, delay=10, boundary=PRESET)) == [0, 5]


@pytest.mark.parametrize("ahead", [False, True])
def test_an_earlier_request_holds_its_idle_port(ahead):
    ops = [
        ("transfer", 0, 1, 100, []),
        ("local", 1, []),
        ("transfer", 2, 1, 5, [1]),
        ("local", 2, []),
        ("transfer", 2, 3, 5, [3]),
    ]
    assert starts(build(ops, delay=10), ahead=ahead) == [0, 0, 110, 0, 125]


def test_ties_go_by_op_number():
    ops = [("transfer", 2, 1, 5, []), ("transfer", 0, 1, 7, []), ("transfer", 3, 1, 9, [])]
    assert starts(build(ops, delay=10)) == [0, 15, 32]


def test_a_cyclic_iteration_begins_with_the_circuits_that_it_leaves():
    ops = [("transfer", 0, 1, 4, []), ("transfer", 0, 2, 3, [0])]
    outcome = played(OnDemand(), build(ops, delay=10, boundary=CYCLIC))
    assert outcome.plan is not None
    assert outcome.plan.op_start_ticks.tolist() == [10, 24]
    assert outcome.iteration_time_ticks == 27
    assert outcome.stats["rounds"] == 2
    # ahead: the change back is made while nothing is asked for, and lengthens the period
    ahead = played(OnDemandAhead(), build(ops, delay=10, boundary=CYCLIC))
    assert ahead.plan is not None
    assert ahead.plan.op_start_ticks.tolist() == [0, 14]
    assert ahead.iteration_time_ticks == 27


def test_requests_share_the_change_of_an_all_stop_plane():
    ops = [
        ("transfer", 0, 1, 5, []),
        ("transfer", 2, 3, 5, []),
        ("local", 12, []),
        ("transfer", 4, 5, 5, [2]),
        ("local", 13, []),
        ("transfer", 0, 1, 1, [4]),
        ("local", 14, []),
        ("transfer", 4, 3, 1, [6]),
    ]
    # 4 -> 5 waits for silence at 15; 0 -> 1 is in place, but comes after that change; 4 -> 3 needs a change of its own
    assert starts(build(ops, delay=10, all_stop=True, boundary=DARK)) == [10, 10, 0, 25, 0, 25, 0, 40]


def test_both_directions_of_a_duplex_circuit_run_at_once():
    ops = [("transfer", 0, 1, 5, []), ("transfer", 1, 0, 8, []), ("transfer", 0, 2, 1, [])]
    assert starts(build(ops, delay=10, duplex=True, boundary=DARK)) == [10, 10, 28]


def test_the_plane_with_the_earliest_start_is_taken():
    ops = [("transfer", 0, 1, 5, []), ("transfer", 0, 2, 8, []), ("transfer", 0, 1, 2, []), ("transfer", 0, 2, 2, [])]
    outcome = played(OnDemand(), build(ops, delay=10, planes=2))
    assert outcome.plan is not None
    assert outcome.plan.leg_plane.tolist() == [0, 1, 0, 1]
    assert outcome.plan.op_start_ticks.tolist() == [0, 0, 5, 8]


def test_a_gang_starts_when_its_last_circuit_is_up():
    ops = [("transfer", 0, 1, 5, []), ("transfer", 2, 3, 9, []), ("gang", [(0, 1), (2, 0)], 4, [])]
    assert starts(build(ops, delay=10)) == [0, 0, 19]


@pytest.mark.parametrize("chunk", range(8))
def test_equal_to_the_twins_and_valid_on_every_fabric(chunk):
    for seed in range(20 * chunk, 20 * chunk + 20):
        instance = random_instance(np.random.default_rng(seed), max_transfers=5 + seed % 17, max_planes=3)
        options = leg_options(instance)
        for solver in (OnDemand(), OnDemandAhead()):
            outcome = played(solver, instance)
            held: dict[object, object] = {}
            for _ in range(outcome.stats["rounds"]):
                start, plane, held = naive_on_demand(instance, options, ahead=solver.ahead, held=held)
            assert outcome.plan is not None
            assert outcome.plan.op_start_ticks.tolist() == [start[op] for op in range(instance.n_ops)], seed
            assert outcome.plan.leg_plane.tolist() == [plane[leg] for leg in range(instance.n_legs)], seed


def test_unknown_options_are_refused():
    instance = build([("transfer", 0, 1, 5)])
    for solver in (OnDemand(), OnDemandAhead()):
        with pytest.raises(InputError, match=r"solver\.colour"):
            solver.solve(instance, SolveParams(options={"colour": 1}), lambda _: None)
