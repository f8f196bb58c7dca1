import json

import pytest

from fluxscale import doctor
from fluxscale.cli import main
from fluxscale.doctor import Probe, probe
from fluxscale.report.health import health_text
from fluxscale.report.text import WIDTH


def test_a_probe_reports_its_last_line():
    found = probe("x", "print('first'); print('last')")
    assert (found.name, found.alive, found.message) == ("x", True, "last")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise ImportError('no ortools')", "ImportError: no ortools"),
        ("import os; os._exit(3)", "ended with code 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "ended with code -11"),
    ],
)
def test_a_dead_back_end_is_a_line_and_not_a_crash(code, words):
    found = probe("x", code)
    assert not found.alive
    assert words in found.message


def test_a_hanging_back_end_is_given_up():
    found = probe("x", "import time; time.sleep(60)", timeout_s=0.3)
    assert not found.alive
    assert "no answer within 0.3 s" in found.message


def test_no_child_process_is_a_line_too(monkeypatch):
    monkeypatch.setattr(doctor.sys, "executable", "/nowhere/python")
    assert "cannot start" in probe("x", "").message


def set_probes(monkeypatch, **alive):
    def fake(name, code, **_):
        return Probe(name, alive.get(name.replace("-", ""), True), name not in doctor.OPTIONAL, "says so", 0.1)

    monkeypatch.setattr(doctor, "probe", fake)


@pytest.mark.parametrize(
    ("dead", "healthy"), [({}, True), ({"Ray": False}, True), ({"CPSAT": False}, False), ({"Numba": False}, False)]
)
def test_only_what_is_needed_decides(monkeypatch, capsys, dead, healthy):
    set_probes(monkeypatch, **dead)
    findings = doctor.examine()
    assert findings["healthy"] is healthy
    shown = health_text(findings)
    assert ("everything that is needed works" in shown) is healthy
    assert ("dead" in shown.lower()) is bool(dead)
    assert max(map(len, shown.splitlines())) <= WIDTH
    with pytest.raises(SystemExit) as end:
        main.run(["doctor", "--json"])
    assert end.value.code == (0 if healthy else 6)
    document = json.loads(capsys.readouterr().out)
    assert {backend["name"] for backend in document["backends"]} == {"CP-SAT", "SCIP", "HiGHS", "Numba", "Ray"}


@pytest.mark.parametrize("name", ["CP-SAT", "HiGHS", "SCIP", "Numba"])
def test_the_back_ends_are_alive_here(name):
    found = probe(name, doctor._PROBES[name])
    assert found.alive, found.message
