"""What only DAG and fabric together show: legs without a plane, gangs that no ports can hold, times beyond 64 bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance
from fluxscale.units import MAX_TICKS, format_time

Ints = npt.NDArray[Any]


def check_fits(instance: Instance) -> None:
    """Refuse an instance that has no schedule for a plain reason, or whose times could overflow.

    Parameters
    ----------
    instance
        With columns that are right in themselves.

    Raises
    ------
    InputError
        Names the op, the endpoints and the reason.
    """
    _check_duration(instance)
    _check_planes(instance)
    _check_gangs(instance)
    _check_total(instance)


def _check_duration(instance: Instance) -> None:
    """No transfer alone may overflow (in Python integers: the columns could not hold it)."""
    by_bytes = np.flatnonzero(instance.op_fixed_ticks < 0)
    if not len(by_bytes):
        return
    op = int(by_bytes[np.argmax(instance.op_bytes[by_bytes])])
    size = int(instance.op_bytes[op])
    for p in range(instance.n_planes):
        rate, latency = int(instance.plane_rate_bps[p]), int(instance.plane_latency_ticks[p])
        longest = latency - (-size * 8 * 10**9 // (rate * instance.tick_ns))
        if size >= 2**60 or longest > MAX_TICKS:
            raise InputError(
                f"a transfer of {size} bytes at {rate} bit/s takes longer than 64 bits of ns can hold",
                field=f"op {instance.names.op(op)!r}",
                maybe="check the units of bytes and rate.",
            )


def _check_planes(instance: Instance) -> None:
    lonely = np.flatnonzero(np.diff(derive(instance).leg_plane_indptr) == 0)
    if not len(lonely):
        return
    tx, rx = int(instance.leg_tx[lonely[0]]), int(instance.leg_rx[lonely[0]])
    together = np.any((instance.attach[:, tx] >= 0) & (instance.attach[:, rx] >= 0))
    hint = "attach them to one OCS" if together else 'attach both to one plane (attachment = "all" joins the rails)'
    raise InputError(
        f"endpoints {instance.names.endpoint(tx)!r} and {instance.names.endpoint(rx)!r} are on no common OCS",
        field=f"op {_leg_op_name(instance, int(lonely[0]))!r}",
        maybe=f"{hint}, or relay the transfer in the workload.",
    )


def _leg_op_name(instance: Instance, leg: int) -> str:
    return instance.names.op(int(derive(instance).leg_op[leg]))


def _check_gangs(instance: Instance) -> None:
    """Two necessary conditions: legs with one plane share no port of it, and an endpoint has a plane for each peer."""
    derived = derive(instance)
    legs = np.flatnonzero(np.diff(instance.leg_indptr)[derived.leg_op] > 1)
    if not len(legs):
        return
    op, tx, rx = derived.leg_op[legs].astype(np.int64), instance.leg_tx[legs], instance.leg_rx[legs]
    first = derived.leg_plane_indptr[legs]
    plane = derived.leg_planes[first].astype(np.int64)
    single = derived.leg_plane_indptr[legs + 1] - first == 1
    duplex, each_alone = instance.plane_duplex, np.ones(instance.n_endpoints, dtype=np.int64)
    _refuse_crowd(instance, op[single], tx[single], rx[single], duplex[plane[single]], plane[single], each_alone)
    if duplex.any() == duplex.all():
        same_kind = np.full(len(legs), bool(duplex.all()))
        planes_of = np.count_nonzero(instance.attach >= 0, axis=0)
        _refuse_crowd(instance, op, tx, rx, same_kind, np.zeros_like(op), planes_of)


def _refuse_crowd(instance: Instance, op: Ints, tx: Ints, rx: Ints, duplex: Ints, plane: Ints, room: Ints) -> None:
    """Count the different circuits of each gang on each port and refuse more than there are planes for.

    ``room``: planes of each endpoint, with ``plane`` 0 throughout; or one each, where ``plane`` tells them apart.
    """
    if not len(op):
        return
    n_endpoints, n_ports = instance.n_endpoints, 2 * instance.n_endpoints
    low, high = np.minimum(tx, rx).astype(np.int64), np.maximum(tx, rx).astype(np.int64)
    out, into = np.where(duplex, low, tx), np.where(duplex, high, rx + n_endpoints)
    port, peer = np.concatenate([out, into]), np.concatenate([into, out])
    place = np.concatenate([plane, plane]) * n_ports + port
    op, duplex = np.concatenate([op, op]), np.concatenate([duplex, duplex])
    order = np.lexsort((peer, place, op))
    op, place, peer, duplex = op[order], place[order], peer[order], duplex[order]
    new_group = np.concatenate([[True], (np.diff(op) != 0) | (np.diff(place) != 0)])
    new_peer = new_group | np.concatenate([[True], np.diff(peer) != 0])
    starts = np.flatnonzero(new_group)
    circuits = np.add.reduceat(new_peer.astype(np.int64), starts)
    endpoint = place[starts] % n_ports % n_endpoints
    crowded = np.flatnonzero(circuits > room[endpoint])
    if not len(crowded):
        return
    at = int(crowded[0])
    name, group = instance.names.op(int(op[starts[at]])), instance.names.endpoint(int(endpoint[at]))
    if duplex[starts[at]]:
        reason = "a duplex port has one peer at a time, so a ring over three or more members needs two planes"
        maybe = "add a plane, use simplex ports, or steps that are pairings (halving-doubling, pairwise exchange)."
    else:
        reason = "a port is in one circuit at a time"
        maybe = "add a plane, or cut the gang into several that run one after another."
    raise InputError(
        f"the gang holds {circuits[at]} circuits at once at endpoint {group!r}: {reason}",
        field=f"op {name!r}",
        maybe=maybe,
    )


def _check_total(instance: Instance) -> None:
    """Everything one after another, with a change of circuits for each leg, must fit the clock."""
    longest = derive(instance).op_ticks.max(axis=1)
    work = (int((longest >> 32).sum()) << 32) + int((longest & 0xFFFFFFFF).sum())
    delay = int(instance.plane_delay_ticks.max(initial=0))
    total = work + (instance.n_legs + 1) * delay
    if total > MAX_TICKS:
        raise InputError(
            f"the ops one after another take {format_time(total * instance.tick_ns)}, more than 64 bits of ns can hold",
            field="fabric.reconfiguration_delay" if delay > work // (instance.n_legs + 1) else "ops",
            maybe="check the units of durations and delays.",
        )
