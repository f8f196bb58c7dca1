"""The decomposition as a solver: limits, options, faults, and one answer whoever solves the windows."""

from __future__ import annotations

import numpy as np
import pytest
from pipeline_case import pipeline

from fluxscale.errors import InputError, UnsupportedError
from fluxscale.instance.instance import Instance
from fluxscale.schedule.circuits import make_schedule
from fluxscale.solve import solve
from fluxscale.solving.protocol import Outcome, SolveParams
from fluxscale.solving.registry import get_solver
from fluxscale.solving.status import Feasibility, Termination
from fluxscale.validate.checker import check
from fluxscale_solvers.decomposed import stage_window, starts
from tests.strategies import build, random_instance


def run(instance: Instance, **settings) -> Outcome:
    return get_solver("stage-window").solve(instance, SolveParams(**settings), lambda _: None)


def hard() -> Instance:
    """4 stages x 8 micro-batches at a delay above the compute of one: 224.4 ms, a list rule alone leaves some 5 %."""
    return pipeline(4, 8, forward=30, backward=60, transfer=4, delay=200)


def poor_start(instance: Instance):
    return get_solver("list").solve(instance, SolveParams(options={"rules": 1, "moves": 0}), lambda _: None).plan


def value(instance: Instance, outcome: Outcome) -> int:
    assert outcome.plan is not None
    schedule = make_schedule(instance, outcome.plan.op_start_ticks, outcome.plan.leg_plane)
    assert check(instance, schedule).ok
    assert schedule.iteration_time_ticks == outcome.iteration_time_ticks
    return schedule.iteration_time_ticks


def test_windows_of_few_pairs_find_the_optimum_of_a_small_pipeline():
    instance = hard()
    best = get_solver("exact-cpsat").solve(instance, SolveParams(), lambda _: None).iteration_time_ticks
    outcome = run(instance, work_limit=6000, options={"max_pairs": 12})
    assert value(instance, outcome) == best
    assert outcome.termination is Termination.WORK_LIMIT
    assert outcome.stats["sub_solves"] > 0


def test_one_answer_with_any_executor_and_number_of_workers():
    instance = hard()
    answers = [
        run(instance, work_limit=3000, seed=5, workers=workers, executor=executor)
        for workers, executor in ((1, "serial"), (1, "process"), (2, "process"))
    ]
    for answer in answers[1:]:
        assert np.array_equal(answer.plan.op_start_ticks, answers[0].plan.op_start_ticks)
        assert np.array_equal(answer.plan.leg_plane, answers[0].plan.leg_plane)
        assert answer.stats == answers[0].stats


def test_a_known_bound_ends_the_search():
    instance = hard()
    best = get_solver("exact-cpsat").solve(instance, SolveParams(), lambda _: None).iteration_time_ticks
    outcome = run(instance, work_limit=10**7, lower_bound_ticks=best)
    assert (outcome.termination, outcome.iteration_time_ticks) == (Termination.OPTIMAL, best)


def test_rounds_end_the_search():
    outcome = run(hard(), options={"rounds": 3, "chains": 2}, work_limit=10**7)
    assert outcome.termination is Termination.FINISHED
    assert outcome.stats["rounds"] == 6


def test_without_a_round_the_start_is_the_answer():
    instance = hard()
    start = poor_start(instance)
    outcome = run(instance, options={"rounds": 0, "chains": 1}, warm_start=start)
    assert outcome.stats["sub_solves"] == 0
    assert (
        value(instance, outcome) <= make_schedule(instance, start.op_start_ticks, start.leg_plane).iteration_time_ticks
    )


