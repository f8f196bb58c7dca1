"""Comparisons: who takes part, the best option set, rows that say what went wrong, the same rows in parallel."""

from __future__ import annotations

import importlib
import json
import os
import signal
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest
from flow_case import ping_pong

import fluxscale as fs
from fluxscale.compare.chain import CUT_OFF, Limits, run_chain
from fluxscale.compare.comparison import compare
from fluxscale.compare.pool import Task, run_tasks
from fluxscale.compare.rows import (
    BUFFER_LINES_BYTES,
    Row,
    Status,
    Tried,
    buffer_line,
    buffer_ratio,
    document_row,
    row_from_record,
    time_ratio,
)
from fluxscale.compare.schedulers import EXACT, FLUXSCALE, choose, share_options
from fluxscale.compare.sources import Given
from fluxscale.errors import BackendError, InfeasibleError, InputError, UnsupportedError
from fluxscale.solving.registry import COMPARISON
from fluxscale.solving.status import Feasibility, Termination
from fluxscale.trial import Trial

chain = importlib.import_module("fluxscale.compare.chain")
comparison = importlib.import_module("fluxscale.compare.comparison")


def made(options, ns, setups=0, **changes) -> Trial:
    ok = ns is not None
    fields = dict(
        scheduler="rotor",
        parameters=options,
        iteration_time_ns=ns,
        reconfigurations=setups if ok else None,
        circuit_utilisation=0.5 if ok else None,
        eager_bytes=8192 if ok else None,
        paced_bytes=None,
        feasibility=Feasibility.CHECKED_OK if ok else Feasibility.NONE,
        termination=Termination.FINISHED if ok else Termination.WORK_LIMIT,
        lower_bound_ns=None,
        optimal=False,
        notes=(),
        wall_s=0.0,
    )
    return Trial(**{**fields, **changes})


@pytest.fixture
def play(monkeypatch):
    """Let a scheduler propose option sets 0, 1, ... with given results: (ns, reconfigurations), None or an error."""

    def run(results, scheduler="rotor", fixed=None, **changes):
        asked = []

        def trial(instance, solver, options, **settings):
            asked.append((solver, options, settings))
            result = results[options["slot"]]
            if isinstance(result, BaseException):
                raise result
            if isinstance(result, Trial):
                return result
            return made(options, *(result or (None,)), **changes)

        monkeypatch.setattr(chain, "trial", trial)
        monkeypatch.setattr(chain, "option_sets", lambda *_: [{"slot": k} for k in range(len(results))])
        return run_chain(ping_pong(), scheduler, fixed or {}), asked

    return run


def test_the_best_is_the_shortest_then_the_fewest_reconfigurations_then_the_first(play):
    row, _ = play([(50, 9), (40, 3), (40, 2), (40, 2), (60, 0)])
    assert (row.status, row.iteration_time_ns, row.reconfigurations) == (Status.OK, 40, 2)
    assert row.parameters == {"slot": 2}
    assert [one.iteration_time_ns for one in row.swept] == [50, 40, 40, 40, 60]


def test_the_best_so_far_is_the_cutoff_and_what_is_cut_off_says_so(play):
    row, asked = play([(50, 0), None, (45, 0), None])
    assert [settings["cutoff_ticks"] for _, _, settings in asked] == [None, 50, 50, 45]
    assert row.iteration_time_ns == 45
    assert [one.note for one in row.swept] == [None, CUT_OFF, None, CUT_OFF]


def test_a_refused_option_set_does_not_stop_the_others(play):
    row, _ = play([UnsupportedError("too short"), (50, 0)])
    assert (row.status, row.iteration_time_ns) == (Status.OK, 50)
    assert row.swept[0] == Tried({"slot": 0}, None, None, "refused: too short.")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UnsupportedError("unreachable", field="static"), Status.REFUSED),
        (InfeasibleError("port 3 overflows"), Status.INFEASIBLE),
        (BackendError("check and replay differ"), Status.FAILED),
        (ZeroDivisionError("oops"), Status.FAILED),
        (MemoryError(), Status.FAILED),
    ],
)
def test_errors_become_rows_with_the_reason(play, error, status):
    row, _ = play([error])
    assert (row.status, row.iteration_time_ns, row.optimal) == (status, None, False)
    assert str(error) in row.notes[0]


