"""`compare` and `sweep` on the command line: tables, files, exit codes, and one line for what is wrong."""

from __future__ import annotations

import csv
import importlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from run_cli import ROOT, environment, fluxscale

from fluxscale.cli import main
from fluxscale.compare.rows import Row, Status
from fluxscale.report import figures
from fluxscale.report.text import WIDTH

pool = importlib.import_module("fluxscale.compare.pool")

JOB = "tiny-2x2"


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main.run([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return end.value.code, said.out, said.err


@pytest.fixture
def fake(monkeypatch):
    """Rows that take no time; what a scheduler does can be replaced."""
    rows = {}

    def run_task(source, task, tell=None):
        row = rows.get(task.scheduler)
        if isinstance(row, BaseException):
            raise row
        if row is not None:
            return row
        kind = {} if task.scheduler == "fluxscale" else {"slot": 20_400_000, "offset": "staggered"}
        return Row(task.scheduler, Status.OK, {**kind, **task.options}, 10**6 * len(task.scheduler), 3, 0.5, 2**20, 0)

    monkeypatch.setattr(pool, "run_task", run_task)
    return rows


ONE = ("--workers", "1", "--quiet")


def test_a_table_of_100_columns_with_all_schedulers(capsys, fake):
    code, out, err = run(capsys, "compare", JOB, *ONE)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert max(map(len, lines)) <= WIDTH
    for name in ("fluxscale", "ideal-packet", "rotor-vlb", "periodic-spectra", "on-demand-ahead", "exact-milp"):
        assert any(line.startswith(name + " ") for line in lines), name
    assert "slot=20.4ms" in out
    assert "1 MiB <1M" in out
    assert "256 KiB, 1 MiB, 16 MiB, 64 MiB" in " ".join(out.split())


def test_json_csv_and_folder(capsys, fake, tmp_path):
    table, folder = tmp_path / "new" / "t.csv", tmp_path / "out"
    code, out, _ = run(
        capsys, "compare", JOB, "--schedulers", "rotor, sunflow", "--json", "--csv", table, "--out", folder, *ONE
    )
    document = json.loads(out)
    assert code == 0
    assert [row["scheduler"] for row in document["rows"]] == ["fluxscale", "rotor", "sunflow"]
    assert document["rows"][1]["ratio_to_fluxscale"] == 5 / 9
    assert (document["job"], document["gpus"], document["seed"]) == (JOB, 4, 0)
    assert json.loads((folder / "compare.json").read_text()) == document
    assert table.read_text() == (folder / "compare.csv").read_text()
    read = list(csv.DictReader(table.open()))
    assert [line["iteration_time_ns"] for line in read] == ["9000000", "5000000", "7000000"]
    assert json.loads(read[1]["parameters"])["offset"] == "staggered"


def test_settings_of_solver_and_fabric(capsys, fake):
    settings = ("--set", "solver.slot=7ms", "--set", "fabric.reconfiguration_delay=3ms")
    code, out, _ = run(capsys, "compare", JOB, "--schedulers", "rotor,static", "--json", *settings, *ONE)
    rows = json.loads(out)["rows"]
    assert code == 0
    assert [row["parameters"].get("slot") for row in rows] == [None, "7ms", 20_400_000]


def test_refused_schedulers_are_rows_and_no_error(capsys, fake):
    fake["static"] = Row("static", Status.REFUSED, {}, notes=("there is no way from a to b.",))
    code, out, err = run(capsys, "compare", JOB, "--schedulers", "static,rotor", *ONE)
    assert (code, err) == (0, "")
    assert "static: there is no way from a to b." in out


@pytest.mark.parametrize(
    ("status", "code"),
    [(Status.REFUSED, 2), (Status.INFEASIBLE, 3), (Status.NO_SCHEDULE, 4), (Status.BROKEN, 5), (Status.FAILED, 6)],
)
def test_exit_codes_where_no_row_is_good(capsys, fake, status, code):
    for name in ("fluxscale", "rotor"):
        fake[name] = Row(name, status, {}, notes=("because",))
    ended, out, err = run(capsys, "compare", JOB, "--schedulers", "rotor", *ONE)
    assert ended == code
    assert "fluxscale: because" in out
    assert err.startswith("fluxscale: error: ")
    assert len(err.splitlines()) == 1


def test_one_failed_row_among_good_ones_is_not_hidden(capsys, fake):
    fake["rotor"] = Row("rotor", Status.FAILED, {}, notes=("failed: oops",))
    code, out, err = run(capsys, "compare", JOB, "--schedulers", "rotor", *ONE)
    assert (code, "oops" in err, "fluxscale" in out) == (6, True, True)


def test_no_plan_is_infeasible_even_if_others_run_without_the_limit(capsys, fake):
    fake["fluxscale"] = Row("fluxscale", Status.INFEASIBLE, {}, notes=("port 3 overflows",))
    code, _, err = run(capsys, "compare", JOB, "--schedulers", "rotor", *ONE)
    assert (code, "port 3 overflows" in err) == (3, True)


def test_an_interrupt_prints_what_is_done(capsys, fake):
    fake["rotor"] = KeyboardInterrupt()
    code, out, err = run(capsys, "compare", JOB, "--schedulers", "rotor,static", *ONE)
    assert code == 130
    assert "fluxscale " in out
    assert "interrupted: the rows that were not done are missing" in out
    assert err.splitlines() == ["fluxscale: error: interrupted"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compare", JOB, "--schedulers", "rotr"], "did you mean 'rotor'"),
        (["compare", JOB, "--schedulers", ","], "at least one scheduler"),
        (["compare", JOB, "--set", "solver.slto=5"], "did you mean 'slot'"),
        (["compare", JOB, "--set", "fabric.raet=5"], "did you mean 'rate'"),
        (["compare", JOB, "--workers", "0"], "workers"),
        (["compare", JOB, "--time-limit", "-1"], "time_limit"),
        (["compare", JOB, "--csv", "/proc/no/t.csv"], "cannot be written"),
        (["compare", JOB, "--csv", "/"], "is a folder"),
        (["compare", JOB, "--out", "/proc/no"], "cannot be"),
        (["compare", "tiny-2x3"], "did you mean 'tiny-2x2'"),
        (["sweep", JOB], "give --delay"),
        (["sweep", JOB, "--delay", "1ms:1us:5"], "reversed"),
        (["sweep", JOB, "--delay", "1us:1ms:1"], "both ends"),
        (["sweep", JOB, "--delay", "0:1ms:4"], "zero"),
        (["sweep", JOB, "--delay", "1us", "--schedulers", "rotr"], "did you mean 'rotor'"),
        (["sweep", JOB, "--delay", "1us", "--set", "fabric.reconfiguration_delay=1ms"], "set and swept"),
        (["sweep", JOB, "--delay", "1us", "--out", "/proc/no"], "cannot be"),
        (["sweep", JOB, "--delay", "1us", "--figure"], "--out"),
        (["sweep", JOB, "--rate", "1Tbps", "--set", "fabric.injection_rate=400Gbps"], "no fabric at rate 1 Tbps"),
        (["sweep", JOB, "--delay", "1us", "--set", "solver.slto=5"], "did you mean 'slot'"),
    ],
)
def test_bad_usage_is_one_line_before_any_work(capsys, monkeypatch, arguments, words):
    monkeypatch.setattr(pool, "run_task", lambda *_: pytest.fail("work was done"))
    code, out, err = run(capsys, *arguments, "--quiet")
    assert (code, out) == (2, "")
    assert words in err
    assert len(err.splitlines()) == 1


def test_a_sweep_with_files_goes_on(capsys, fake, tmp_path):
    arguments = ("sweep", JOB, "--delay", "1us:1ms:4", "--schedulers", "rotor", "--out", tmp_path, "--no-figure", *ONE)
    code, out, err = run(capsys, *arguments)
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= WIDTH
    assert sorted(file.name for file in tmp_path.iterdir()) == ["points.jsonl", "sweep.csv", "sweep.json"]
    assert len((tmp_path / "points.jsonl").read_text().splitlines()) == 8
    before = (tmp_path / "sweep.csv").read_text()
    fake["rotor"] = AssertionError("run again")
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert "8 rows from an earlier run" in out
    assert (tmp_path / "sweep.csv").read_text() == before


def test_an_interrupted_sweep_keeps_its_files(capsys, fake, tmp_path):
    fake["rotor"] = KeyboardInterrupt()
    arguments = ("sweep", JOB, "--delay", "1us", "--schedulers", "rotor", "--out", tmp_path, "--json", *ONE)
    code, out, _ = run(capsys, *arguments)
    assert code == 130
    assert json.loads(out)["interrupted"]
    assert len((tmp_path / "points.jsonl").read_text().splitlines()) == 1


def test_figures_without_matplotlib(capsys, fake, monkeypatch, tmp_path):
    monkeypatch.setattr(figures, "can_draw", lambda: False)
    arguments = ("sweep", JOB, "--delay", "10us", "--schedulers", "rotor", "--out", tmp_path / "out", *ONE)
    code, out, err = run(capsys, *arguments, "--figure")
    assert (code, out) == (2, "")
    assert "pip install 'fluxscale[plot]'" in err
    assert not (tmp_path / "out").exists()
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert "pip install 'fluxscale[plot]'" in " ".join(out.split())


def test_figures_with_matplotlib(capsys, fake, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is in the extra `plot`")
    arguments = ("sweep", JOB, "--delay", "10us,1ms", "--schedulers", "rotor", "--out", tmp_path, "--figure", *ONE)
    assert run(capsys, *arguments)[0] == 0
    assert {"sweep.png", "sweep.svg"} <= {file.name for file in tmp_path.iterdir()}


@pytest.mark.parametrize("verb", ["compare", "sweep"])
def test_help_imports_nothing_heavy(verb):
    code = (
        "import sys\nfrom fluxscale.cli import main\n"
        f"try:\n    main.run([{verb!r}, '--help'])\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('numpy', 'numba', 'ortools', 'networkx', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment(), cwd=ROOT
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_whole_command_in_two_processes():
    done = fluxscale("compare", JOB, "--schedulers", "on-demand", "--workers", "2", "--json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert [row["status"] for row in document["rows"]] == ["ok", "ok"]
    assert "2 of 2 done" in done.err


def test_ctrl_c_ends_every_process(tmp_path):
    command = [sys.executable, "-m", "fluxscale", "sweep", JOB, "--delay", "1us:100ms:200", "--workers", "2"]
    command += ["--out", str(tmp_path), "--no-figure", "--schedulers", "on-demand"]
    process = subprocess.Popen(
        command, env=environment(), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    points, end = tmp_path / "points.jsonl", time.monotonic() + 90
    while time.monotonic() < end and not (points.exists() and points.read_bytes().count(b"\n") >= 3):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "interrupted: rows are missing; the same command goes on" in " ".join(out.split())
    assert "Traceback" not in err
    assert gone_within(10, process.pid), "a process outlives the command"


def gone_within(seconds: float, group: int) -> bool:
    """Whether a process group ends; the one that watches over shared resources takes a moment."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False
