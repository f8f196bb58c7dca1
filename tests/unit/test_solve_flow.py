"""The whole solve with solvers that do as they are told: what is checked, what falls back, what is said."""

import importlib
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from flow_case import BEST, FakeSolver, found, ping_pong, plan, register

from fluxscale import judge
from fluxscale.errors import BackendError, CheckFailedError, InfeasibleError, InputError
from fluxscale.instance.instance import CYCLIC
from fluxscale.solving.protocol import Plan
from fluxscale.solving.result import Result
from fluxscale.solving.status import Feasibility, Termination

flow = importlib.import_module("fluxscale.solve")
solve = flow.solve


class Copy:
    """A reduction that changes nothing, or spoils what it lifts."""

    def __init__(self, instance, spoil=False):
        self.instance, self.spoil = instance, spoil
        self.factor, self.summary = 2.0, "2 endpoints -> 2 (x2)"

    def lift(self, a_plan):
        return replace(a_plan, op_start_ticks=a_plan.op_start_ticks * 0) if self.spoil else a_plan


def mine(monkeypatch, outcome=None, **capabilities):
    solver = FakeSolver("mine", outcome, **capabilities)
    register(monkeypatch, solver)
    return solver


def test_a_good_schedule_is_checked_replayed_and_measured(monkeypatch):
    mine(monkeypatch)
    result = solve(ping_pong(), "mine", seed=4, workers=1)
    assert isinstance(result, Result)
    assert result.iteration_time_ns == BEST == result.schedule.iteration_time_ticks
    assert result.feasibility is Feasibility.CHECKED_OK
    assert (result.lower_bound_ns, result.lower_bound_name, result.gap) == (BEST, "critical-path", 0.0)
    assert result.termination is Termination.OPTIMAL
    assert result.metrics.reconfigurations >= 0
    assert result.buffers.eager_bytes >= 0
    assert (result.solver, result.seed, result.workers) == ("mine", 4, 1)
    assert result.wall_s["total"] >= result.wall_s["check"] >= 0


def test_the_gap_is_by_the_final_schedule(monkeypatch):
    mine(monkeypatch, found(plan(90), BEST + 90, termination=Termination.OPTIMAL))
    result = solve(ping_pong(), "mine")
    assert result.gap == pytest.approx(90 / 400)
    assert result.termination is Termination.FINISHED
    result = solve(ping_pong(), "mine", rel_gap=0.3)
    assert result.termination is Termination.GAP_REACHED


def test_settings_reach_the_solver(monkeypatch):
    solver = mine(monkeypatch, options=("rounds",), work_limit_unit="nodes")
    solve(ping_pong(), "mine", time_limit_s=9, work_limit=3, rel_gap=0.1, seed=5, workers=2, options={"rounds": 2})
    params = solver.asked[0][1]
    assert (params.work_limit, params.rel_gap, params.seed, params.workers) == (3, 0.1, 5, 2)
    assert params.options == {"rounds": 2}
    assert 0 < params.time_limit_s <= 9
    assert params.lower_bound_ticks == BEST


def test_bad_settings_are_refused_before_anything_runs(monkeypatch):
    solver = mine(monkeypatch)
    for bad in ({"workers": 0}, {"time_limit_s": -1}, {"rel_gap": 2}, {"executor": "ray"}, {"symmetry": "maybe"}):
        with pytest.raises(InputError):
            solve(ping_pong(), "mine", **bad)
    assert not solver.asked


def test_a_buffer_limit_is_kept_from_the_solver_and_honoured(monkeypatch):
    solver = mine(monkeypatch)
    result = solve(ping_pong(nic_buffer_bytes=4096), "mine")
    assert solver.asked[0][0].nic_buffer_bytes == 0
    assert result.feasibility is Feasibility.CHECKED_OK
    assert result.buffers.eager_bytes <= 4096


