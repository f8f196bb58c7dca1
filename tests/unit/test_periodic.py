"""Periodic schedulers, worked out by hand, and their options."""

from __future__ import annotations

import numpy as np
import pytest

from fluxscale.errors import InputError, UnsupportedError
from fluxscale.instance.instance import DARK, PRESET
from fluxscale.solving.protocol import Outcome, SolveParams
from fluxscale.solving.registry import get_solver
from fluxscale_solvers.baselines import periodic_queued
from tests.strategies import Bytes, build

NAMES = ["periodic-bvn", "periodic-solstice", "periodic-eclipse", "periodic-spectra"]


def run(name: str, instance, **options) -> Outcome:
    return get_solver(name).solve(instance, SolveParams(options=options), lambda _: None)


ONE = [("transfer", 0, 1, Bytes(50), [])]
FORK = [("transfer", 0, 1, Bytes(40), []), ("transfer", 0, 2, Bytes(10), [])]


@pytest.mark.parametrize("name", NAMES)
def test_one_transfer_costs_its_dark_time_and_itself(name: str):
    assert run(name, build(ONE, delay=10, boundary=DARK)).iteration_time_ticks == 60
    assert run(name, build(ONE, delay=10, boundary=PRESET)).iteration_time_ticks == 50


@pytest.mark.parametrize("name", NAMES)
def test_two_receivers_are_served_one_after_the_other(name: str):
    outcome = run(name, build(FORK, delay=10, boundary=DARK))
    assert outcome.run is not None
    assert outcome.iteration_time_ticks == 70
    assert outcome.run.reconfigurations == 2
    assert outcome.run.dark_ticks.tolist() == [20]


@pytest.mark.parametrize("name", NAMES)
def test_a_fixed_period_leaves_late_demand_to_the_next(name: str):
    ops = [("compute", "d", 15, []), ("transfer", 0, 1, Bytes(20), [0])]
    # What is released at 15 waits for the period that begins at 100.
    assert run(name, build(ops, delay=10, boundary=DARK), period=100).iteration_time_ticks == 130
    assert run(name, build(ops, delay=10, boundary=DARK)).iteration_time_ticks == 45


def test_a_circuit_that_is_still_set_needs_no_dark_time():
    ops = [("transfer", 0, 1, Bytes(20), []), ("compute", "d", 30, [0]), ("transfer", 0, 1, Bytes(20), [1])]
    outcome = run("periodic-bvn", build(ops, delay=10, boundary=DARK))
    assert outcome.iteration_time_ticks == 10 + 20 + 30 + 20
    assert outcome.run is not None
    assert outcome.run.reconfigurations == 1


def test_on_an_all_stop_plane_everything_goes_dark():
    ops = [("transfer", 0, 1, Bytes(40), []), ("transfer", 2, 3, Bytes(10), []), ("transfer", 2, 1, Bytes(10), [1])]
    per_port = run("periodic-bvn", build(ops, delay=10, boundary=DARK))
    all_stop = run("periodic-bvn", build(ops, delay=10, boundary=DARK, all_stop=True))
    assert per_port.iteration_time_ticks is not None
    assert all_stop.iteration_time_ticks is not None
    assert per_port.iteration_time_ticks <= all_stop.iteration_time_ticks


@pytest.mark.parametrize("name", NAMES)
def test_the_aggregate_is_played_over_and_over(name: str):
    # A turn: dark 10, 0 -> 1 for 40, dark 10, 0 -> 2 for 10. The second transfer of 0 -> 2 comes in the second turn.
    ops = [*FORK, ("transfer", 0, 1, Bytes(40), [1])]
    outcome = run(name, build(ops, delay=10, boundary=DARK), demand="aggregate", period="auto")
    assert outcome.run is not None
    assert outcome.iteration_time_ticks is not None
    assert outcome.iteration_time_ticks > 90
    short = run(name, build(ops, delay=10, boundary=DARK), demand="aggregate", duty=0.5)
    assert short.iteration_time_ticks is not None


def test_a_turn_of_a_given_duty_cycle_takes_as_long_as_that_says():
    instance = build(FORK, delay=10, boundary=DARK)
    outcome = run("periodic-bvn", instance, demand="aggregate", duty=0.5)
    assert outcome.run is not None
    # Two set-ups of 10 in a turn of 40: 20 are left, 16 and 4 as 40 is to 10. So 0 -> 1 is up in
    # [10, 26) of each turn, and 0 -> 2 in [36, 40).
    assert outcome.run.op_end_ticks.tolist() == [40 + 40 + 10 + 8, 40 + 40 + 36 + 2]


def test_parallel_planes_share_the_demand():
    instance = build(FORK, delay=10, planes=2, boundary=DARK)
    for name in NAMES:
        outcome = run(name, instance)
        assert outcome.iteration_time_ticks is not None
        assert outcome.iteration_time_ticks <= 60


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"period": 10}, "not longer than the reconfiguration delay"),
        ({"period": "soon"}, "solver.period"),
        ({"demand": "all"}, "solver.demand"),
        ({"demand": "aggregate", "duty": 1.0}, "solver.duty"),
        ({"demand": "aggregate", "duty": "90%"}, "solver.duty"),
        ({"demand": "queued", "duty": 0.9}, "solver.duty"),
        ({"demand": "aggregate", "duty": 0.9, "period": 100}, "solver.duty"),
        ({"demand": "aggregate", "period": 20}, "dark time"),
    ],
)
def test_bad_options_are_refused_by_name(options, said: str):
    with pytest.raises(InputError, match=said):
        run("periodic-bvn", build(FORK, delay=10, boundary=DARK), **options)


def test_too_many_periods_are_refused_by_name(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(periodic_queued, "MOST_DECOMPOSED", 2)
    ops = [("transfer", 0, 1, Bytes(100), [])]
    with pytest.raises(UnsupportedError, match=r"solver\.period"):
        run("periodic-bvn", build(ops, delay=10, boundary=DARK), period=20)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_to_send_takes_no_circuits(name: str):
    instance = build([("compute", "d", 9, [])], endpoints=3)
    for demand in ("queued", "aggregate"):
        outcome = run(name, instance, demand=demand)
        assert outcome.iteration_time_ticks == 9
        assert outcome.run is not None
        assert outcome.run.reconfigurations == 0


@pytest.mark.parametrize("name", NAMES)
def test_the_sweep_offers_both_readings(name: str):
    offers = get_solver(name).sweep(build(FORK, delay=10))
    assert {offer["demand"] for offer in offers} == {"queued", "aggregate"}
    assert {"demand": "aggregate", "duty": 0.9} in offers
    assert len({str(offer) for offer in offers}) == len(offers)


def test_pairs_get_an_equal_part_of_their_planes():
    from fluxscale.instance.pairs import pairs
    from fluxscale.instance.work import work
    from fluxscale_solvers.baselines.switches import groups, total_units

    instance = build(FORK, delay=10, planes=2)
    (group,) = groups(instance)
    assert len(group.switches) == 2
    demand = group.demand_ticks(instance, pairs(instance), work(instance), total_units(instance))
    assert demand.tolist() == np.array([[0, 20, 5], [0, 0, 0], [0, 0, 0]]).tolist()
