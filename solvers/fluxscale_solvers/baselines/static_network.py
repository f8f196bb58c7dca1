"""A network that never changes: its circuits as links, and the way of each pair over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import UnsupportedError
from fluxscale.instance.instance import Instance
from fluxscale.instance.pairs import Pairs
from fluxscale.instance.work import Work
from fluxscale.kernels.relay.routes import find_routes
from fluxscale_solvers.baselines.static_links import Links, make_links
from fluxscale_solvers.baselines.static_patch import patch
from fluxscale_solvers.baselines.static_topology import Demand, aggregate, choose_circuits

Ints = npt.NDArray[Any]

MOST_HOPS = 500_000_000
"""Transfers times hops that are still simulated: a minute or two."""


@dataclass(frozen=True, eq=False)
class Network:
    """Circuits that never change and the way of each pair over them.

    Attributes
    ----------
    peer
        int32 ``[P, E]``: receiver of each endpoint's circuit on a plane, -1: none.
    links
        The circuits as links.
    hop_indptr, hops
        CSR of the links on the way of each pair.
    load_ticks
        int64 ``[K]``: send time of everything that goes over each link.
    """

    peer: Ints
    links: Links
    hop_indptr: Ints
    hops: Ints
    load_ticks: Ints

    @property
    def longest_way(self) -> int:
        """Most links on the way of any pair."""
        return int(np.diff(self.hop_indptr).max(initial=0))


def build_network(instance: Instance, asked: Pairs, amounts: Work, *, relays: bool = True) -> Network:
    """Choose circuits and ways.

    Parameters
    ----------
    instance
        The problem.
    asked, amounts
        Its pairs and amounts.
    relays
        Whether transfers may be forwarded.

    Raises
    ------
    UnsupportedError
        If a pair has no way, or all ways together have too many hops to simulate.
    """
    demand = aggregate(asked, amounts)
    ways = ("larger", "sum") if instance.plane_duplex.any() else ("larger",)
    found: list[Network] = []
    refused: UnsupportedError | None = None
    for directions in ways:
        try:
            found.append(_network(instance, asked, amounts, demand, directions, relays=relays))
        except UnsupportedError as error:
            refused = refused or error
    if not found:
        assert refused is not None
        raise refused
    return min(found, key=lambda network: (int(network.load_ticks.max(initial=0)), int(network.load_ticks.sum())))


def _network(
    instance: Instance, asked: Pairs, amounts: Work, demand: Demand, directions: str, *, relays: bool
) -> Network:
    peer = choose_circuits(instance, asked, amounts, demand, directions=directions)
    links = make_links(instance, amounts, peer)
    hop_count = links.hop_counts(asked)
    if not relays:
        _refuse(instance, asked, np.flatnonzero(hop_count != 1), relays=False)
    elif np.any(hop_count < 0):
        chosen, lonely = peer, np.flatnonzero(hop_count < 0)
        for everybody in (False, True):
            peer = patch(instance, asked, amounts, demand, chosen, lonely, everybody=everybody)
            links = make_links(instance, amounts, peer)
            hop_count = links.hop_counts(asked)
            if np.all(hop_count >= 0):
                break
        _refuse(instance, asked, np.flatnonzero(hop_count < 0), relays=True)
    total = int((np.bincount(asked.leg_pair, minlength=asked.count) * hop_count).sum())
    if total > MOST_HOPS:
        raise UnsupportedError(
            f"relays would forward {instance.n_legs} transfers over {total} hops in all, more than {MOST_HOPS}",
            field="solver static",
            maybe="give every endpoint more planes, or leave this scheduler out.",
        )
    hop_indptr = np.zeros(asked.count + 1, dtype=np.int64)
    np.cumsum(hop_count, out=hop_indptr[1:])
    hops, load = np.empty(int(hop_indptr[-1]), dtype=np.int32), np.zeros(len(links.tail), dtype=np.int64)
    find_routes(
        asked.tx, asked.rx, demand.units, demand.ticks, links.out_indptr, links.out_links, links.in_indptr,
        links.in_links, links.tail, links.head, links.speed, links.planes, hop_indptr, hops, load,
    )  # fmt: skip
    return Network(peer, links, hop_indptr, hops, load)


def _refuse(instance: Instance, asked: Pairs, without: Ints, *, relays: bool) -> None:
    """Name the first of the pairs that have no way, and what to do about it."""
    if not len(without):
        return
    tx, rx = (instance.names.endpoint(int(end[without[0]])) for end in (asked.tx, asked.rx))
    more = f" (and {len(without) - 1} more)" if len(without) > 1 else ""
    if not relays:
        raise UnsupportedError(
            f"static finds no circuit of its own for {tx!r} -> {rx!r}{more} that would be up all the time",
            field="solver.relays",
            value=False,
            maybe="use relays = true, or more planes.",
        )
    raise UnsupportedError(
        f"static finds no circuits that lead from {tx!r} to {rx!r}{more}, not even over relays: "
        "a two-way port has one partner",
        field="fabric",
        maybe='use two planes or more for both endpoints, or duplex = "simplex".',
    )
