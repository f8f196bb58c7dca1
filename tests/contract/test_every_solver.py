"""One battery for every solver: a new solver is accepted when it passes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fluxscale.bounds import best_bound
from fluxscale.errors import InputError
from fluxscale.instance.instance import CYCLIC, Instance
from fluxscale.schedule.circuits import make_schedule
from fluxscale.simulate.replay import replay
from fluxscale.solving.protocol import Outcome, SolveParams
from fluxscale.solving.registry import get_solver
from fluxscale.solving.status import Termination
from fluxscale.validate.checker import check
from tests.strategies import random_instance

SOLVERS = {
    "list": {},
    "stage-window": {},
    "exact-cpsat": {},
    "exact-milp (scip)": {"backend": "scip"},
    "exact-milp (highs)": {"backend": "highs"},
}
WORK_LIMITS = {"list": 20_000, "stage-window": 2_000}
"""Of those that prove nothing and would go on."""

EXACT = [name for name in SOLVERS if name not in WORK_LIMITS]

PROVEN = {Termination.OPTIMAL}


def run(name: str, instance: Instance, **changes: object) -> Outcome:
    options = SOLVERS[name]
    params = dataclasses.replace(SolveParams(options=dict(options), work_limit=WORK_LIMITS.get(name)), **changes)
    return get_solver(name.split()[0]).solve(instance, params, lambda _: None)


def assert_sound(instance: Instance, outcome: Outcome, name: str) -> int:
    """The checker and the replay agree with what the solver says of its plan, and no bound exceeds it."""
    assert outcome.plan is not None, name
    schedule = make_schedule(instance, outcome.plan.op_start_ticks, outcome.plan.leg_plane)
    report = check(instance, schedule)
    assert report.ok, (name, [v.message for v in report.violations])
    assert schedule.iteration_time_ticks == outcome.iteration_time_ticks, name
    if instance.boundary != CYCLIC:
        assert report.iteration_time_ticks == outcome.iteration_time_ticks, name
    replayed = replay(instance, schedule)
    assert replayed.iteration_time_ticks == schedule.iteration_time_ticks, name
    assert best_bound(instance).ticks <= schedule.iteration_time_ticks, name
    if outcome.lower_bound_ticks is not None:
        assert outcome.lower_bound_ticks <= schedule.iteration_time_ticks, name
    return schedule.iteration_time_ticks


@pytest.mark.parametrize("chunk", range(10))
def test_all_solvers_agree_and_pass_the_checker(chunk):
    """30 mixed instances a chunk: gangs, one or two planes, both port kinds, both rules, all boundaries."""
    for seed in range(30 * chunk, 30 * chunk + 30):
        instance = random_instance(np.random.default_rng(seed), max_transfers=5)
        values = {name: assert_sound(instance, run(name, instance), f"{name}, seed {seed}") for name in SOLVERS}
        assert len({values[name] for name in EXACT}) == 1, (seed, values)
        assert all(values[name] >= values["exact-cpsat"] for name in WORK_LIMITS), (seed, values)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_warm_start_is_never_made_worse(name):
    for seed in range(400, 412):
        instance = random_instance(np.random.default_rng(seed), max_transfers=5)
        begin = run("list", instance)
        outcome = run(name, instance, warm_start=begin.plan)
        assert assert_sound(instance, outcome, name) <= begin.iteration_time_ticks


@pytest.mark.parametrize("name", SOLVERS)
def test_same_seed_same_answer_whatever_the_workers(name):
    for seed in range(500, 506):
        instance = random_instance(np.random.default_rng(seed), max_transfers=5)
        plans = [run(name, instance, seed=3, workers=workers).plan for workers in (1, 4)]
        assert np.array_equal(plans[0].op_start_ticks, plans[1].op_start_ticks)
        assert np.array_equal(plans[0].leg_plane, plans[1].leg_plane)


@pytest.mark.parametrize("name", ["list", "stage-window", "exact-cpsat", "exact-milp (scip)"])
def test_unknown_options_are_refused(name):
    instance = random_instance(np.random.default_rng(1), max_transfers=3)
    with pytest.raises(InputError, match=r"solver\.colour"):
        get_solver(name.split()[0]).solve(instance, SolveParams(options={"colour": "blue"}), lambda _: None)


@pytest.mark.parametrize("name", EXACT)
def test_exact_solvers_say_optimal_only_with_the_bound_to_show_for_it(name):
    for seed in range(600, 606):
        outcome = run(name, random_instance(np.random.default_rng(seed), max_transfers=4))
        assert outcome.termination in PROVEN
        assert outcome.lower_bound_ticks == outcome.iteration_time_ticks
