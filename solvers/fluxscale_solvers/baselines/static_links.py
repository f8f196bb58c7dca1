"""Links of a static topology: circuits of several planes between two endpoints are one link, for each direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.instance import DARK, Instance
from fluxscale.instance.pairs import Pairs
from fluxscale.instance.work import Work
from fluxscale.kernels.relay.routes import count_hops

Ints = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Links:
    """Directed links in ascending order of (tail, head).

    Attributes
    ----------
    tail, head
        int32 ``[K]``.
    speed, planes, latency_ticks, open_ticks
        int64 ``[K]``: summed speed of a link's circuits (units a tick), how many there are, the largest latency, and
        when the last of them is up.
    out_indptr, out_links, in_indptr, in_links
        CSR of the links that leave an endpoint and of those that come in.
    circuit_plane, circuit_link
        Circuits by direction: the plane of each and the link that it belongs to.
    """

    tail: Ints
    head: Ints
    speed: Ints
    planes: Ints
    latency_ticks: Ints
    open_ticks: Ints
    out_indptr: Ints
    out_links: Ints
    in_indptr: Ints
    in_links: Ints
    circuit_plane: Ints
    circuit_link: Ints

    def hop_counts(self, asked: Pairs) -> Ints:
        """Fewest links from end to end of each pair, int64 ``[Q]``; -1 where there is no way."""
        counts = np.empty(asked.count, dtype=np.int64)
        count_hops(asked.tx, asked.rx, self.out_indptr, self.out_links, self.head, counts)
        return counts


def make_links(instance: Instance, amounts: Work, peer: Ints) -> Links:
    """Join the circuits of all planes.

    Parameters
    ----------
    instance
        The problem.
    amounts
        Its speeds.
    peer
        int32 ``[P, E]``: receiver of each endpoint's circuit on a plane, -1: none.
    """
    n_ends = instance.n_endpoints
    plane, tail = np.nonzero(peer >= 0)
    key = tail.astype(np.int64) * n_ends + peer[plane, tail]
    distinct, of_circuit = np.unique(key, return_inverse=True)
    of_circuit = of_circuit.ravel()
    n = len(distinct)
    speed, planes = np.zeros(n, dtype=np.int64), np.bincount(of_circuit, minlength=n).astype(np.int64)
    latency, opened = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    np.add.at(speed, of_circuit, amounts.plane_speed[plane])
    np.maximum.at(latency, of_circuit, instance.plane_latency_ticks[plane])
    if instance.boundary == DARK:
        np.maximum.at(opened, of_circuit, instance.plane_delay_ticks[plane])
    tail, head = distinct // max(n_ends, 1), distinct % max(n_ends, 1)
    by_head = np.argsort(head, kind="stable")
    return Links(
        tail.astype(np.int32),
        head.astype(np.int32),
        speed,
        planes,
        latency,
        opened,
        _pointer(tail, n_ends),
        np.arange(n, dtype=np.int64),
        _pointer(head, n_ends),
        by_head,
        plane.astype(np.int16),
        of_circuit,
    )


def _pointer(ends: Ints, n_ends: int) -> Ints:
    indptr = np.zeros(n_ends + 1, dtype=np.int64)
    np.cumsum(np.bincount(ends, minlength=n_ends), out=indptr[1:])
    return indptr
