"""Taking matchings of two-way ports off a demand, one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.matchings.decomposition import Decomposition
from fluxscale.matchings.duplex_matching import largest_duplex, need_of_pairs

Ints = npt.NDArray[Any]


class Peeling:
    """What is left of a demand while matchings are taken off it.

    Parameters
    ----------
    demand
        int64 ``[N, N]``: time that each port wants to send to each other.
    """

    def __init__(self, demand: Ints) -> None:
        self.left = need_of_pairs(demand)
        self.matchings: list[Ints] = []
        self.durations: list[int] = []

    def take(self, partner: Ints, duration: int) -> None:
        """Hold a matching for some time.

        Parameters
        ----------
        partner
            int32 ``[N]``: partner of each port, -1: none.
        duration
            How long.
        """
        ports = np.flatnonzero(partner >= 0)
        self.left[ports, partner[ports]] = np.maximum(self.left[ports, partner[ports]] - duration, 0)
        self.matchings.append(partner)
        self.durations.append(duration)

    def decomposition(self) -> Decomposition:
        """All matchings so far."""
        n = len(self.left)
        rows = np.array(self.matchings, dtype=np.int32).reshape(len(self.matchings), n)
        return Decomposition(rows, np.array(self.durations, dtype=np.int64))


def matched_entries(left: Ints, partner: Ints) -> Ints:
    """What is left of the pairs of a matching, each pair once.

    Parameters
    ----------
    left
        int64 ``[N, N]``, symmetric.
    partner
        int32 ``[N]``: partner of each port, -1: none.
    """
    ports = np.flatnonzero(partner > np.arange(len(partner)))
    return left[ports, partner[ports]]


def filled(left: Ints, partner: Ints) -> Ints:
    """Match ports that are left over with each other where they have something to send.

    Parameters
    ----------
    left
        int64 ``[N, N]``, symmetric.
    partner
        int32 ``[N]``: a matching, which stays.
    """
    free = np.flatnonzero(partner < 0)
    among = largest_duplex(left[np.ix_(free, free)] > 0)
    fuller = partner.copy()
    fuller[free[among >= 0]] = free[among[among >= 0]]
    return fuller


def check_delay(delay: int) -> None:
    """Refuse a delay that cannot be.

    Raises
    ------
    InputError
        If it is negative.
    """
    if delay < 0:
        raise InputError("must not be negative", field="delay", value=delay)
