"""Eclipse for two-way ports: always the matching and duration that serve most for the time they take."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.matchings.decomposition import Decomposition
from fluxscale.matchings.duplex_matching import heaviest_duplex, heaviest_first, heavy_duplex
from fluxscale.matchings.duplex_peeling import Peeling, check_delay, matched_entries

Ints = npt.NDArray[Any]

_MOST_LENGTHS = 48
"""Lengths of a matching that Eclipse looks at in one step."""


def eclipse_duplex(demand: Ints, delay: int, window: int | None = None) -> Decomposition:
    """Take the matching and duration that serve most demand for each unit of time they cost, again and again.

    Eclipse (Bojja Venkatakrishnan et al., SIGMETRICS 2016): maximise the weight of a matching over min(duration, what
    is left), divided by duration + delay; greedy on a submodular function, so what a window serves is within a constant
    factor of the best. Carried over: the greedy, with matchings of a general graph in the place of assignments. Our
    choices, with which the factor is not proven: durations are entries that are left (all of them, or evenly spaced
    ones if there are more than 48), sized up with a quick heavy matching; only the best one gets an exact matching. (An
    exact one for each of the best three, in six cases: up to twice the time; up to 0.9 % shorter in four, 2.8 % longer
    in one.) A duration that ends before the first of its pairs is served is drawn out to that moment, which only raises
    the ratio.

    Parameters
    ----------
    demand
        int64 ``[N, N]``: time that each port wants to send to each other.
    delay
        Reconfiguration delay in the same unit.
    window
        Time that all matchings with their delays may take; None: until everything is served.
    """
    check_delay(delay)
    if window is not None and window < 0:
        raise InputError("must not be negative", field="window", value=window)
    peeling = Peeling(demand)
    spare = window
    while peeling.left.any() and (spare is None or spare > delay):
        most = int(peeling.left.max()) if spare is None else spare - delay
        partner, duration = _densest(peeling.left, delay, most)
        peeling.take(partner, duration)
        if spare is not None:
            spare -= duration + delay
    return peeling.decomposition()


def _densest(left: Ints, delay: int, most: int) -> tuple[Ints, int]:
    """Matching and duration, at most ``most``, with the largest served demand over the time they take."""
    lengths = np.unique(np.minimum(left[left > 0], most))
    if len(lengths) > _MOST_LENGTHS:
        lengths = lengths[np.linspace(0, len(lengths) - 1, _MOST_LENGTHS).round().astype(np.int64)]
    pairs = heaviest_first(left)  # capping keeps the order
    best_served, best = 0, 1
    for length in lengths.tolist():
        capped = np.minimum(left, length)
        served = int(matched_entries(capped, heavy_duplex(capped, pairs)).sum())
        if served * (best + delay) >= best_served * (length + delay):
            best_served, best = served, length
    partner = heaviest_duplex(np.minimum(left, best))
    return partner, min(most, max(best, int(matched_entries(left, partner).min())))
