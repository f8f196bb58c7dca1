"""Joining what a static topology leaves apart: exchanging the ends of two circuits, as Karp's patching joins cycles.

Karp (SIAM J. Comput. 8, 1979) makes a tour out of an assignment by exchanging the receivers of two circuits in
different cycles, cheapest first. Here the cost is the demand that loses its circuit less the demand that gains one;
there may be several planes, and only what has to talk to each other is joined. For two-way ports the exchange is ours:
two circuits {a, b} and {c, d} of different parts become {a, c} and {b, d}, or {a, d} and {b, c}, if at least one of the
parts hangs together without its circuit; ports that are still free take part as circuits without demand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import BackendError
from fluxscale.instance.instance import Instance
from fluxscale.instance.pairs import Pairs
from fluxscale.instance.work import Work
from fluxscale_solvers.baselines.static_graph import bridges, components
from fluxscale_solvers.baselines.static_slots import Exchange, Slots, best_exchanges, duplex_slots, simplex_slots
from fluxscale_solvers.baselines.static_topology import Demand

Ints = npt.NDArray[Any]


def patch(
    instance: Instance,
    asked: Pairs,
    amounts: Work,
    demand: Demand,
    peer: Ints,
    lonely: Ints,
    *,
    everybody: bool = False,
) -> Ints:
    """Move circuits until the two ends of every pair hang together, or nothing more can be joined.

    On one-way planes this always succeeds: open chains of circuits are closed to cycles first, then any two cycles on
    an OCS can be joined, and cycles lead everywhere.

    Parameters
    ----------
    instance
        The problem.
    asked, amounts, demand
        Its pairs, speeds and aggregate demand.
    peer
        int32 ``[P, E]``: receiver of each endpoint's circuit on a plane, -1: none; is not changed.
    lonely
        Numbers of the pairs that have no way from end to end.
    everybody
        Whether endpoints that these pairs have nothing to do with may relay for them too.
    """
    n_ends = instance.n_endpoints
    group = components(n_ends, asked.tx, asked.rx)
    concerned = np.isin(group, group[asked.tx[lonely]])
    if everybody:
        group, concerned = np.zeros_like(group), np.ones_like(concerned)
    peer = peer.copy()
    for plane in np.flatnonzero(~instance.plane_duplex):
        close_chains(peer[plane], np.flatnonzero(concerned & (instance.attach[plane] >= 0)))
    for _ in range(n_ends + 1):
        plane, tail = np.nonzero((peer >= 0) & concerned)
        part = components(n_ends, tail, peer[plane, tail])
        if np.all(part[asked.tx[lonely]] == part[asked.rx[lonely]]):
            break
        found = _exchanges(instance, asked, amounts, demand, peer, concerned, group, part)
        if not found:
            break
        used: set[int] = set()
        # A part takes part in one exchange a round: what was found out about it holds no longer after that.
        for exchange in sorted(found, key=lambda e: (e.cost, e.plane, e.tails, e.heads)):
            if used.isdisjoint(exchange.parts):
                used.update(exchange.parts)
                exchange.carry_out(peer[exchange.plane], duplex=bool(instance.plane_duplex[exchange.plane]))
    else:
        raise BackendError("patching a static topology does not come to an end")
    peer[peer == np.arange(n_ends)] = -1
    return peer


def close_chains(plane_peer: Ints, members: Ints) -> None:
    """Make the circuits of some endpoints a permutation: the last of each chain sends to its first, or to itself."""
    before = {int(plane_peer[end]): end for end in members.tolist() if plane_peer[end] >= 0}
    for end in members.tolist():
        if plane_peer[end] >= 0:
            continue
        first = end
        while first in before:
            first = before[first]
        plane_peer[end] = first


def _exchanges(
    instance: Instance,
    asked: Pairs,
    amounts: Work,
    demand: Demand,
    peer: Ints,
    concerned: Ints,
    group: Ints,
    part: Ints,
) -> list[Exchange]:
    """Cheapest exchange of each part on each OCS with another part that belongs together with it."""
    n_ends = instance.n_endpoints
    circuits = np.zeros(asked.count, dtype=np.int64)
    for plane in range(instance.n_planes):
        circuits += peer[plane, asked.tx] == asked.rx
    duplex = instance.plane_duplex
    weak = bridges(n_ends, peer, duplex) if duplex.any() else np.zeros(peer.shape, dtype=bool)
    found: list[Exchange] = []
    for plane in range(instance.n_planes):
        attached = instance.attach[plane]
        ticks = demand.send_ticks(int(amounts.plane_speed[plane]))
        for ocs in np.unique(attached[concerned & (attached >= 0)]):
            members = np.flatnonzero(concerned & (attached == ocs))
            at = np.full(n_ends, -1)
            at[members] = np.arange(len(members))
            inside = np.flatnonzero((at[asked.tx] >= 0) & (at[asked.rx] >= 0))
            worth = np.zeros((2, len(members), len(members)), dtype=np.int64)  # of a lost circuit, of a new one
            for kind, here in enumerate((inside[circuits[inside] == 1], inside[circuits[inside] == 0])):
                worth[kind, at[asked.tx[here]], at[asked.rx[here]]] = ticks[here]
            slots: Slots
            if duplex[plane]:
                worth += worth.transpose(0, 2, 1)
                slots = duplex_slots(peer[plane], members, part, weak[plane])
            else:
                slots = simplex_slots(peer[plane], members)
            found += best_exchanges(int(plane), slots, at, worth, group, part)
    return found
