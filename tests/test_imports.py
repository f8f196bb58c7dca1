"""Every module imports, the import rules hold, and the command line starts without the heavy packages."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from importlib.util import find_spec

import pytest
from run_cli import ROOT, environment

HEAVY = {"numpy", "numba", "ortools", "networkx", "ray", "pandas", "matplotlib"}


def run_python(code: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env=environment(), cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False
    )


def loaded_by(statements: str) -> set[str]:
    """Top-level packages in memory after some statements."""
    done = run_python(f"import sys\n{statements}\nprint(*{{name.partition('.')[0] for name in sys.modules}})")
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def modules(package: str) -> list[str]:
    root = importlib.import_module(package)
    return [package, *(found.name for found in pkgutil.walk_packages(root.__path__, package + "."))]


@pytest.mark.parametrize("name", [*modules("fluxscale"), *modules("fluxscale_solvers")])
def test_module_imports_and_says_what_it_is(name):
    module = importlib.import_module(name)
    assert (module.__doc__ or "").strip(), f"{name} has no docstring"


def test_no_folder_with_modules_lacks_an_init():
    for package in ("fluxscale", "solvers/fluxscale_solvers"):
        for file in (ROOT / package).rglob("*.py"):
            assert (file.parent / "__init__.py").exists(), f"{file.parent}: not a package, so walk_packages misses it"


@pytest.mark.parametrize("statement", ["import fluxscale", "import fluxscale.cli.main"])
def test_start_imports_nothing_heavy(statement):
    assert not loaded_by(statement) & HEAVY


def test_help_imports_nothing_heavy():
    show_help = """
import contextlib, io
from fluxscale.cli.main import run
sys.argv = ["fluxscale", "--help"]
with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.suppress(SystemExit):
    run()
assert "solve" in shown.getvalue()
"""
    assert not loaded_by(show_help) & HEAVY


def test_checker_imports_no_maker():
    assert not loaded_by("import fluxscale.validate.checker") & {"numba", "ortools", "ray", "fluxscale_solvers"}


@pytest.mark.skipif(find_spec("importlinter") is None, reason="import-linter is in the extra `lint`")
def test_import_rules():
    done = run_python("from importlinter.cli import lint_imports_command; lint_imports_command(['--no-cache'])", 300)
    assert done.returncode == 0, done.stdout + done.stderr
