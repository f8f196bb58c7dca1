"""The only wrapper around ``numba.njit``: cache policy and the JIT switch live here.

Kernels are compiled lazily (arrays from a shared store are read-only, which an explicit signature would reject) and
cached on disk. ``NUMBA_DISABLE_JIT=1`` runs them as plain Python, which is how coverage and debuggers see them.

Numba's own cache looks at the time stamp of a kernel's file and at nothing that the kernel calls: after an upgrade it
would run old code, or crash. So the machine code of each file lies in a folder that is named after the text of that
file and of all files that it imports kernels from.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import config as settings

config: Any = settings

F = TypeVar("F", bound=Callable[..., Any])

_ROOT = Path(__file__).resolve().parent
_IMPORT = re.compile(r"^from (fluxscale\.kernels[\w.]*) import ([^\n(]+|\([^)]*\))", re.MULTILINE)


def kernel(function: F) -> F:
    """Compile a kernel: no Python objects, no GIL, cached on disk, integer semantics as written."""
    given = config.CACHE_DIR
    config.CACHE_DIR = _folder(function.__module__) or given
    try:
        return numba.njit(cache=True, nogil=True)(function)  # type: ignore[return-value]
    finally:
        config.CACHE_DIR = given


def inlined(function: F) -> F:
    """Compile a helper into its callers: handing over a dozen arrays costs more than what such a helper does."""
    return numba.njit(inline="always")(function)  # type: ignore[return-value]


@functools.cache
def _folder(module: str) -> str | None:
    """Cache folder of a module's kernels; None where it is not one of ours, or nothing can be written."""
    path = _source(module)
    base = _base()
    if path is None or base is None:
        return None
    return str(base / f"{module.removeprefix('fluxscale.kernels.')}-{stamp(module)}")


@functools.cache
def _base() -> Path | None:
    """Where the user wants the cache, else beside the code, else the user's own cache."""
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR)
    own = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fluxscale"
    for folder in (_ROOT / "kernels" / "__pycache__", own):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return None


@functools.cache
def stamp(module: str) -> str:
    """Short hash of the text of a module of kernels and of all modules that it imports kernels from.

    Parameters
    ----------
    module
        Full name of the module.
    """
    digest = hashlib.sha256()
    for name in sorted(_reached(module)):
        path = _source(name)
        digest.update(name.encode() + b"\0" + (b"" if path is None else path.read_bytes()))
    return digest.hexdigest()[:16]


def _reached(module: str) -> set[str]:
    """The module and all modules of kernels that it imports, directly or not."""
    found, waiting = {module}, [module]
    while waiting:
        path = _source(waiting.pop())
        for package, names in [] if path is None else _IMPORT.findall(path.read_text(encoding="utf-8")):
            # A name may be a module of the package.
            inside = [f"{package}.{name}" for name in re.findall(r"\w+", names)]
            for name in [package, *(one for one in inside if _source(one) is not None)]:
                if name not in found:
                    found.add(name)
                    waiting.append(name)
    return found


def _source(module: str) -> Path | None:
    """File of a module of kernels, or None."""
    if not module.startswith("fluxscale.kernels."):
        return None
    stem = _ROOT.joinpath(*module.split(".")[1:])
    path = stem.with_suffix(".py")
    return path if path.is_file() else None
