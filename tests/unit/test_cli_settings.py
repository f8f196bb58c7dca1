import pytest

from fluxscale.cli.settings import split_settings
from fluxscale.errors import InputError


def test_solver_options_are_sorted_out():
    overrides, options = split_settings(["fabric.reconfiguration_delay=25ms", "solver.rules=8", "parallel.dp=2"])
    assert overrides == ["fabric.reconfiguration_delay=25ms", "parallel.dp=2"]
    assert options == {"rules": 8}


@pytest.mark.parametrize(
    ("text", "value"),
    [("8", 8), ("-1", -1), ("0.5", 0.5), ("true", True), ("false", False), ("scip", "scip"), (" 8 ", 8), ("", "")],
)
def test_values_are_read_as_what_they_look_like(text, value):
    _, options = split_settings([f"solver.key={text}"])
    assert options == {"key": value}
    assert type(options["key"]) is type(value)


def test_the_last_one_counts():
    assert split_settings(["solver.a=1", "solver.a=2"])[1] == {"a": 2}


def test_a_value_may_hold_an_equals_sign():
    assert split_settings(["name=a=b", "solver.x=a=b"]) == (["name=a=b"], {"x": "a=b"})


@pytest.mark.parametrize("entry", ["", "key", "=3", "solver.=3", "solver."])
def test_what_is_no_setting_is_refused(entry):
    with pytest.raises(InputError, match=r"--set: must be KEY=VALUE.*Maybe: --set fabric"):
        split_settings([entry])
