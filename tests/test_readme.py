"""What README.md shows is what happens: commands with their outputs, and the Python example."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from run_cli import ROOT, environment

from benchmarks.readme_outputs import run, shown, stable

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = shown(TEXT)
CHEAP = [block for block in SHOWN if block.cheap]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Outputs of the cheap commands, run in the README's order in one folder."""
    folder = tmp_path_factory.mktemp("readme")
    return {block.command: run(block.command, folder) for block in CHEAP}


def test_the_main_job_is_shown_with_its_output():
    block = next(block for block in SHOWN if block.command == "solve llama3-405b-16k")
    assert "checked-ok" in block.text
    assert "16,384" in block.text


@pytest.mark.parametrize("block", CHEAP, ids=lambda block: block.command)
def test_shown_output_is_what_is_printed(block, outputs):
    assert stable(outputs[block.command]) == stable(block.text), "python benchmarks/readme_outputs.py renews it"


def test_wall_times_do_not_count():
    assert stable("gap   0 %\nwall time  solve 1 s") == stable("gap 0 %\nwall time  solve 2 s")
    assert stable("gap 0 %") != stable("gap 1 %")
    assert stable("schedule   f7b5d647") == []


def test_two_commands_of_the_main_job():
    assert "pip install . && fluxscale solve llama3-405b-16k" in TEXT
    assert "pip install '.[test]' && pytest" in TEXT


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
def test_python_example_runs(code, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for line, comment in re.findall(r"^print\((.*?)\) *# (.*)$", code, re.MULTILINE):
        assert comment in done.stdout, f"{line} does not print {comment!r}: {done.stdout}"


def test_links_lead_somewhere():
    pages = ["README.md", "CONTRIBUTING.md", "solvers/README.md", "benchmarks/README.md", "cluster/README.md"]
    for page in pages:
        text = (ROOT / page).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
            if "://" not in target:
                assert ((ROOT / page).parent / target).exists(), f"{page} links to {target}"


def test_exit_codes_of_the_readme_are_those_of_the_help():
    shown_help = subprocess.run(
        [sys.executable, "-m", "fluxscale", "--help"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    for code in ("2", "3", "4", "5", "6", "130"):
        assert re.search(rf"\b{code}\b", shown_help)
        assert re.search(rf"^\| {code} \|", TEXT, re.MULTILINE)
