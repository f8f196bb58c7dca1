import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from fluxscale.errors import BackendError, InputError
from fluxscale.solving import registry


@pytest.fixture(autouse=True)
def fresh_table():
    registry._table.cache_clear()
    yield
    registry._table.cache_clear()


def add(monkeypatch, name, value):
    monkeypatch.setattr(registry, "entry_points", lambda group: [EntryPoint(name, value, group)])


def test_built_in_solvers_need_no_installation(monkeypatch):
    monkeypatch.setattr(registry, "entry_points", lambda group: [])
    ours = ["exact-cpsat", "exact-milp", "list", "stage-window"]
    assert registry.solver_names() == sorted([*ours, *registry.COMPARISON])


def test_a_third_party_solver_is_found_by_its_entry_point(monkeypatch):
    add(monkeypatch, "mine", "collections:OrderedDict")
    assert "mine" in registry.solver_names()
    assert type(registry.get_solver("mine")).__name__ == "OrderedDict"


def test_an_entry_point_cannot_replace_a_built_in_solver(monkeypatch):
    add(monkeypatch, "list", "collections:OrderedDict")
    assert registry._table()["list"] == registry.BUILT_IN["list"]


@pytest.mark.parametrize("name", ["lst", "exact-cpsta", "auot"])
def test_a_misspelt_name_gets_the_near_one(name):
    with pytest.raises(InputError, match=r"unknown solver.*did you mean") as caught:
        registry.get_solver(name)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("value", ["no_such_package.solver:Solver", "collections:NoSuchThing", "operator:truediv"])
def test_a_solver_that_cannot_be_loaded_is_a_back_end_failure(monkeypatch, value):
    add(monkeypatch, "broken", value)
    with pytest.raises(BackendError, match=r"'broken' cannot be loaded.*doctor") as caught:
        registry.get_solver("broken")
    assert caught.value.exit_code == 6
    assert "\n" not in str(caught.value)


def test_listing_imports_no_solver():
    heavy = ("fluxscale_solvers", "ortools", "numba", "ray")
    code = "import sys; from fluxscale.solving.registry import solver_names; solver_names(); "
    code += f"print([m for m in sys.modules if m.split('.')[0] in {heavy!r}])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", sorted(registry.BUILT_IN))
def test_built_in_solvers_can_be_built_and_bear_their_name(name):
    solver = registry.get_solver(name)
    assert solver.name == name
    assert callable(solver.solve)
