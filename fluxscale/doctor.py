"""Is everything there that a solve needs: versions, back ends probed in a child process, cores, memory."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

from fluxscale._version import __version__
from fluxscale.provenance import git_state, machine, versions

PROBE_SECONDS = 120.0
"""A back end that says nothing for this long is dead (Ray or Numba on a cold, slow disk take tens of seconds)."""

_MATHOPT = """
from ortools.math_opt.python import mathopt
model = mathopt.Model()
x = model.add_integer_variable(lb=0, ub=3)
model.maximize(x)
result = mathopt.solve(model, mathopt.SolverType.{kind})
assert round(result.objective_value()) == 3, result.termination
print("solved a small integer program")
"""

_PROBES = {
    "CP-SAT": """
from ortools.sat.python import cp_model
model = cp_model.CpModel()
x = model.new_int_var(0, 3, "x")
model.maximize(x)
solver = cp_model.CpSolver()
assert solver.solve(model) == cp_model.OPTIMAL and solver.value(x) == 3
print("solved a small model")
""",
    "SCIP": _MATHOPT.format(kind="GSCIP"),
    "HiGHS": _MATHOPT.format(kind="HIGHS"),
    "Numba": """
import os
import numba
compiled = numba.njit(lambda x: x + 1)
assert compiled(2) == 3
import fluxscale.kernels.longest_path as kernels
caches = [getattr(value, "_cache", None) for value in vars(kernels).values()]
folders = {cache.cache_path for cache in caches if hasattr(cache, "cache_path")}
for folder in folders:
    os.makedirs(folder, exist_ok=True)
    assert os.access(folder, os.W_OK), "the cache folder cannot be written: set NUMBA_CACHE_DIR"
print("compiles, cache can be written")
""",
    "Ray": """
import ray
print(f"imports (version {ray.__version__}); no cluster was contacted")
""",
}

OPTIONAL = frozenset({"Ray"})
"""Back ends without which every command of this version works."""


@dataclass(frozen=True)
class Probe:
    """One back end: alive or not, what it said, and how long it took; ``required`` ones decide the exit code."""

    name: str
    alive: bool
    required: bool
    message: str
    seconds: float


def probe(name: str, code: str, *, timeout_s: float = PROBE_SECONDS) -> Probe:
    """Run a few lines in a child process, so that a crash or a hang of a back end is a line in a table.

    Parameters
    ----------
    name
        What is probed.
    code
        Python code; its last line of output is the message.
    timeout_s
        Seconds after which the child is ended.
    """
    began = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        alive, message = False, f"no answer within {timeout_s:g} s"
    except OSError as error:
        alive, message = False, f"cannot start a child process: {error}"
    else:
        alive = done.returncode == 0
        said = (done.stdout if alive else done.stderr).strip().splitlines()
        message = said[-1] if said else ("" if alive else f"ended with code {done.returncode} and no message")
    return Probe(name, alive, name not in OPTIONAL, message[:200], round(time.monotonic() - began, 2))


def examine() -> dict[str, Any]:
    """Probe everything; the JSON document of ``doctor --json``.

    Returns
    -------
    dict
        ``fluxscale``, ``versions``, ``machine``, ``git``, ``backends`` (name, alive, required, message, seconds) and
        ``healthy``.
    """
    probes = [probe(name, code) for name, code in _PROBES.items()]
    return {
        "format": "fluxscale-doctor",
        "version": 1,
        "fluxscale": __version__,
        "versions": versions(),
        "machine": machine(),
        "git": git_state(),
        "backends": [asdict(found) for found in probes],
        "healthy": all(found.alive for found in probes if found.required),
    }
