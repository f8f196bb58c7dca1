"""A window that holds everything is the whole problem: its optimum is that of the exact solver, feature by feature."""

from __future__ import annotations

import numpy as np
import pytest

from fluxscale.decompose.extract import SubSettings, extract
from fluxscale.decompose.incumbent import Incumbent, make_incumbent
from fluxscale.decompose.subproblem import Subproblem
from fluxscale.decompose.timeline import Timeline, make_timeline
from fluxscale.instance.instance import Instance
from fluxscale.schedule.circuits import make_schedule
from fluxscale.solving.protocol import SolveParams
from fluxscale.solving.registry import get_solver
from fluxscale.stitch.merge import merge
from fluxscale.validate.checker import check
from fluxscale_solvers.decomposed.sub_solve import solve_subproblem
from tests.strategies import random_instance

PLENTY = 10**6


def simple_incumbent(instance: Instance) -> Incumbent:
    """The schedule of one list rule, which leaves something to improve."""
    params = SolveParams(options={"rules": 1, "moves": 0})
    found = get_solver("list").solve(instance, params, lambda _: None)
    assert found.plan is not None
    incumbent = make_incumbent(instance, found.plan.op_start_ticks, found.plan.leg_plane)
    assert incumbent.value_ticks <= (found.iteration_time_ticks or 0)
    return incumbent


def whole(timeline: Timeline, backend: str) -> Subproblem:
    instance = timeline.instance
    ops, free = np.arange(instance.n_ops, dtype=np.int32), np.diff(instance.leg_indptr) > 0
    sub = extract(timeline, ops, free, 0, SubSettings(PLENTY, PLENTY, backend))
    assert sub is not None
    return sub


def assert_whole_is_exact(seed: int, backend: str) -> bool:
    instance = random_instance(np.random.default_rng(seed), max_transfers=6)
    optimum = get_solver("exact-cpsat").solve(instance, SolveParams(), lambda _: None).iteration_time_ticks
    timeline = make_timeline(instance, simple_incumbent(instance))
    sub = whole(timeline, backend)
    result = solve_subproblem(sub)
    assert (result.value_ticks, result.proven) == (optimum, True), seed
    merged = merge(timeline, [(sub, result)])
    assert merged is not None
    assert merged.value_ticks == optimum, seed
    schedule = make_schedule(instance, merged.op_start_ticks, merged.leg_plane)
    assert check(instance, schedule).ok, seed
    assert schedule.iteration_time_ticks == optimum, seed
    return timeline.incumbent.value_ticks > merged.value_ticks


@pytest.mark.parametrize("chunk", range(6))
def test_the_whole_as_one_window_is_the_exact_optimum(chunk: int) -> None:
    """Gangs, planes, duplex, all-stop, all boundaries; about a quarter of the incumbents can be improved."""
    improved = sum(assert_whole_is_exact(seed, "cpsat") for seed in range(50 * chunk, 50 * chunk + 50))
    assert improved >= 5


@pytest.mark.parametrize("backend", ["scip", "highs"])
def test_the_other_back_ends_find_the_same(backend: str) -> None:
    assert sum(assert_whole_is_exact(seed, backend) for seed in range(1000, 1030)) >= 2


def test_equal_subproblems_have_equal_keys() -> None:
    instance = random_instance(np.random.default_rng(3), max_transfers=6)
    timeline = make_timeline(instance, simple_incumbent(instance))
    assert whole(timeline, "cpsat").key == whole(timeline, "cpsat").key
    assert whole(timeline, "cpsat").key != whole(timeline, "scip").key
