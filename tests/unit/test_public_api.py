import importlib
import subprocess
import sys

import pytest

import fluxscale as fs

NAMES = ("load_job", "build_instance", "solve", "check", "replay", "compare")


def child(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_package_imports_next_to_nothing():
    heavy = ("numpy", "numba", "ortools", "ray", "pydantic", "typer", "networkx")
    assert child(f"import sys, fluxscale; print([m for m in {heavy!r} if m in sys.modules])") == "[]"


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_a_function(name):
    assert callable(getattr(fs, name))
    assert name in fs.__all__
    assert name in dir(fs)


def test_solve_stays_a_function_when_its_module_is_imported_first():
    code = "import fluxscale.solve; import fluxscale as fs; from fluxscale.solve import solve; "
    code += "assert fs.solve is solve; print('ok')"
    assert child(code) == "ok"


def test_solve_stays_a_function_when_its_module_is_imported_later():
    code = "import importlib, fluxscale as fs; f = fs.solve; importlib.import_module('fluxscale.solve'); "
    code += "assert fs.solve is f; print('ok')"
    assert child(code) == "ok"


def test_submodules_can_still_be_imported():
    module = importlib.import_module("fluxscale.units")
    assert fs.units is module
    assert importlib.import_module("fluxscale.solve").solve is fs.solve


@pytest.mark.parametrize("name", ["nonsense", "_private"])
def test_unknown_names_are_attribute_errors(name):
    with pytest.raises(AttributeError, match=name):
        getattr(fs, name)


def test_the_version_is_text():
    assert isinstance(fs.__version__, str)
