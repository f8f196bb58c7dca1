"""`solve`, `check` and `replay` from a DAG file to the files in a folder, with the real parts."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from flow_case import FakeSolver, found, plan, register

from fluxscale.cli import main
from fluxscale.cli.solve import exit_code
from fluxscale.report.text import WIDTH
from fluxscale.solving.protocol import Outcome, Plan
from fluxscale.solving.status import Termination

DAG = {
    "format": "fluxscale-dag",
    "version": 1,
    "ops": [
        {"id": "F0", "kind": "compute", "device": "a", "duration": 100, "after": []},
        {"id": "t0", "kind": "transfer", "src": "a", "dst": "b", "duration": 10, "after": ["F0"]},
        {"id": "F1", "kind": "compute", "device": "b", "duration": 100, "after": ["t0"]},
        {"id": "t1", "kind": "transfer", "src": "b", "dst": "a", "duration": 10, "after": ["F1"]},
        {"id": "F2", "kind": "compute", "device": "a", "duration": 90, "after": ["t1"]},
    ],
}
FAST = ("--set", "fabric.reconfiguration_delay=50ns")


@pytest.fixture
def job(tmp_path):
    path = tmp_path / "job.json"
    path.write_text(json.dumps(DAG))
    return str(path)


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main.run([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return end.value.code, said.out, said.err


def test_a_table_on_stdout_and_progress_on_stderr(capsys, job):
    code, out, err = run(capsys, "solve", job, *FAST)
    assert code == 0
    assert "iteration time" in out
    assert "310 ns" in out
    assert "checked-ok" in out
    assert "assumed" in out
    assert "add --out DIR" in out
    assert max(map(len, out.splitlines())) <= WIDTH
    assert "building the instance" in err
    assert "building" not in out


def test_quiet_leaves_stderr_empty(capsys, job):
    code, out, err = run(capsys, "solve", job, *FAST, "--quiet")
    assert (code, err) == (0, "")
    assert out


def test_json_is_one_document_on_stdout(capsys, job):
    code, out, _ = run(capsys, "solve", job, *FAST, "--json", "--seed", "3", "--workers", "1")
    document = json.loads(out)
    assert code == 0
    assert document["format"] == "fluxscale-result"
    assert (document["iteration_time_ns"], document["lower_bound_ns"], document["gap"]) == (310, 310, 0.0)
    assert (document["termination"], document["feasibility"]) == ("optimal", "checked-ok")
    assert (document["seed"], document["workers"], document["executor"]) == (3, 1, "serial")
    assert document["gpus"] is None
    assert document["provenance"]["instance_sha256"] == document["instance_sha256"]
    assert document["wall_s"]["total"] >= document["wall_s"]["build"] > 0


def test_two_runs_of_one_seed_agree(capsys, job):
    first, second = (json.loads(run(capsys, "solve", job, "--json", "--workers", n)[1]) for n in (1, 2))
    assert first["schedule_sha256"] == second["schedule_sha256"]


@pytest.mark.parametrize("solver", ["list", "exact-cpsat", "exact-milp"])
def test_every_solver_by_name(capsys, job, solver):
    code, out, _ = run(capsys, "solve", job, *FAST, "--json", "--solver", solver)
    document = json.loads(out)
    assert code == 0
    assert (document["solver"], document["iteration_time_ns"]) == (solver, 310)


def test_files_can_be_checked_and_replayed_on_their_own(capsys, job, tmp_path):
    out_dir = tmp_path / "out"
    code, out, _ = run(capsys, "solve", job, *FAST, "--out", out_dir)
    assert code == 0
    assert str(out_dir) in " ".join(out.split())
    assert sorted(os.listdir(out_dir)) == ["instance.flux.npz", "result.json", "schedule.json"]
    result = json.loads((out_dir / "result.json").read_text())
    os.unlink(job)
    os.unlink(out_dir / "instance.flux.npz")
    code, out, _ = run(capsys, "check", out_dir / "schedule.json", "--json")
    report = json.loads(out)
    assert (code, report["ok"], report["violations"]) == (0, True, [])
    assert report["schedule_sha256"] == result["schedule_sha256"]
    code, out, _ = run(capsys, "replay", out_dir, "--json")
    played = json.loads(out)
    assert (code, played["iteration_time_ns"], played["late_ops"]) == (0, 310, 0)
    assert played["peak_nic_buffer_bytes"] == result["peak_nic_buffer_bytes"]


def test_the_instance_file_alone_is_enough_too(capsys, job, tmp_path):
    run(capsys, "solve", job, *FAST, "--out", tmp_path / "out")
    code, out, _ = run(
        capsys, "check", tmp_path / "out/schedule.json", "--instance", tmp_path / "out/instance.flux.npz"
    )
    assert code == 0
    assert "no violation" in out


def test_replay_with_jitter_is_late_and_repeatable(capsys, job, tmp_path):
    run(capsys, "solve", job, *FAST, "--out", tmp_path / "out")
    command = ("replay", tmp_path / "out", "--jitter", "0.5", "--seed", "7")
    code, text, _ = run(capsys, *command)
    first, second = (json.loads(run(capsys, *command, "--json")[1]) for _ in range(2))
    assert code == 0
    assert "seed 7" in text
    assert first == second
    assert first["iteration_time_ns"] > first["planned_iteration_time_ns"] == 310
    code, _, err = run(capsys, "replay", tmp_path / "out", "--jitter", "nan")
    assert (code, len(err.splitlines())) == (2, 1)


def spoil(folder):
    """Start every op at once: the file stays well-formed and breaks several rules."""
    path = folder / "schedule.json"
    document = json.loads(path.read_text())
    document["ops"]["start_ns"] = [0] * 5
    if "start_ns" in document["transfers"]:
        document["transfers"]["start_ns"] = [0] * len(document["transfers"]["start_ns"])
    path.write_text(json.dumps(document))


def test_a_bad_schedule_is_exit_code_5_with_every_violation(capsys, job, tmp_path):
    run(capsys, "solve", job, *FAST, "--out", tmp_path / "out")
    spoil(tmp_path / "out")
    code, out, _ = run(capsys, "check", tmp_path / "out")
    assert code == 5
    assert "F1" in out
    assert "ns" in out
    assert max(map(len, out.splitlines())) <= WIDTH
    code, out, _ = run(capsys, "check", tmp_path / "out", "--json")
    report = json.loads(out)
    assert code == 5
    assert report["ok"] is False
    assert len(report["violations"]) == sum(report["counts"].values()) >= 4
    code, out, _ = run(capsys, "check", tmp_path / "out", "--limit", "1")
    assert "more" in out


def test_a_schedule_of_another_job_is_exit_code_2(capsys, job, tmp_path):
    run(capsys, "solve", job, *FAST, "--out", tmp_path / "out")
    code, out, err = run(capsys, "check", tmp_path / "out", "--job", job)
    assert (code, out) == (2, "")
    assert "another instance" in err
    assert run(capsys, "check", tmp_path / "out", "--job", job, *FAST)[0] == 0


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("missing.json", None),
        ("empty.json", ""),
        ("cut.json", '{"format": '),
        ("other.json", "{}"),
        ("binary.npz", "PK\x03\x04rubbish"),
    ],
)
def test_bad_schedule_files(capsys, tmp_path, name, content):
    if content is not None:
        (tmp_path / name).write_text(content)
    code, out, err = run(capsys, "check", tmp_path / name)
    assert (code, out) == (2, "")
    assert name in err
    assert len(err.splitlines()) == 1


def test_bad_jobs_write_nothing(capsys, tmp_path):
    (tmp_path / "bad.toml").write_text("[parallel\n")
    for job in (tmp_path / "bad.toml", "llama3-405b-16q", tmp_path, tmp_path / "missing.toml"):
        code, out, err = run(capsys, "solve", job, "--quiet", "--out", tmp_path / "out")
        assert (code, out) == (2, "")
        assert len(err.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_an_unwritable_out_is_said_before_the_solve(capsys, job, tmp_path, monkeypatch):
    (tmp_path / "taken").write_text("mine")
    table = register(monkeypatch, FakeSolver("list"))
    code, out, err = run(capsys, "solve", job, "--out", tmp_path / "taken")
    assert (code, out) == (2, "")
    assert "is a file, not a folder" in err
    assert not table["list"].asked


def set_solver(monkeypatch, outcome):
    from fluxscale.solving import registry

    solver = FakeSolver("mine", outcome)
    register(monkeypatch, solver)
    real = registry.get_solver
    monkeypatch.setattr(registry, "get_solver", lambda name: solver if name == "mine" else real(name))


@pytest.mark.parametrize(
    ("outcome", "code", "feasibility", "has_schedule"),
    [
        (found(plan(90), 400, termination=Termination.INTERRUPTED), 130, "checked-ok", True),
        (Outcome(None, None, None, None, Termination.TIME_LIMIT), 4, "none", False),
        (Outcome(None, None, None, None, Termination.INFEASIBLE), 3, "none", False),
        (Outcome(None, None, None, None, Termination.ERROR), 6, "none", False),
        (KeyboardInterrupt(), 130, "none", False),
        (found(Plan(plan().op_start_ticks // 2, plan().leg_plane)), 5, "checked-bad", True),
    ],
)
def test_exit_codes_and_what_is_written(capsys, job, tmp_path, monkeypatch, outcome, code, feasibility, has_schedule):
    set_solver(monkeypatch, outcome)
    ended, out, _ = run(capsys, "solve", job, *FAST, "--solver", "mine", "--out", tmp_path / "out", "--json")
    assert ended == code
    assert json.loads(out)["feasibility"] == feasibility
    assert json.loads((tmp_path / "out/result.json").read_text())["feasibility"] == feasibility
    assert (tmp_path / "out/schedule.json").exists() is has_schedule


def test_exit_code_of_a_good_result(capsys, job, monkeypatch):
    import fluxscale as fs

    result = fs.solve(fs.build_instance(fs.load_job(job)))
    assert exit_code(result) == 0


def test_ctrl_c_in_a_real_run_keeps_the_best(tmp_path):
    """The list heuristic with endless moves, interrupted from outside."""
    out = tmp_path / "out"
    arguments = [
        "solve",
        "tiny-4x16x2",
        "--solver",
        "list",
        "--work-limit",
        str(10**15),
        "--set",
        "solver.rules=2",
        "--out",
        str(out),
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-m", "fluxscale", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "list: rule" in line:
            break
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert json.loads((out / "result.json").read_text())["feasibility"] == "checked-ok"
    assert (out / "schedule.json").exists()
