"""The command itself: help, usage errors, exit codes, one line for everything that goes wrong."""

import subprocess
import sys

import pytest
import typer

from fluxscale import __version__
from fluxscale.cli import main
from fluxscale.errors import BackendError, CheckFailedError, InfeasibleError, InputError, NoScheduleError

VERBS = ("solve", "compare", "sweep", "check", "replay", "presets", "schema", "doctor")
HEAVY = ("numpy", "numba", "ortools", "networkx", "ray", "pydantic", "pandas", "matplotlib", "fluxscale_solvers")


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main.run(list(arguments))
    said = capsys.readouterr()
    return end.value.code, said.out, said.err


def failing(monkeypatch, error):
    app = typer.Typer()

    @app.command("go")
    @main.guarded
    def go():
        raise error

    @app.command("other")
    def other():
        pass

    monkeypatch.setattr(main, "app", app)


def test_help_lists_every_verb_and_no_other(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    for verb in VERBS:
        assert verb in out
    assert tuple(typer.main.get_command(main.app).commands) == VERBS


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(capsys, verb):
    code, out, _ = run(capsys, verb, "--help")
    assert code == 0
    assert "Usage: fluxscale " + verb in out


def test_solve_takes_every_option_of_the_contract(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    _, out, _ = run(capsys, "solve", "--help")
    names = "fabric set solver time-limit work-limit rel-gap seed workers executor ray-address symmetry out json quiet"
    for option in [f"--{name}" for name in names.split()]:
        assert option in out


def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from fluxscale.cli import main\n"
        "try:\n    main.run(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print('HEAVY', [m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "HEAVY []"


def test_version(capsys):
    assert run(capsys, "--version")[:2] == (0, f"fluxscale {__version__}\n")


def test_no_arguments_is_bad_usage_with_help_on_stderr(capsys):
    code, out, err = run(capsys)
    assert code == 2
    assert out == ""
    assert "solve" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["slove"], "slove"),
        (["solve"], "JOB"),
        (["solve", "x", "--sedd", "1"], "--sedd"),
        (["solve", "x", "--seed", "one"], "--seed"),
        (["solve", "x", "--time-limit", "soon"], "--time-limit"),
        (["solve", "x", "y"], "y"),
        (["check"], "SCHEDULE"),
        (["check", "x", "--limit", "-1"], "--limit"),
        (["solve", "x", "--time-limit", "nan"], "time_limit"),
        (["solve", "x", "--rel-gap", "5"], "rel_gap"),
        (["solve", "x", "--workers", "0"], "workers"),
        (["solve", "x", "--executor", "ray"], "not built yet"),
        (["solve", "x", "--ray-address", "auto"], "needs executor ray"),
        (["solve", "x", "--symmetry", "on"], "symmetry"),
        (["solve", "x", "--set", "nonsense"], "KEY=VALUE"),
        (["solve", "x", "--solver", "lits"], "did you mean 'list'"),
        (["solve", "x", "--solver", "stage-windw"], "did you mean 'stage-window'"),
        (["schema", "jbo"], "did you mean 'job'"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(capsys, arguments, words):
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    last = err.splitlines()[-1]
    assert last.startswith("fluxscale: error: ")
    assert words in last
    assert "Traceback" not in err


def test_usage_errors_are_the_only_line(capsys):
    _, _, err = run(capsys, "solve", "x", "--sedd", "1")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("bad", file="f.toml", field="x", value=3, maybe="do it."), 2),
        (InfeasibleError("no way"), 3),
        (NoScheduleError("none"), 4),
        (CheckFailedError("bad schedule"), 5),
        (BackendError("dead"), 6),
        (MemoryError(), 6),
        (KeyboardInterrupt(), 130),
        (RuntimeError("two\nlines"), 6),
    ],
)
def test_exit_codes(capsys, monkeypatch, error, code):
    failing(monkeypatch, error)
    ended, out, err = run(capsys, "go")
    assert (ended, out) == (code, "")
    line = err.strip()
    assert "\n" not in line
    assert line.startswith("fluxscale: error: ")


def test_unexpected_errors_say_how_to_see_more(capsys, monkeypatch):
    failing(monkeypatch, RuntimeError("surprise"))
    assert "unexpected RuntimeError: surprise" in run(capsys, "go")[2]
    monkeypatch.setenv("FLUXSCALE_DEBUG", "1")
    assert "Traceback" in run(capsys, "go")[2]


def test_an_exit_code_of_a_verb_is_passed_on(capsys, monkeypatch):
    failing(monkeypatch, typer.Exit(5))
    assert run(capsys, "go") == (5, "", "")


def test_a_reader_that_stops_reading_is_no_error():
    command = f"{sys.executable} -m fluxscale schema schedule | head -c 1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_python_dash_m():
    done = subprocess.run([sys.executable, "-m", "fluxscale", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"fluxscale {__version__}\n"
