"""Demand between two-way ports taken apart into matchings, after the methods that were published for one-way ports.

A two-way port has one partner, whichever way the data goes, so matchings are of a general graph, and a circuit serves
both directions at once: a pair needs the larger of its two demands. Birkhoff's theorem does not hold there: three ports
that all want each other can never all be busy, so the largest load of a port is a bound that may be out of reach, and
no stuffing helps. What stands for "a perfect matching" below is a matching that covers the most heavily loaded ports
as far as any matching can.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.matchings.decomposition import Decomposition
from fluxscale.matchings.duplex_eclipse import eclipse_duplex
from fluxscale.matchings.duplex_matching import largest_duplex
from fluxscale.matchings.duplex_peeling import Peeling, check_delay, filled, matched_entries
from fluxscale.matchings.duplex_spectra import spectra_duplex

__all__ = ["bvn_duplex", "eclipse_duplex", "solstice_duplex", "spectra_duplex"]

Ints = npt.NDArray[Any]


def _by_load(left: Ints) -> Ints:
    return np.argsort(-left.sum(axis=1), kind="stable")


def bvn_duplex(demand: Ints) -> Decomposition:
    """Peel matchings as in Birkhoff's proof: each held until the first of its pairs is served.

    Birkhoff (Univ. Nac. Tucuman Rev. A 5, 1946) and von Neumann (1953), used for switches by Chang et al. (INFOCOM
    2000). Carried over: the duration is the smallest matched entry, so each matching finishes a pair. Our choice: of
    the matchings of maximum cardinality one that covers the ports of largest load, then the next ones, as far as that
    is possible.

    Parameters
    ----------
    demand
        int64 ``[N, N]``: time that each port wants to send to each other.
    """
    peeling = Peeling(demand)
    partner: Ints | None = None
    while peeling.left.any():
        if partner is not None:  # what is served has left the matching; the rest is where the search begins
            ports = np.flatnonzero(partner >= 0)
            partner = partner.copy()
            partner[ports[peeling.left[ports, partner[ports]] == 0]] = -1
        partner = largest_duplex(peeling.left > 0, _by_load(peeling.left), partner)
        peeling.take(partner, int(matched_entries(peeling.left, partner).min()))
    return peeling.decomposition()


def solstice_duplex(demand: Ints, delay: int) -> Decomposition:
    """Take long matchings first: those among the entries of at least a threshold that is halved when there are none.

    Solstice (Liu et al., CoNEXT 2015) stuffs the matrix to equal line sums and takes perfect matchings among the
    entries of at least the threshold, each held for its smallest entry. Carried over: threshold and duration. Our
    choices: there is no stuffing, so a matching of maximum cardinality is taken when, among the ports whose load is
    within one threshold of the largest, it covers as many as any matching of all entries can (if such a port were left
    out, the largest load would not fall with the time spent); ports that are left over serve what else they have; and
    since there is no packet network for the rest, a matching is held until all its entries of at most the delay are
    served, which costs no more than to set their circuits again.

    Parameters
    ----------
    demand
        int64 ``[N, N]``: time that each port wants to send to each other.
    delay
        Reconfiguration delay in the same unit.
    """
    check_delay(delay)
    peeling = Peeling(demand)
    threshold = 1 << max(int(peeling.left.max(initial=0)).bit_length() - 1, 0)
    while peeling.left.any():
        left = peeling.left
        order, load = _by_load(left), left.sum(axis=1)
        reachable = largest_duplex(left > 0, order)
        while True:
            critical = load > load.max() - threshold
            partner = largest_duplex(left >= threshold, order)
            wanted = np.count_nonzero(critical & (reachable >= 0))
            if threshold == 1 or (np.any(partner >= 0) and np.count_nonzero(critical & (partner >= 0)) >= wanted):
                break
            threshold //= 2
        matched = matched_entries(left, partner)
        duration = max(int(matched.min()), int(matched[matched <= delay].max(initial=0)))
        peeling.take(filled(left, partner), duration)
    return peeling.decomposition()
