"""The critical-path bound: the longest chain of ops, with circuits for free."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.bounds.bound import Bound
from fluxscale.bounds.times import times
from fluxscale.instance.instance import Instance

Ints = npt.NDArray[Any]

PATH_LIMIT = 4096
"""Ops of a path that a proof lists; a longer path keeps its ends."""


def critical_path(instance: Instance) -> Bound:
    """Longest path over precedence and device order.

    Every op takes its least duration over the planes that it may use, and with a dark boundary starts no earlier than
    the delay that all its planes impose. Circuits are free otherwise, so no schedule is shorter.

    Parameters
    ----------
    instance
        The instance.

    Returns
    -------
    Bound
        Named ``critical-path``; its proof is the path's ops, first to last, each waiting for the one before it.

    Raises
    ------
    InputError
        If precedence and device order form a cycle.
    """
    known = times(instance)
    if not instance.n_ops:
        return Bound("critical-path", 0, {"path": [], "path_length": 0, "release_ticks": 0})
    ends = known.head + known.ticks
    last = int(ends.argmax())
    path = path_to(last, known.critical)
    proof = {**listed(path), "release_ticks": int(known.release[path[0]])}
    return Bound("critical-path", int(ends[last]), proof)


def path_to(op: int, critical: Ints) -> list[int]:
    """Ops of the longest path that ends with ``op``, first to last."""
    path = []
    while op >= 0:
        path.append(op)
        op = int(critical[op])
    return path[::-1]


def listed(path: list[int]) -> dict[str, Any]:
    """JSON-able form of a path: its ops, or of a long one both ends, and its length."""
    shown = path if len(path) <= PATH_LIMIT else path[: PATH_LIMIT // 2] + path[-PATH_LIMIT // 2 :]
    return {"path": np.asarray(shown).tolist(), "path_length": len(path)}
