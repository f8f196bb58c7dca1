"""Spectra for two-way ports: few weighted matchings, spread over parallel planes and evened out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.matchings.decomposition import Decomposition
from fluxscale.matchings.duplex_eclipse import eclipse_duplex
from fluxscale.matchings.duplex_matching import largest_duplex, need_of_pairs
from fluxscale.matchings.duplex_peeling import Peeling, check_delay, filled, matched_entries
from fluxscale.matchings.spectra import assign, equalise, makespan, shortened

Ints = npt.NDArray[Any]


def spectra_duplex(demand: Ints, delay: int, n_planes: int) -> list[Decomposition]:
    """Decompose, assign and equalise (Spectra, arXiv:2603.07373), for two-way ports.

    Carried over from :func:`fluxscale.matchings.spectra.spectra`, with its choices: two decompositions, one into few
    matchings that are held until all their entries are served, and Eclipse's; each shortened to what is needed,
    assigned to the planes by load and equalised by splitting; the one with the smaller makespan stays. Our choices for
    general graphs, where as many matchings as the busiest port has peers may not be enough: each of the few is one of
    maximum cardinality that covers the ports with most peers as far as possible, among the largest entries that allow
    this (so that entries of one size go together), and ports that are left over serve what else they have.

    Parameters
    ----------
    demand
        int64 ``[N, N]``: time that each port wants to send to each other.
    delay
        Reconfiguration delay of each plane in the same unit.
    n_planes
        Planes that work side by side.

    Returns
    -------
    list[Decomposition]
        One for each plane; together they cover the demand.
    """
    check_delay(delay)
    if n_planes < 1:
        raise InputError("must be at least 1", field="n_planes", value=n_planes)
    need = need_of_pairs(demand)
    ways = []
    for parts in (few_matchings(need), eclipse_duplex(need, delay)):
        parts = shortened(parts, need)
        planes = equalise(assign(parts.durations.tolist(), delay, n_planes), delay)
        ways.append((makespan(planes, delay), parts, planes))
    _, parts, planes = min(ways, key=lambda way: way[0])
    return [
        Decomposition(parts.matchings[list(plane)], np.array(list(plane.values()), dtype=np.int64)) for plane in planes
    ]


def few_matchings(demand: Ints) -> Decomposition:
    """Take a demand apart into about as many matchings as its busiest port has peers.

    Parameters
    ----------
    demand
        int64 ``[N, N]``: time that each port wants to send to each other.
    """
    peeling = Peeling(demand)
    while peeling.left.any():
        partner = _busiest_covered(peeling.left)
        peeling.take(partner, int(matched_entries(peeling.left, partner).max()))
    return peeling.decomposition()


def _busiest_covered(left: Ints) -> Ints:
    """Matching that covers the ports with most peers, of entries as large as possible, filled up with smaller ones."""
    peers = np.count_nonzero(left, axis=1)
    order = np.lexsort((-left.sum(axis=1), -peers))
    busiest = peers == peers.max()
    partner = largest_duplex(left > 0, order)
    wanted = np.count_nonzero(busiest & (partner >= 0))
    values = np.unique(left[left > 0])
    low, high = 0, len(values) - 1  # the largest entry for which it works lies in [low, high]
    while low < high:
        middle = (low + high + 1) // 2
        tried = largest_duplex(left >= values[middle], order)
        if np.count_nonzero(busiest & (tried >= 0)) >= wanted:
            low, partner = middle, tried
        else:
            high = middle - 1
    return filled(left, partner)
