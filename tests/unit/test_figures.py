"""The figure of a sweep: drawn where matplotlib is there, refused with what to install where it is not."""

from __future__ import annotations

import importlib.util
import xml.etree.ElementTree as ET

import pytest

from fluxscale.compare.grid import make_grid
from fluxscale.compare.rows import Row, Status
from fluxscale.compare.schedulers import EXACT, FLUXSCALE
from fluxscale.compare.sweep import Sweep
from fluxscale.errors import InputError
from fluxscale.report import figures
from fluxscale.solving.registry import COMPARISON

needs_matplotlib = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="matplotlib is in the extra `plot`"
)
NAMES = (FLUXSCALE, *COMPARISON, *EXACT)


def swept(names=NAMES, without=(), **axes) -> Sweep:
    grid = make_grid(**axes)
    rows = tuple(
        (
            point,
            {
                name: Row(name, Status.REFUSED, {})
                if name in without
                else Row(name, Status.OK, {}, 10**6 * (k + 1) + at, 1, 0.5, 10**k, None)
                for k, name in enumerate(names)
            },
        )
        for at, point in enumerate(grid.points)
    )
    return Sweep(grid, tuple(names), rows, 0, 1)


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(figures, "can_draw", lambda: False)
    with pytest.raises(InputError, match=r"pip install 'fluxscale\[plot\]'"):
        figures.draw_sweep(swept(delay="1us"), job="j")


def test_every_scheduler_has_a_style_of_its_own():
    assert set(figures.STYLES) == set(NAMES)
    assert len(set(figures.STYLES.values())) == len(NAMES)


@needs_matplotlib
@pytest.mark.parametrize(
    ("axes", "without"),
    [
        ({"delay": "1us:100ms:11"}, ()),
        ({"delay": "10us"}, ()),
        ({"delay": "0,1us,1ms"}, ("static",)),
        ({"rate": "100Gbps:1.6Tbps:5"}, ()),
        ({"planes": "1:8:4"}, NAMES),
        ({"delay": "1us,1ms", "planes": "1:8:8"}, ()),
    ],
)
def test_figures_are_drawn_without_a_warning(axes, without, recwarn):
    drawn = figures.draw_sweep(swept(without=without, **axes), job="tiny")
    assert drawn["sweep.png"].startswith(b"\x89PNG")
    root = ET.fromstring(drawn["sweep.svg"])
    assert root.tag.endswith("svg")
    assert [str(warning.message) for warning in recwarn] == []


@needs_matplotlib
def test_the_same_sweep_gives_the_same_bytes():
    first, second = (figures.draw_sweep(swept(delay="1us:1ms:4"), job="tiny") for _ in range(2))
    assert first == second


@needs_matplotlib
def test_schedulers_that_nobody_knew_get_lines_too():
    names = (FLUXSCALE, "list", *(f"plug-in-{k}" for k in range(9)))
    assert figures.draw_sweep(swept(names, delay="1us,1ms"), job="tiny")["sweep.png"]
