"""Matchings of two-way ports: of a general graph, so a port has one partner whichever way the data goes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.kernels.matching.blossom import blossom, exchange_heavier, heavy_first
from fluxscale.kernels.matching.blossom_weighted import blossom_weighted

Ints = npt.NDArray[Any]

EXACT_PORTS = 512
"""Up to that many ports a heaviest matching is exact: about 1.5 s where all ports want to talk to all."""

_ROUNDS = 50


def need_of_pairs(demand: Ints) -> Ints:
    """Time that each pair's circuit has to be up: both directions flow at once, so the larger of the two.

    Parameters
    ----------
    demand
        int64 ``[N, N]``: what each port sends to each other.

    Raises
    ------
    InputError
        If a port is to send to itself, or less than nothing.
    """
    demand = np.asarray(demand, dtype=np.int64)
    if demand.ndim != 2 or demand.shape[0] != demand.shape[1]:
        raise InputError("must be a square matrix", field="demand", value=demand.shape)
    if np.any(demand < 0):
        raise InputError("must not be negative", field="demand", value=int(demand.min()))
    own = np.flatnonzero(np.diagonal(demand))
    if len(own):
        raise InputError(
            f"port {own[0]} has demand for itself, and a two-way port has no circuit to itself",
            field="demand",
            value=int(demand[own[0], own[0]]),
        )
    return np.maximum(demand, demand.T)


def largest_duplex(edges: npt.NDArray[Any], first: Ints | None = None, partner: Ints | None = None) -> Ints:
    """Matching of maximum cardinality in a general graph.

    Of all of them one that covers the ports that come first: if any matching covers the first k, this one does.

    Parameters
    ----------
    edges
        bool ``[N, N]``, symmetric: ports that may be matched.
    first
        int64 ``[N]``: all ports, those that matter most first; None: by number.
    partner
        int32 ``[N]``: matching to begin from (some of its edges may stay), -1: none. Is not changed.

    Returns
    -------
    partner
        int32 ``[N]``: partner of each port, -1: none.
    """
    n = len(edges)
    mate = np.full(n, -1, dtype=np.int32) if partner is None else partner.astype(np.int32)
    order = np.arange(n, dtype=np.int64) if first is None else np.asarray(first, dtype=np.int64)
    blossom(np.ascontiguousarray(edges, dtype=np.bool_), order, mate)
    return mate


def heaviest_duplex(weights: Ints) -> Ints:
    """Matching of maximum weight in a general graph; pairs without weight stay apart.

    Exact up to ``EXACT_PORTS`` ports (Edmonds). Above that, edges are taken heaviest first, which is at least half of
    the maximum, and then two ports, and their former partners, are matched with each other while that is heavier: good,
    but not proven heaviest.

    Parameters
    ----------
    weights
        int64 ``[N, N]``, symmetric, not negative and below 2**59; the diagonal is not read.

    Returns
    -------
    partner
        int32 ``[N]``: partner of each port, -1: none.
    """
    weights = np.ascontiguousarray(weights, dtype=np.int64)
    if len(weights) > EXACT_PORTS:
        return heavy_duplex(weights)
    mate = np.full(len(weights), -1, dtype=np.int32)
    blossom_weighted(weights, mate)
    return mate


def heaviest_first(weights: Ints) -> tuple[Ints, Ints]:
    """Ends of all pairs with weight, heaviest first; ties in ascending order.

    Parameters
    ----------
    weights
        int64 ``[N, N]``, symmetric, not negative.
    """
    a, b = np.nonzero(np.triu(weights, 1))
    order = np.argsort(-weights[a, b], kind="stable")
    return a[order], b[order]


def heavy_duplex(weights: Ints, pairs: tuple[Ints, Ints] | None = None) -> Ints:
    """Matching of large weight, quickly: edges heaviest first, then exchanges; see :func:`heaviest_duplex`.

    Parameters
    ----------
    weights
        As there.
    pairs
        What ``heaviest_first`` says of them, if that is known.
    """
    weights = np.ascontiguousarray(weights, dtype=np.int64)
    a, b = heaviest_first(weights) if pairs is None else pairs
    mate = np.full(len(weights), -1, dtype=np.int32)
    heavy_first(a, b, mate)
    exchange_heavier(weights, a, b, _ROUNDS, mate)
    return mate