def test_the_reduced_instance_is_solved_and_the_plan_lifted(monkeypatch):
    solver = mine(monkeypatch)
    small = ping_pong()
    monkeypatch.setattr(flow, "reduce", lambda instance: Copy(small))
    full = ping_pong()
    result = solve(full, "mine")
    assert solver.asked[0][0] is small
    assert result.symmetry == "2 endpoints -> 2 (x2)"
    assert result.instance is full
    assert result.schedule.instance_sha256 == full.sha256
    assert result.feasibility is Feasibility.CHECKED_OK


def test_a_lifted_schedule_that_fails_the_check_is_never_shown(monkeypatch):
    solver = mine(monkeypatch)
    small, full = ping_pong(), ping_pong()
    monkeypatch.setattr(flow, "reduce", lambda instance: Copy(small, spoil=True))
    result = solve(full, "mine")
    assert [asked[0] for asked in solver.asked] == [small, full]
    assert result.feasibility is Feasibility.CHECKED_OK
    assert result.symmetry is None
    assert any("did not carry over" in note for note in result.notes)


def test_symmetry_off_does_not_even_look(monkeypatch):
    mine(monkeypatch)
    monkeypatch.setattr(flow, "reduce", lambda instance: pytest.fail("looked"))
    assert solve(ping_pong(), "mine", symmetry="off").symmetry is None


def test_a_bound_of_the_reduced_instance_outlives_the_fall_back(monkeypatch):
    mine(monkeypatch, found(plan(90), BEST + 90, BEST + 30, "search"))
    monkeypatch.setattr(flow, "reduce", lambda instance: Copy(instance, spoil=True))
    result = solve(ping_pong(), "mine")
    assert (result.lower_bound_ns, result.lower_bound_name) == (BEST + 30, "search")


def test_our_own_bad_schedule_is_said_to_be_bad(monkeypatch):
    mine(monkeypatch, found(Plan(np.array([0, 50, 110, 210, 220]), np.zeros(2, dtype=np.int16))))
    result = solve(ping_pong(), "mine")
    assert result.feasibility is Feasibility.CHECKED_BAD
    assert result.violations >= 1
    assert result.metrics is None
    assert result.buffers is None


def test_a_bound_above_the_checked_schedule_is_a_failure(monkeypatch):
    mine(monkeypatch, found(plan(), BEST))
    monkeypatch.setattr(flow, "best_bound", lambda instance: SimpleNamespace(ticks=BEST + 1, name="wrong"))
    with pytest.raises(BackendError, match="above"):
        solve(ping_pong(), "mine")


def test_a_replay_that_disagrees_is_a_failure(monkeypatch):
    mine(monkeypatch)
    monkeypatch.setattr(judge, "replay", lambda *_: SimpleNamespace(iteration_time_ticks=BEST + 1))
    with pytest.raises(BackendError, match=r"iteration time differs.*310.*311"):
        solve(ping_pong(), "mine")

    def refuse(*_):
        raise CheckFailedError("no circuit")

    monkeypatch.setattr(judge, "replay", refuse)
    with pytest.raises(BackendError, match="the replay refuses: no circuit"):
        solve(ping_pong(), "mine")


def test_nothing_found_is_a_result_too(monkeypatch):
    mine(monkeypatch, found(None, None, termination=Termination.TIME_LIMIT))
    result = solve(ping_pong(), "mine")
    assert result.schedule is None
    assert result.iteration_time_ns is None
    assert result.gap is None
    assert result.lower_bound_ns == BEST
    assert result.feasibility is Feasibility.NONE
    assert result.termination is Termination.TIME_LIMIT


def test_infeasible_is_passed_on(monkeypatch):
    mine(monkeypatch, InfeasibleError("no"))
    with pytest.raises(InfeasibleError):
        solve(ping_pong(), "mine")
    mine(monkeypatch, found(None, None, termination=Termination.INFEASIBLE))
    assert solve(ping_pong(), "mine").termination is Termination.INFEASIBLE


