"""Provenance: who made a file, with what, on which machine; plain JSON-able data that goes into every file."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from fluxscale._version import __version__

PACKAGES = ("numpy", "numba", "ortools", "networkx", "pydantic", "ray", "typer", "rich")
"""Distributions whose versions are recorded, without importing them."""


def collect(
    *, instance_sha256: str | None = None, seed: int | None = None, command: Sequence[str] | None = None
) -> dict[str, Any]:
    """Describe this run.

    Parameters
    ----------
    instance_sha256
        Hash of the instance that was solved.
    seed
        Root seed.
    command
        Command line; None: that of this process.

    Returns
    -------
    dict
        ``command``, ``fluxscale``, ``versions``, ``machine``, ``git`` (None outside a checkout), ``date_utc``,
        ``seed``, ``instance_sha256``. Apart from the command line it holds no paths.
    """
    return {
        "command": list(command if command is not None else _command_line()),
        "fluxscale": __version__,
        "versions": versions(),
        "machine": machine(),
        "git": git_state(),
        "date_utc": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "seed": seed,
        "instance_sha256": instance_sha256,
    }


def _command_line() -> list[str]:
    """Command line with the program's name instead of where it is installed."""
    return [Path(sys.argv[0]).name, *sys.argv[1:]] if sys.argv else []


def versions() -> dict[str, str | None]:
    """Versions of Python and of the packages used; None: not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def machine() -> dict[str, Any]:
    """Processor model, cores (of the machine, and at this process's disposal), memory in bytes, and platform."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "usable_cores": usable,
        "memory_bytes": _memory_bytes(),
        "platform": platform.platform(),
    }


def _cpu_model() -> str | None:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or None


def _memory_bytes() -> int | None:
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
    try:
        # In a container the machine's memory is not ours.
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        return min(physical, int(limit)) if limit.isdigit() else physical
    except OSError:
        return physical


def git_state() -> dict[str, Any] | None:
    """Commit of the checkout that the code runs from and whether files differ from it; None outside a checkout."""
    root = Path(__file__).resolve().parent.parent
    # An installed package may lie inside somebody else's repository; only our own checkout says anything.
    if not (root / ".git").exists():
        return None
    commit = _git(root, "rev-parse", "HEAD")
    if commit is None:
        return None
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": None if changed is None else bool(changed)}


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