def test_a_schedule_that_breaks_rules_has_no_time(play):
    row, _ = play([(50, 0)], feasibility=Feasibility.CHECKED_BAD)
    assert (row.status, row.iteration_time_ns) == (Status.BROKEN, None)


def test_nothing_within_the_limit(play):
    row, _ = play([made({}, None, termination=Termination.TIME_LIMIT)])
    assert row.status is Status.NO_SCHEDULE
    assert "time-limit" in row.notes[0]


def test_limits_reach_those_that_search_only(play):
    instance = ping_pong()
    for scheduler, expected in (("rotor", {}), (FLUXSCALE, {"time_limit_s": 7.0, "work_limit": None})):
        assert chain._limits(scheduler, Limits(0, 7.0)) == expected
    assert chain._limits("exact-cpsat", Limits())["time_limit_s"] == 20.0
    assert chain._limits("exact-cpsat", Limits(work_limit=5)) == {"time_limit_s": None, "work_limit": 5}
    assert instance.n_transfers == 2


def test_a_buffer_limit_is_for_plans_only(monkeypatch):
    seen = {}

    def trial(instance, solver, options, **_):
        seen[solver] = instance.nic_buffer_bytes
        return made(options, 10)

    monkeypatch.setattr(chain, "trial", trial)
    limited = ping_pong(nic_buffer_bytes=100)
    assert any("nic_buffer" in note for note in run_chain(limited, "on-demand", {}).notes)
    assert run_chain(limited, FLUXSCALE, {}).notes == ()
    assert seen == {"on-demand": 0, "auto": 100}


def test_ratios_are_eager_over_eager_with_a_packet_as_floor():
    ours = Row(FLUXSCALE, Status.OK, {}, 100, eager_bytes=0, paced_bytes=0)
    theirs = Row("rotor", Status.OK, {}, 250, eager_bytes=8192)
    assert (time_ratio(theirs, ours), buffer_ratio(theirs, ours), buffer_ratio(ours, ours)) == (2.5, 2.0, 1.0)
    refused = Row("static", Status.REFUSED, {})
    assert time_ratio(refused, ours) is buffer_ratio(refused, ours) is time_ratio(theirs, None) is None
    assert time_ratio(theirs, replace(ours, iteration_time_ns=0)) is None


def test_buffer_lines():
    assert [buffer_line(size) for size in (0, 256 * 1024, 256 * 1024 + 1, 2**26, 2**26 + 1, None)] == [
        BUFFER_LINES_BYTES[0], BUFFER_LINES_BYTES[0], BUFFER_LINES_BYTES[1], BUFFER_LINES_BYTES[3], None, None,
    ]  # fmt: skip


def test_a_row_survives_its_record():
    row = Row("rotor", Status.OK, {"slot": 5}, 9, 1, 0.25, 3, None, notes=("n",), swept=(Tried({"slot": 5}, 9, 1),))
    assert row_from_record(json.loads(json.dumps(row.to_record()))) == row


@pytest.mark.parametrize(
    "change",
    [
        {"status": "fine"}, {"iteration_time_ns": -1}, {"iteration_time_ns": "9"}, {"iteration_time_ns": None},
        {"iteration_time_ns": True}, {"notes": [1]}, {"swept": [{}]}, {"parameters": []}, {"more": 1},
    ],
)  # fmt: skip
def test_records_are_not_trusted(change):
    record = Row("rotor", Status.OK, {}, 9).to_record()
    with pytest.raises(ValueError, match=r"\w"):
        row_from_record({**record, **change})


def test_everybody_takes_part_and_exact_solvers_on_small_jobs():
    assert choose(None, 400) == ((FLUXSCALE, *COMPARISON, *EXACT), ())
    names, notes = choose(None, 401)
    assert names == (FLUXSCALE, *COMPARISON)
    assert "401" in notes[0]


def test_names_keep_their_order_and_fluxscale_comes_first():
    assert choose(["sunflow", "rotor", "sunflow"])[0] == (FLUXSCALE, "sunflow", "rotor")
    assert choose(["list"])[0] == (FLUXSCALE, "list")


@pytest.mark.parametrize(
    ("names", "words"), [(["rotr"], "did you mean 'rotor'"), ([], "at least one"), ("rotor", "one")]
)
def test_bad_names(names, words):
    with pytest.raises(InputError, match=words):
        choose(names)