@pytest.mark.parametrize("backend", ["scip", "highs"])
def test_the_other_back_ends_solve_windows_too(backend):
    instance = pipeline(3, 4, forward=30, backward=60, transfer=4, delay=200)
    options = {"backend": backend, "max_pairs": 20, "rounds": 4, "chains": 1}
    outcome = run(instance, options=options, work_limit=10**6)
    best = get_solver("exact-cpsat").solve(instance, SolveParams(), lambda _: None).iteration_time_ticks
    assert value(instance, outcome) == best


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_pairs": 0}, r"solver\.max_pairs: must be a whole number from 1 to 20000"),
        ({"max_pairs": 10**9}, r"solver\.max_pairs: must be"),
        ({"max_pairs": True}, r"solver\.max_pairs: must be"),
        ({"max_pairs": 1.5}, r"solver\.max_pairs: must be"),
        ({"backend": "gurobi"}, r"solver\.backend: unknown value.*cpsat"),
        ({"rounds": -1}, r"solver\.rounds: must be"),
        ({"chains": 0}, r"solver\.chains: must be"),
        ({"window_work": 0}, r"solver\.window_work: must be"),
        ({"max_pair": 3}, r"solver\.max_pair: .*did you mean 'max_pairs'"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(InputError, match=words):
        run(hard(), options=options)


def test_a_work_limit_below_one_window_is_refused():
    with pytest.raises(UnsupportedError, match="work_limit: is below the work of one window, 520"):
        run(hard(), work_limit=519)
    assert run(hard(), work_limit=520).plan is not None
    assert run(hard(), work_limit=30, options={"window_work": 10}).plan is not None


def test_an_instance_without_transfers_ends_at_once():
    instance = build([("compute", "d", 3), ("compute", "d", 4, [0]), ("local", 2, [1])], endpoints=2)
    outcome = run(instance)
    assert (outcome.iteration_time_ticks, outcome.termination) == (9, Termination.FINISHED)


def test_one_transfer_has_nothing_to_order():
    instance = build([("compute", "d", 3), ("transfer", 0, 1, 4, [0])])
    assert run(instance, work_limit=1000).iteration_time_ticks == 7


def test_a_gang_larger_than_any_window_is_kept_and_worked_around():
    """All 24 circuits of each gang conflict with the pipeline's transfers: far more pairs than the 4 allowed."""
    ring = [(e, (e + 1) % 24) for e in range(24)]
    ops = []
    for _ in range(4):
        ops += [("transfer", 0, 2, 7), ("transfer", 2, 0, 5), ("gang", ring, 9, [len(ops)])]
    instance = build(ops, delay=20)
    start = poor_start(instance)
    outcome = run(instance, warm_start=start, work_limit=4000, options={"max_pairs": 4})
    assert (
        value(instance, outcome) <= make_schedule(instance, start.op_start_ticks, start.leg_plane).iteration_time_ticks
    )


def crash(task, seconds):
    raise MemoryError("no more")


def test_windows_that_fail_are_counted_and_cost_nothing_else(monkeypatch):
    monkeypatch.setattr(stage_window, "TARGET", f"{__name__}:crash")
    instance = hard()
    start = poor_start(instance)
    result = make_schedule(instance, start.op_start_ticks, start.leg_plane).iteration_time_ticks
    outcome = run(instance, warm_start=start, options={"rounds": 2, "chains": 1})
    assert value(instance, outcome) <= result
    assert outcome.stats["sub_solves"] == 0
    assert outcome.stats["lost"] > 0
    assert outcome.stats["retried"] == outcome.stats["lost"]
    assert "failed twice (MemoryError: no more) and kept the incumbent's piece" in outcome.notes[0]


def interrupt(task, seconds):
    raise KeyboardInterrupt


def test_an_interrupt_keeps_the_best(monkeypatch):
    monkeypatch.setattr(stage_window, "TARGET", f"{__name__}:interrupt")
    outcome = run(hard())
    assert outcome.termination is Termination.INTERRUPTED
    assert value(hard(), outcome) > 0


def test_the_time_limit_ends_the_search():
    outcome = run(hard(), time_limit_s=1.0, options={"max_pairs": 12})
    assert outcome.termination in (Termination.TIME_LIMIT, Termination.OPTIMAL)


@pytest.mark.parametrize("chunk", range(4))
def test_never_worse_than_its_start_and_always_checked(chunk):
    """Gangs, planes, duplex, all-stop, all boundaries, at a handful of pairs a window."""
    for seed in range(30 * chunk, 30 * chunk + 30):
        instance = random_instance(np.random.default_rng(7000 + seed), max_transfers=9)
        start = poor_start(instance)
        outcome = run(instance, warm_start=start, work_limit=900, options={"max_pairs": 4, "window_work": 100})
        begun = make_schedule(instance, start.op_start_ticks, start.leg_plane).iteration_time_ticks
        assert value(instance, outcome) <= begun, seed


def test_solve_runs_it_by_name_with_a_start_from_list():
    result = solve(hard(), "stage-window", work_limit=2000, workers=1)
    assert result.feasibility is Feasibility.CHECKED_OK
    assert result.solver == "stage-window"
    assert set(result.stats) == {"list", "stage-window"}
    assert (result.executor, result.workers) == ("serial", 1)


def test_identical_parts_of_a_large_instance_are_scheduled_once(monkeypatch):
    """Eight equal pipelines side by side: backfilling one of them gives all of them what rules alone do not find."""
    ops = []
    for copy in range(8):
        a, b = 2 * copy, 2 * copy + 1
        for _ in range(6):
            first = len(ops)
            ops += [("compute", f"d{a}", 3), ("transfer", a, b, 2, [first])]
            ops += [("compute", f"d{b}", 6, [first + 1]), ("transfer", b, a, 2, [first + 2])]
    instance = build(ops, delay=20)
    monkeypatch.setattr(starts, "LARGE_OPS", 1)
    found = starts.starting_points(instance, poor_start(instance), 1, 0)
    assert len(found) == 1
    schedule = make_schedule(instance, found[0].op_start_ticks, found[0].leg_plane)
    assert check(instance, schedule).ok
    assert schedule.iteration_time_ticks == found[0].value_ticks
    ends = found[0].op_start_ticks.reshape(8, -1)
    assert (ends == ends[0]).all()


def test_starting_points_differ_and_the_best_is_first():
    found = starts.starting_points(hard(), poor_start(hard()), 4, 0)
    values = [incumbent.value_ticks for incumbent in found]
    assert values == sorted(values)
    assert len(set(values)) == len(values) > 1
