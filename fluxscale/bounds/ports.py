"""Ports as machines: which legs must run on which port."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance
from fluxscale.kernels.port_load import members_by_port

Ints = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Ports:
    """Machines and the legs that each must carry.

    Attributes
    ----------
    indptr, member
        CSR of each port's legs: ``leg`` where it sends, ``~leg`` where it receives.
    delay
        int64 ``[ports]``: time between different circuits.
    machines
        int64 ``[ports]``: number of equal ports that share the legs.
    both_ways
        bool ``[ports]``: duplex port, whose two directions run at once.
    n_endpoints
        Number of endpoints.
    shared
        Whether a port stands for all planes of its endpoint.
    """

    indptr: Ints
    member: Ints
    delay: Ints
    machines: Ints
    both_ways: Ints
    n_endpoints: int
    shared: bool

    def describe(self, port: int) -> dict[str, Any]:
        """Plane (None: any), endpoint, side and number of ports, JSON-able."""
        plane, lane = divmod(port, 2 * self.n_endpoints)
        return {
            "plane": None if self.shared else plane,
            "endpoint": lane // 2,
            "side": "both" if self.both_ways[port] else ("tx", "rx")[lane % 2],
            "ports": int(self.machines[port]),
        }


def fixed_ports(instance: Instance) -> Ports:
    """Ports of every plane with the legs that can run on it only, numbered ``(plane * E + endpoint) * 2 + side``."""
    derived, n_endpoints = derive(instance), instance.n_endpoints
    first, planes = derived.leg_plane_indptr[:-1], derived.leg_planes
    plane = planes[np.minimum(first, len(planes) - 1)] if len(planes) else np.zeros(instance.n_legs, dtype=np.int16)
    single = np.diff(derived.leg_plane_indptr) == 1
    lane = plane.astype(np.int32) * np.int32(2 * n_endpoints)
    side = (~instance.plane_duplex).astype(np.int32)
    per_plane = 2 * n_endpoints
    return _ports(
        n_endpoints,
        np.where(single, lane + 2 * instance.leg_tx, -1),
        np.where(single, lane + 2 * instance.leg_rx + side[plane], -1) if len(side) else lane,
        delay=np.repeat(instance.plane_delay_ticks, per_plane),
        machines=np.ones(per_plane * instance.n_planes, dtype=np.int64),
        both_ways=np.repeat(instance.plane_duplex, per_plane),
        shared=False,
    )


def shared_ports(instance: Instance) -> Ports:
    """All planes of an endpoint as one port of each direction with as many machines, for the legs that may choose."""
    usable = np.diff(derive(instance).leg_plane_indptr) > 0
    planes = np.maximum(1, np.count_nonzero(instance.attach >= 0, axis=0)).astype(np.int64)
    n_ports = 2 * instance.n_endpoints
    return _ports(
        instance.n_endpoints,
        np.where(usable, 2 * instance.leg_tx, -1),
        np.where(usable, 2 * instance.leg_rx + 1, -1),
        delay=np.zeros(n_ports, dtype=np.int64),
        machines=np.repeat(planes, 2),
        both_ways=np.zeros(n_ports, dtype=np.bool_),
        shared=True,
    )


def _ports(
    n_endpoints: int, port_tx: Ints, port_rx: Ints, *, delay: Ints, machines: Ints, both_ways: Ints, shared: bool
) -> Ports:
    indptr, member = members_by_port(len(delay), port_tx.astype(np.int32), port_rx.astype(np.int32))
    return Ports(indptr, member, delay, machines, both_ways, n_endpoints, shared)