def test_options_go_to_those_who_know_them():
    shares = share_options((FLUXSCALE, "rotor", "static", "periodic-bvn"), {"slot": 5, "period": 7})
    assert shares == {FLUXSCALE: {}, "rotor": {"slot": 5}, "static": {}, "periodic-bvn": {"period": 7}}
    with pytest.raises(InputError, match="did you mean 'slot'"):
        share_options(("rotor",), {"slto": 5})


def test_compare_is_exported():
    assert fs.compare is compare


def test_rows_of_a_real_instance_whatever_the_number_of_workers():
    alone, parallel = (compare(ping_pong(), ["rotor", "on-demand"], workers=workers) for workers in (1, 2))
    assert [row.scheduler for row in alone.rows] == [FLUXSCALE, "rotor", "on-demand"]
    assert [row.status for row in alone.rows] == [Status.OK] * 3
    assert alone.row(FLUXSCALE).optimal
    assert alone.row(FLUXSCALE).iteration_time_ns == alone.lower_bound_ns == 310
    assert alone.row("on-demand").iteration_time_ns >= 310
    assert len(alone.row("rotor").swept) > 1
    timeless = [[replace(row, wall_s=0.0) for row in found.rows] for found in (alone, parallel)]
    assert timeless[0] == timeless[1]


def test_the_document_has_the_keys_of_the_contract():
    document = compare(ping_pong(), ["on-demand"]).to_dict(job="j")
    assert document["format"] == "fluxscale-comparison"
    row = document["rows"][1]
    for key in (
        "scheduler", "iteration_time_ns", "ratio_to_fluxscale", "reconfigurations", "peak_nic_buffer_bytes",
        "circuit_utilisation", "parameters", "optimal", "buffer_ratio_to_fluxscale", "lower_bound_ns", "notes",
        "feasibility", "wall_s", "swept",
    ):  # fmt: skip
        assert key in row
    assert set(row["peak_nic_buffer_bytes"]) == {"eager", "paced"}
    json.dumps(document, allow_nan=False)


def test_an_interrupt_keeps_the_rows_that_were_done(monkeypatch):
    def stop(source, tasks, *, on_row, **_):
        on_row(0, Row(tasks[0].scheduler, Status.OK, {}, 5))
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison, "run_tasks", stop)
    found = compare(ping_pong(), ["rotor", "static"])
    assert found.interrupted
    assert [row.scheduler for row in found.rows] == [FLUXSCALE]


def test_an_interrupted_solver_ends_the_rest(monkeypatch):
    pool = importlib.import_module("fluxscale.compare.pool")
    monkeypatch.setattr(pool, "run_task", lambda source, task, tell: Row(task.scheduler, Status.INTERRUPTED, {}))
    rows = []
    with pytest.raises(KeyboardInterrupt):
        run_tasks(Given(ping_pong()), [Task("a"), Task("b")], on_row=lambda number, row: rows.append(number))
    assert rows == [0]


@dataclass(frozen=True)
class Deadly:
    """Kills the process that asks for the point ``("die",)``."""

    def instance(self, point):
        if point == ("die",):
            os.kill(os.getpid(), signal.SIGKILL)
        raise InputError("nothing here")


def test_a_dead_process_costs_only_its_task():
    tasks = [Task("a", ("die",)), *(Task(name) for name in "bcd")]
    rows, said = {}, []
    run_tasks(Deadly(), tasks, workers=2, on_row=rows.__setitem__, tell=said.append)
    assert sorted(rows) == [0, 1, 2, 3]
    assert (rows[0].status, rows[1].status) == (Status.FAILED, Status.REFUSED)
    assert "out of memory" in rows[0].notes[0]
    assert said[-1].startswith("4 of 4 done")


def test_progress_says_which_option_set(play):
    said = []
    pool_tell = SimpleNamespace(tell=said.append)
    compare(ping_pong(), ["rotor"], progress=pool_tell.tell)
    assert any("rotor (option set 2 of" in text for text in said)
    assert any(text.startswith("1 of 2 done") for text in said)


def test_document_rows_of_refusals_are_null():
    row = document_row(Row("static", Status.REFUSED, {}, notes=("unreachable",)), None)
    assert row["iteration_time_ns"] is row["ratio_to_fluxscale"] is row["buffer_line_bytes"] is None
    assert (row["optimal"], row["notes"]) == (False, ["unreachable"])
