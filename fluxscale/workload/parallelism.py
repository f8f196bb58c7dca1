"""From parallel degrees and the rank order to ranks, hosts, rails, pipeline hops and data-parallel rings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import UnsupportedError
from fluxscale.workload.spec import JobSpec

Ints = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Layout:
    """Place of every GPU. A GPU's number is its rank and its endpoint.

    Attributes
    ----------
    rank
        int32 ``[dp, pp, tp]``.
    gpus_per_host
        Host of rank r is ``r // gpus_per_host``, its rail ``r % gpus_per_host``.
    """

    rank: Ints
    gpus_per_host: int

    @property
    def gpus(self) -> int:
        """GPUs of the job."""
        return self.rank.size

    @property
    def rail(self) -> Ints:
        """int16 ``[gpus]``: local index of each endpoint in its host."""
        return (np.arange(self.gpus) % self.gpus_per_host).astype(np.int16)


@dataclass(frozen=True, eq=False)
class Hops:
    """Ways from every stage to a neighbour.

    Attributes
    ----------
    inside
        bool ``[dp, pp]``: both groups are in one host, so the bytes stay on NVLink.
    tx, rx
        int32 ``[dp, pp, tp]``: endpoints of each GPU's slice. Where the two GPUs are on different rails, the bytes
        leave by the NIC of the sender's host that is on the receiver's rail (PXN).
    forwarded
        Slices that do so.
    """

    inside: Ints
    tx: Ints
    rx: Ints
    forwarded: int


def layout(spec: JobSpec) -> Layout:
    """Number the ranks in the job's rank order (fastest axis first)."""
    p = spec.parallel
    degree = {"tp": p.tp, "cp": 1, "ep": 1, "dp": p.dp, "pp": p.pp}
    stride, step = {}, 1
    for axis in p.rank_order.split("-"):
        stride[axis] = step
        step *= degree[axis]
    d, s, t = np.ogrid[: p.dp, : p.pp, : p.tp]
    rank = (d * stride["dp"] + s * stride["pp"] + t * stride["tp"]).astype(np.int32)
    per_host = spec.hardware.gpus_per_host
    if per_host > 1:
        host = rank // per_host
        if (host != host[:, :, :1]).any():
            raise UnsupportedError(
                "some tensor-parallel groups lie over two hosts, which is not built yet",
                field="parallel.rank_order",
                value=p.rank_order,
                maybe=f"tp first, and a tp that divides {per_host}.",
            )
    return Layout(rank, per_host)


def hops(place: Layout, offset: int) -> Hops:
    """Ways from stage s to stage s + offset (round the end) in every replica."""
    source = place.rank
    target = np.roll(source, -offset, axis=1)
    inside = source[:, :, 0] // place.gpus_per_host == target[:, :, 0] // place.gpus_per_host
    tx = source // place.gpus_per_host * place.gpus_per_host + target % place.gpus_per_host
    forwarded = (tx != source) & ~inside[:, :, None]
    if (tx[~inside] >= place.gpus).any():
        raise UnsupportedError(
            "the last host is partly filled and lacks the rail that a neighbour stage needs",
            field="hardware.gpus_per_host",
            value=place.gpus_per_host,
            maybe="a GPU count that fills the hosts.",
        )
    return Hops(inside, tx, target, int(forwarded.sum()))


@dataclass(frozen=True, eq=False)
class Rings:
    """Data-parallel groups as members in a host and rings over hosts.

    Attributes
    ----------
    per_host
        Members of one group that share a host (their part of a collective runs on NVLink).
    members
        int32 ``[pp, rings, hosts]``: endpoints of each rail's ring; with one host there is nothing to send.
    """

    per_host: int
    members: Ints

    @property
    def hosts(self) -> int:
        """Hosts of a ring."""
        return self.members.shape[2]


def rings(place: Layout) -> Rings:
    """Split every data-parallel group into equal parts that share a host.

    Raises
    ------
    UnsupportedError
        If the members do not spread evenly, so that no set of rings on the rails would serve all of them.
    """
    dp, pp, tp = place.rank.shape
    ranks = np.sort(place.rank.transpose(1, 2, 0), axis=2)
    host, rail = ranks // place.gpus_per_host, ranks % place.gpus_per_host
    hosts = len(np.unique(host[0, 0]))
    even = dp % hosts == 0
    if even:
        host, rail = host.reshape(pp, tp, hosts, -1), rail.reshape(pp, tp, hosts, -1)
        even = bool(
            (host == host[..., :1]).all() and (rail == rail[:, :, :1]).all() and (np.diff(host[..., 0]) > 0).all()
        )
    if not even:
        raise UnsupportedError(
            "data-parallel groups do not spread evenly over hosts and rails, so no rings on the rails serve them",
            field="parallel.dp",
            value=dp,
            maybe="degrees or a rank_order that fill the hosts evenly.",
        )
    per_host = dp // hosts
    members = ranks.reshape(pp, tp, hosts, per_host).transpose(0, 1, 3, 2).reshape(pp, tp * per_host, hosts)
    return Rings(per_host, members)
