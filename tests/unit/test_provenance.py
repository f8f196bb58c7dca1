import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fluxscale import __version__, provenance


def test_it_is_plain_json():
    made = provenance.collect(instance_sha256="ab" * 32, seed=7, command=["fluxscale", "solve", "x"])
    assert json.loads(json.dumps(made)) == made
    assert made["fluxscale"] == __version__
    assert made["seed"] == 7
    assert made["instance_sha256"] == "ab" * 32
    assert made["command"] == ["fluxscale", "solve", "x"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", made["date_utc"])


def test_versions_are_read_without_importing():
    heavy = ("numpy", "numba", "ortools", "ray", "networkx")
    code = "import sys; from fluxscale.provenance import collect; collect(); "
    code += f"print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert set(provenance.versions()) == {"python", *provenance.PACKAGES}


def test_a_missing_package_is_none(monkeypatch):
    monkeypatch.setattr(provenance, "PACKAGES", ("no-such-distribution",))
    assert provenance.versions()["no-such-distribution"] is None


def test_no_home_paths_but_in_the_command(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/home/somebody/bin/fluxscale", "solve", "job.toml"])
    made = provenance.collect()
    assert made["command"] == ["fluxscale", "solve", "job.toml"]
    rest = json.dumps({key: value for key, value in made.items() if key != "command"})
    assert str(Path.home()) + os.sep not in rest
    assert os.getcwd() not in rest


def test_an_empty_argv_is_no_crash(monkeypatch):
    monkeypatch.setattr(sys, "argv", [])
    assert provenance.collect()["command"] == []


def test_the_machine_has_cores_and_memory():
    found = provenance.machine()
    assert 1 <= found["usable_cores"] <= found["cores"]
    assert found["memory_bytes"] is None or found["memory_bytes"] > 2**20
    assert found["platform"]


def make_package(tmp_path, monkeypatch):
    package = tmp_path / "fluxscale"
    package.mkdir()
    (package / "provenance.py").write_text("")
    monkeypatch.setattr(provenance, "__file__", str(package / "provenance.py"))
    return package


def git(folder, *arguments):
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


def test_no_git_state_outside_a_checkout(tmp_path, monkeypatch):
    make_package(tmp_path, monkeypatch)
    assert provenance.git_state() is None


def test_somebody_elses_repository_says_nothing(tmp_path, monkeypatch):
    git(tmp_path, "init", "-q")
    inner = tmp_path / "venv" / "site-packages"
    inner.mkdir(parents=True)
    make_package(inner, monkeypatch)
    assert provenance.git_state() is None


def test_git_state_of_a_checkout(tmp_path, monkeypatch):
    package = make_package(tmp_path, monkeypatch)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    clean = provenance.git_state()
    assert re.fullmatch("[0-9a-f]{40}", clean["commit"])
    assert clean["dirty"] is False
    (package / "provenance.py").write_text("changed")
    assert provenance.git_state() == {**clean, "dirty": True}


@pytest.mark.parametrize("error", [FileNotFoundError("git"), subprocess.TimeoutExpired("git", 5)])
def test_git_that_fails_is_no_failure(tmp_path, monkeypatch, error):
    make_package(tmp_path, monkeypatch)
    (tmp_path / ".git").mkdir()

    def run(*_, **__):
        raise error

    monkeypatch.setattr(provenance.subprocess, "run", run)
    assert provenance.git_state() is None
