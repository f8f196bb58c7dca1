import numpy as np
import pytest
from flow_case import BEST, ping_pong, plan

from fluxscale.report.text import WIDTH, columns, fabric_line, rows, solve_table
from fluxscale.schedule.circuits import make_schedule
from fluxscale.schedule.metrics import Metrics
from fluxscale.solving.result import BufferPeaks, Result
from fluxscale.solving.status import Feasibility, Termination


def result(**changes):
    instance = ping_pong()
    made = make_schedule(instance, plan().op_start_ticks, plan().leg_plane)
    facts = dict(
        instance=instance,
        schedule=made,
        iteration_time_ns=BEST,
        lower_bound_ns=BEST - 31,
        lower_bound_name="critical-path",
        termination=Termination.FINISHED,
        feasibility=Feasibility.CHECKED_OK,
        solver="list",
        seed=3,
        workers=2,
        metrics=Metrics(1234, 0.25),
        buffers=BufferPeaks(2**20, 4096),
        wall_s={"build": 0.5, "solve": 1.0, "check": 0.25, "total": 1.75},
        notes=("a note",),
    )
    return Result(**{**facts, **changes})


def table(made=None, **settings):
    return solve_table(made or result(), **{"job": "tiny", "gpus": 16384, **settings})


@pytest.mark.parametrize(
    "text",
    [
        "tiny, 16,384 GPUs",
        "size 2 endpoints, 5 ops, 2 transfers",
        "reconfiguration delay 50 ns, per-port, simplex, boundary preset",
        "310 ns (310 ns)",
        "279 ns (279 ns) by critical-path",
        "10.00 % = (iteration time - lower bound) / iteration time",
        "finished",
        "checked-ok",
        "1,234",
        "25.00 %",
        "1 MiB eager, 4 KiB paced",
        "build 0.50 s, solve 1.00 s, check 0.25 s, total 1.75 s",
        "seed 3, 2 workers",
        "every endpoint was scheduled",
        "a note",
        "add --out DIR to keep the schedule",
    ],
)
def test_the_table_says(text):
    assert text in " ".join(table().split())


def test_every_line_fits():
    made = result(
        symmetry="16384 endpoints -> 48, 4456704 ops -> 7968 (x559)", notes=("word " * 60, "fabric assumed: 1 plane")
    )
    shown = table(made, job="n" * 40, out="d" * 60)
    assert max(len(line) for line in shown.splitlines()) <= WIDTH


def test_an_assumed_fabric_is_called_so():
    shown = table(result(notes=("fabric assumed: 1 plane, 400 Gbps",)))
    assert "(assumed; --fabric" in " ".join(shown.split())
    assert "fabric assumed" not in shown
    assert "assumed" not in table()


def test_the_files_are_named():
    assert "in results/run1" in table(out="results/run1")
    assert "--out" not in table(out="results/run1")


def test_a_bad_schedule_is_not_dressed_up():
    shown = table(result(feasibility=Feasibility.CHECKED_BAD, violations=7, metrics=None, buffers=None))
    assert "checked-bad: 7 violations" in shown
    assert "peak NIC buffer" not in shown


def test_nothing_found():
    made = result(
        schedule=None,
        iteration_time_ns=None,
        lower_bound_ns=None,
        lower_bound_name=None,
        feasibility=Feasibility.NONE,
        metrics=None,
        buffers=None,
        termination=Termination.TIME_LIMIT,
    )
    shown = table(made, gpus=None)
    assert "time-limit" in shown
    assert "unknown" in shown
    assert "--out" not in shown
    assert "GPUs" not in shown


def test_a_tiny_gap_is_not_rounded_away():
    made = result(iteration_time_ns=10**9, lower_bound_ns=10**9 - 10**4)
    assert "0.0010 %" in table(made)


def test_no_circuits_no_utilisation():
    assert "no circuits" in table(result(metrics=Metrics(0, None)))


def test_planes_that_differ_are_all_named():
    instance = ping_pong(
        plane_rate_bps=[10**9, 4 * 10**9],
        plane_latency_ticks=[0, 0],
        plane_delay_ticks=[0, 10**7],
        plane_radix=[0, 320],
        plane_all_stop=[False, True],
        plane_duplex=[False, False],
        attach=np.zeros((2, 2)),
        injection_rate_bps=[10**9, 4 * 10**9],
    )
    shown = fabric_line(instance)
    assert "2 planes, 1 Gbps/4 Gbps per circuit, reconfiguration delay 0 ns/10 ms, per-port/all-stop, simplex" in shown
    assert "radix unlimited/320" in shown


def test_rows_wrap_under_themselves():
    text = rows([("a", "word " * 40), ("empty", "")])
    first, second, *_ = text.splitlines()
    assert first.startswith("a" + " " * 19 + "word")
    assert second.startswith(" " * 20 + "word")
    assert text.splitlines()[-1] == "empty"


def test_columns_line_up_and_fit():
    text = columns(["name", "source"], [["a" * 20, "s" * 10 + " " + "long words " * 20], ["b", "c"]])
    header, first, *more, last = text.splitlines()
    assert header.index("source") == first.index("sss") == more[0].index("long") == last.index("c") == 22
    assert max(map(len, text.splitlines())) <= WIDTH
