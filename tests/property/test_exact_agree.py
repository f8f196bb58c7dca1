"""CP-SAT, SCIP and HiGHS agree to the nanosecond, with each other and with plain enumeration."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from fluxscale.instance.instance import BOUNDARY_NAMES, Instance
from fluxscale.schedule.circuits import make_schedule
from fluxscale.solving.protocol import Outcome, Plan, SolveParams
from fluxscale.solving.status import Termination
from fluxscale_solvers.exact.cpsat import ExactCpSat
from fluxscale_solvers.exact.milp import ExactMilp
from tests.property.exact_brute import optimum
from tests.property.exact_instances import faults, random_instance

CHUNK, CHUNKS = 40, 10


def solvers() -> dict[str, tuple[ExactCpSat | ExactMilp, dict[str, str]]]:
    return {
        "cpsat": (ExactCpSat(), {}),
        "scip": (ExactMilp(), {"backend": "scip"}),
        "highs": (ExactMilp(), {"backend": "highs"}),
    }


def solve(instance: Instance, which: str, **settings: object) -> Outcome:
    solver, options = solvers()[which]
    return solver.solve(instance, SolveParams(options=options, **settings), lambda news: None)  # type: ignore[arg-type]


def assert_valid(instance: Instance, found: Outcome) -> None:
    assert found.plan is not None
    assert found.iteration_time_ticks is not None
    assert faults(instance, found.plan.op_start_ticks, found.plan.leg_plane, found.iteration_time_ticks) == []


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_three_engines_agree(chunk: int) -> None:
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        instance = random_instance(seed)
        answers = {which: solve(instance, which) for which in solvers()}
        if answers["cpsat"].termination is Termination.INFEASIBLE:
            assert {a.termination for a in answers.values()} == {Termination.INFEASIBLE}, seed
            assert {(a.plan, a.lower_bound_ticks) for a in answers.values()} == {(None, None)}, seed
            continue
        assert {a.termination for a in answers.values()} == {Termination.OPTIMAL}, seed
        assert len({a.iteration_time_ticks for a in answers.values()}) == 1, seed
        for answer in answers.values():
            assert answer.lower_bound_ticks == answer.iteration_time_ticks, seed
            assert_valid(instance, answer)


@pytest.mark.parametrize("chunk", range(6))
def test_agree_with_enumeration(chunk: int) -> None:
    for seed in range(10_000 + chunk * 50, 10_050 + chunk * 50):
        instance = random_instance(seed, most_transfers=4)
        if instance.n_legs > 6 and instance.n_planes > 1:
            continue
        assert solve(instance, "cpsat").iteration_time_ticks == optimum(instance), seed


def test_without_a_first_schedule_the_search_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Greedy is often optimal on tiny instances; without it the engines have to find everything themselves."""
    instances = [random_instance(seed) for seed in range(500, 540)]
    with_start = [solve(instance, "cpsat").iteration_time_ticks for instance in instances]
    monkeypatch.setattr("fluxscale_solvers.exact.common.greedy", lambda instance, conflicts: None)
    for which in solvers():
        for seed, (instance, expected) in enumerate(zip(instances, with_start, strict=True), 500):
            answer = solve(instance, which)
            assert answer.iteration_time_ticks == expected, (which, seed)
            if expected is not None:
                assert_valid(instance, answer)


def test_warm_start_and_known_bound_change_nothing_but_the_effort() -> None:
    for seed in range(600, 630):
        instance = random_instance(seed)
        best = solve(instance, "cpsat")
        if best.plan is None:
            continue
        late = Plan(best.plan.op_start_ticks, best.plan.leg_plane)
        for which in solvers():
            again = solve(instance, which, warm_start=late)
            assert (again.iteration_time_ticks, again.termination) == (
                best.iteration_time_ticks,
                Termination.OPTIMAL,
            ), (seed, which)
            told = solve(instance, which, warm_start=late, lower_bound_ticks=best.iteration_time_ticks)
            assert told.bound_name == "known-bound"
            assert told.iteration_time_ticks == best.iteration_time_ticks


def test_a_bound_never_exceeds_a_feasible_value() -> None:
    """Stopped at once, an engine may know little, but nothing that is wrong."""
    for seed in range(700, 730):
        instance = random_instance(seed)
        best = solve(instance, "cpsat").iteration_time_ticks
        if best is None:
            continue
        for which in solvers():
            stopped = solve(instance, which, work_limit=1)
            assert stopped.lower_bound_ticks is None or stopped.lower_bound_ticks <= best, (seed, which)
            assert stopped.iteration_time_ticks is None or stopped.iteration_time_ticks >= best, (seed, which)


def test_the_same_seed_gives_the_same_plan_whatever_the_workers() -> None:
    for seed in range(800, 820):
        instance = random_instance(seed)
        one, two = solve(instance, "cpsat", workers=1, seed=3), solve(instance, "cpsat", workers=2, seed=3)
        if one.plan is None or two.plan is None:
            assert one.plan is two.plan
            continue
        assert np.array_equal(one.plan.op_start_ticks, two.plan.op_start_ticks)
        assert np.array_equal(one.plan.leg_plane, two.plan.leg_plane)


@pytest.mark.parametrize("chunk", range(3))
def test_the_independent_checker_accepts_every_optimum(chunk: int) -> None:
    check = pytest.importorskip("fluxscale.validate.checker").check
    for seed in range(900 + chunk * 40, 940 + chunk * 40):
        instance = random_instance(seed)
        found = solve(instance, "cpsat")
        if found.plan is None:
            continue
        schedule = make_schedule(instance, found.plan.op_start_ticks, found.plan.leg_plane)
        report = check(instance, schedule)
        assert report.ok, (seed, report.violations)
        assert schedule.iteration_time_ticks == found.iteration_time_ticks, seed


def test_the_family_is_mixed() -> None:
    """What the agreement is worth depends on what was drawn."""
    drawn: Counter[str] = Counter()
    for seed in range(CHUNK * CHUNKS):
        instance = random_instance(seed)
        drawn[BOUNDARY_NAMES[instance.boundary]] += 1
        drawn["gang"] += bool((np.diff(instance.leg_indptr) > 1).any())
        drawn["planes"] += instance.n_planes > 1
        for rule in ("plane_all_stop", "plane_duplex"):
            drawn[rule] += bool(getattr(instance, rule).any())
            drawn["not " + rule] += not bool(getattr(instance, rule).all())
    assert min(drawn.values()) >= 80, drawn
    assert len(drawn) == 9
