import os

import pytest

from fluxscale.errors import InputError, UnsupportedError
from fluxscale.solving.settings import available_cores, check_settings

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"time_limit_s": 0.5, "work_limit": 1, "rel_gap": 0.01, "seed": 2**40, "workers": 1, "symmetry": "off"},
        {"time_limit_s": 3, "rel_gap": 0},
    ],
)
def test_good_settings(settings):
    check_settings(**settings)


@pytest.mark.parametrize(
    ("field", "key", "values"),
    [
        ("time_limit", "time_limit_s", [0, -1, NAN, INF, "5", True]),
        ("rel_gap", "rel_gap", [-0.1, 1, 1.5, NAN, INF, "x"]),
        ("work_limit", "work_limit", [0, -5, 2.5, 2**63, True]),
        ("workers", "workers", [0, -1, 1.0, False]),
        ("seed", "seed", [-1, 2**63, 0.5, True]),
    ],
)
def test_bad_numbers_are_named(field, key, values):
    for value in values:
        with pytest.raises(InputError, match=f"^{field}: must be") as caught:
            check_settings(**{key: value})
        assert caught.value.exit_code == 2


@pytest.mark.parametrize(("key", "value", "near"), [("symmetry", "of", "off"), ("executor", "serail", "serial")])
def test_unknown_words_get_the_near_one(key, value, near):
    with pytest.raises(InputError, match=f"did you mean '{near}'"):
        check_settings(**{key: value})


def test_what_comes_later_is_refused_and_not_ignored():
    with pytest.raises(UnsupportedError, match="not built yet"):
        check_settings(executor="ray")
    with pytest.raises(InputError, match="needs executor ray"):
        check_settings(ray_address="auto")


def test_cores_are_those_at_hand(monkeypatch):
    assert 1 <= available_cores() <= (os.cpu_count() or 1)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cores() == 1