def test_an_interrupted_solver_keeps_its_best_and_it_is_checked(monkeypatch):
    mine(monkeypatch, found(plan(90), BEST + 90, termination=Termination.INTERRUPTED))
    result = solve(ping_pong(), "mine")
    assert result.termination is Termination.INTERRUPTED
    assert result.feasibility is Feasibility.CHECKED_OK


def test_an_interrupted_check_keeps_the_schedule(monkeypatch):
    mine(monkeypatch)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(judge, "check", interrupt)
    result = solve(ping_pong(), "mine")
    assert result.termination is Termination.INTERRUPTED
    assert result.feasibility is Feasibility.NONE
    assert result.schedule is not None


def test_an_interrupt_before_any_plan_is_passed_on_or_a_result_without_schedule(monkeypatch):
    mine(monkeypatch, KeyboardInterrupt())
    result = solve(ping_pong(), "mine")
    assert result.schedule is None
    assert result.termination is Termination.INTERRUPTED


def test_progress_tells_every_part(monkeypatch):
    mine(monkeypatch)
    news = []
    solve(ping_pong(), "mine", progress=news.append)
    assert [n.message for n in news] == [
        "looking for identical parts",
        "computing lower bounds",
        "mine: done",
        "shifting just in time",
        "checking",
    ]
    assert news[-1].best_ticks == BEST


def test_ticks_become_nanoseconds(monkeypatch):
    mine(monkeypatch)
    result = solve(ping_pong(tick_ns=10), "mine")
    assert (result.iteration_time_ns, result.lower_bound_ns) == (10 * BEST, 10 * BEST)


def test_the_document_has_every_key_of_the_contract(monkeypatch):
    mine(monkeypatch)
    result = solve(ping_pong(), "mine")
    from fluxscale.cli.output import to_json

    document = json.loads(to_json(result.to_dict(job="x", gpus=2, provenance={"seed": 0})))
    assert set(document) >= {
        "format",
        "version",
        "job",
        "solver",
        "seed",
        "workers",
        "executor",
        "termination",
        "feasibility",
        "iteration_time_ns",
        "lower_bound_ns",
        "lower_bound_name",
        "gap",
        "gpus",
        "endpoints",
        "ops",
        "transfers",
        "reconfigurations",
        "peak_nic_buffer_bytes",
        "circuit_utilisation",
        "instance_sha256",
        "schedule_sha256",
        "wall_s",
        "provenance",
    }
    assert (document["format"], document["version"]) == ("fluxscale-result", 1)
    assert (document["termination"], document["feasibility"]) == ("optimal", "checked-ok")
    assert set(document["peak_nic_buffer_bytes"]) == {"eager", "paced"}
    assert set(document["wall_s"]) == {"build", "solve", "check", "total"}
    assert (document["ops"], document["transfers"], document["endpoints"]) == (5, 2, 2)
    assert document["stats"] == {"mine": {"moves": 3}}
    assert document["schedule_sha256"] == result.schedule.sha256


def test_what_is_absent_is_null(monkeypatch):
    mine(monkeypatch, found(None, None, termination=Termination.TIME_LIMIT))
    document = solve(ping_pong(), "mine").to_dict()
    for key in (
        "iteration_time_ns",
        "gap",
        "reconfigurations",
        "circuit_utilisation",
        "schedule_sha256",
        "gpus",
        "job",
    ):
        assert document[key] is None
    assert document["peak_nic_buffer_bytes"] == {"eager": None, "paced": None}
    assert document["feasibility"] == "none"


@pytest.mark.parametrize("boundary", [0, 1, CYCLIC])
def test_the_real_auto_solves_the_tiny_instance(boundary):
    result = solve(ping_pong(boundary=boundary), workers=1)
    assert result.feasibility is Feasibility.CHECKED_OK
    assert result.termination is Termination.OPTIMAL
    assert result.iteration_time_ns == BEST
