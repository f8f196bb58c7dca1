"""Jobs shipped inside the package."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable

from fluxscale.errors import InputError, did_you_mean


def preset_names() -> list[str]:
    """Names of all presets, in alphabetical order."""
    return sorted(entry.name.removesuffix(".toml") for entry in _folder().iterdir() if entry.name.endswith(".toml"))


def preset_path(name: str) -> Traversable:
    """File of a preset.

    Raises
    ------
    InputError
        If there is no such preset; suggests the near one.
    """
    if name not in preset_names():
        raise InputError(f"there is no preset {name!r}", maybe=did_you_mean(name, preset_names(), many=20))
    return _folder() / f"{name}.toml"


def preset_text(name: str) -> str:
    """TOML text of a preset."""
    return preset_path(name).read_text(encoding="utf-8")


def _folder() -> Traversable:
    return resources.files("fluxscale") / "presets"
