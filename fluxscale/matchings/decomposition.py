"""Decomposition: a demand matrix as a list of matchings, each to be held for some time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Matchings with durations, in the order in which they are played.

    Attributes
    ----------
    matchings
        int32 ``[M, N]``: receiver of each sender in each matching, -1: none.
    durations
        int64 ``[M]``: how long each is held, in the unit of the demand.
    """

    matchings: Ints
    durations: Ints

    @property
    def count(self) -> int:
        """Number of matchings."""
        return len(self.durations)

    def makespan(self, delay: int) -> int:
        """Time to play all of them once, each after a reconfiguration delay."""
        return int(self.durations.sum()) + delay * self.count

    def service(self, n: int) -> Ints:
        """Time that each pair's circuit is up, int64 ``[n, n]``."""
        up = np.zeros((n, n), dtype=np.int64)
        at, tx = np.nonzero(self.matchings >= 0)
        np.add.at(up, (tx, self.matchings[at, tx]), self.durations[at])
        return up

    def covers(self, demand: Ints) -> bool:
        """Whether every pair's circuit is up for at least its demand."""
        return bool(np.all(self.service(len(demand)) >= demand))
