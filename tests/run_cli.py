"""Run `fluxscale` as a user does: in a process of its own, from the code under test."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Finished:
    """What a command left behind."""

    code: int
    out: str
    err: str


def environment() -> dict[str, str]:
    paths = [str(ROOT), str(ROOT / "solvers"), *filter(None, [os.environ.get("PYTHONPATH")])]
    plain = {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "200", "PYTHONPATH": os.pathsep.join(paths)}
    return os.environ | plain


def fluxscale(*arguments: object, cwd: Path | None = None, timeout: float = 120) -> Finished:
    command = [sys.executable, "-m", "fluxscale", *map(str, arguments)]
    done = subprocess.run(
        command, cwd=cwd, env=environment(), capture_output=True, text=True, timeout=timeout, check=False
    )
    return Finished(done.returncode, done.stdout, done.stderr)
