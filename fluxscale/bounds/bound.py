"""Bound: a proven least iteration time, with what is needed to recompute it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Bound:
    """A lower bound on the iteration time (cyclic boundary: on the period).

    Attributes
    ----------
    name
        Which argument proves it: ``critical-path``, ``port-load`` or ``setup-path``.
    ticks
        Its value.
    proof
        JSON-able evidence: the ops of the path, or the port and the subset of its legs.
    """

    name: str
    ticks: int
    proof: dict[str, Any] = field(default_factory=dict)
