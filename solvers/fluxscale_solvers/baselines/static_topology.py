"""Which circuits a network that never changes should have: heaviest matchings, plane by plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from ortools.graph.python import linear_sum_assignment

from fluxscale.errors import BackendError
from fluxscale.instance.instance import Instance
from fluxscale.instance.pairs import Pairs
from fluxscale.instance.work import Work
from fluxscale.matchings.duplex_matching import heaviest_duplex

Ints = npt.NDArray[Any]

_SAFE = 2**60
"""The assignment solver multiplies weights by its number of nodes."""


@dataclass(frozen=True, eq=False)
class Demand:
    """What each pair has to send in the whole iteration, int64 ``[Q]`` each.

    ``units`` by bytes and ``ticks`` in transfers of given duration.
    """

    units: Ints
    ticks: Ints

    def send_ticks(self, speed: int) -> Ints:
        """Time to send everything over one circuit, at least 1 where there is a pair at all."""
        return np.maximum(-(-self.units // speed) + self.ticks, 1)


def aggregate(asked: Pairs, amounts: Work) -> Demand:
    """Sum the amounts of all transfers of each pair.

    Parameters
    ----------
    asked
        The pairs of an instance.
    amounts
        Its amounts.
    """
    units, ticks = np.zeros(asked.count, dtype=np.int64), np.zeros(asked.count, dtype=np.int64)
    np.add.at(units, asked.leg_pair, np.where(amounts.leg_fixed, 0, amounts.leg_amount))
    np.add.at(ticks, asked.leg_pair, np.where(amounts.leg_fixed, amounts.leg_amount, 0))
    return Demand(units, ticks)


def choose_circuits(
    instance: Instance, asked: Pairs, amounts: Work, demand: Demand, *, directions: str = "larger"
) -> Ints:
    """Circuits that serve as much demand directly as possible.

    On each plane in turn, and on each of its OCSes, a matching of maximum weight over the send times of those pairs
    that no plane before serves. Ports that are left then double circuits in the same way, weighted with the demand over
    the circuits that the pair already has. On two-way planes with more than ``duplex_matching.EXACT_PORTS`` ports the
    matchings are good, not proven heaviest.

    Parameters
    ----------
    instance
        The problem.
    asked, amounts, demand
        Its pairs, speeds and aggregate demand.
    directions
        What the two directions of a two-way circuit weigh together: their "larger" one, which is the time that they
        need, or their "sum", which is what flows.

    Returns
    -------
    peer
        int32 ``[P, E]``: receiver of each endpoint's circuit on a plane, -1: none.
    """
    peer = np.full((instance.n_planes, instance.n_endpoints), -1, dtype=np.int32)
    served = np.zeros(asked.count, dtype=np.int64)
    for doubling in (False, True):
        for plane in range(instance.n_planes):
            ocs = instance.attach[plane, asked.tx]
            duplex = bool(instance.plane_duplex[plane])
            free = (ocs >= 0) & (ocs == instance.attach[plane, asked.rx])
            free &= (served > 0) if doubling else (served == 0)
            send, receive = _free_ports(peer[plane], duplex)
            free &= send[asked.tx] & receive[asked.rx]
            weight = demand.send_ticks(int(amounts.plane_speed[plane])) // (served + 1)
            for one in np.unique(ocs[free]):
                q = np.flatnonzero(free & (ocs == one))
                if duplex:
                    tx, rx = _match_duplex(asked.tx[q], asked.rx[q], weight[q], directions)
                else:
                    tx, rx = _match_simplex(asked.tx[q], asked.rx[q], weight[q])
                peer[plane, tx] = rx
            served += (peer[plane, asked.tx] == asked.rx) & free
    return peer


def _free_ports(plane_peer: Ints, duplex: bool) -> tuple[Ints, Ints]:
    """Whether each endpoint's port may send, and receive, over another circuit of a plane."""
    send = plane_peer < 0
    if duplex:
        return send, send
    receive = np.ones(len(plane_peer), dtype=bool)
    receive[plane_peer[plane_peer >= 0]] = False
    return send, receive


def _match_duplex(tx: Ints, rx: Ints, weight: Ints, directions: str) -> tuple[Ints, Ints]:
    """Both directions of each circuit of a heavy matching."""
    members, at = np.unique(np.concatenate([tx, rx]), return_inverse=True)
    at = at.ravel()
    weights = np.zeros((len(members), len(members)), dtype=np.int64)
    np.add.at(weights, (at[: len(tx)], at[len(tx) :]), weight)
    both = weights + weights.T if directions == "sum" else np.maximum(weights, weights.T)
    partner = heaviest_duplex(both)
    matched = np.flatnonzero(partner >= 0)
    return members[matched], members[partner[matched]]


def _match_simplex(tx: Ints, rx: Ints, weight: Ints) -> tuple[Ints, Ints]:
    """Sender and receiver of each circuit of a matching of maximum weight.

    As an assignment in which every sender may take a receiver of its own that nobody else wants: two copies of the
    pairs, the second turned round and without weight, so that the matched receivers of the one find a partner too.
    """
    senders, left = np.unique(tx, return_inverse=True)
    receivers, right = np.unique(rx, return_inverse=True)
    left, right = left.ravel(), right.ravel()
    n, m = len(senders), len(receivers)
    scale = max(1, int(weight.max()) * 4 * (n + m) // _SAFE)
    solver = linear_sum_assignment.SimpleLinearSumAssignment()
    own, others = np.arange(n), np.arange(m)
    arcs: list[Any] = [  # tails, heads, costs
        np.concatenate([left, own, n + others, n + right]).astype(np.int32),
        np.concatenate([right, m + own, others, m + left]).astype(np.int32),
        np.concatenate([-(weight // scale), np.zeros(n + m + len(tx), dtype=np.int64)]),
    ]
    solver.add_arcs_with_cost(*arcs)
    status = solver.solve()
    if status != solver.OPTIMAL:
        raise BackendError(f"the assignment solver returned {status} for a matching of {n} ports")
    mates = np.array([solver.right_mate(i) for i in range(n)])
    matched = np.flatnonzero(mates < m)
    return senders[matched], receivers[mates[matched]]
