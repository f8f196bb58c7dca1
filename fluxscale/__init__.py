"""fluxscale: circuit schedules for LLM training on optical circuit switches.

The functions below are loaded when first used, so that ``import fluxscale`` costs next to nothing.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fluxscale._version import __version__

if TYPE_CHECKING:
    from fluxscale.compare.comparison import compare
    from fluxscale.instance.build import build_instance
    from fluxscale.simulate.replay import replay
    from fluxscale.solve import solve
    from fluxscale.validate.checker import check
    from fluxscale.workload.load import load_job

__all__ = ["__version__", "build_instance", "check", "compare", "load_job", "replay", "solve"]

_HOME = {
    "build_instance": "fluxscale.instance.build",
    "check": "fluxscale.validate.checker",
    "compare": "fluxscale.compare.comparison",
    "load_job": "fluxscale.workload.load",
    "replay": "fluxscale.simulate.replay",
    "solve": "fluxscale.solve",
}


class _Package(ModuleType):
    """The package itself: importing the submodule ``fluxscale.solve`` must not hide the function of that name."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fluxscale' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
