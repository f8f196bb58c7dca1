"""Machine code is kept under a name that changes with everything it was made from."""

from __future__ import annotations

from pathlib import Path

import pytest

from fluxscale import _numba


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "kernels"
    (folder / "part").mkdir(parents=True)
    (folder / "a.py").write_text("from fluxscale.kernels.b import (\n    helper,\n    other,\n)\n")
    (folder / "b.py").write_text("from fluxscale.kernels.part import c as see\n")
    (folder / "part" / "c.py").write_text("x = 1\n")
    (folder / "d.py").write_text("x = 1\n")
    monkeypatch.setattr(_numba, "_ROOT", tmp_path)
    _numba.stamp.cache_clear()
    yield folder
    _numba.stamp.cache_clear()


def test_a_change_of_anything_that_is_imported_changes_the_stamp(package: Path) -> None:
    names = [f"fluxscale.kernels.{name}" for name in ("a", "b", "part.c", "d")]
    before = {name: _numba.stamp(name) for name in names}
    (package / "part" / "c.py").write_text("x = 2\n")
    _numba.stamp.cache_clear()
    after = {name: _numba.stamp(name) for name in names}
    assert [name for name in names if before[name] != after[name]] == names[:3]


def test_kernels_are_kept_in_a_folder_of_that_name() -> None:
    from fluxscale.kernels.fluid.walk import walk

    stamp = _numba.stamp("fluxscale.kernels.fluid.walk")
    assert f"fluid.walk-{stamp}" in walk._cache.cache_path


def test_other_modules_are_left_to_numba() -> None:
    assert _numba._folder("somebody.else") is None
