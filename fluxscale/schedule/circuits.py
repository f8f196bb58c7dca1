"""From what a solver decides (starts and planes) to a full schedule: circuit rows and iteration time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.derived import derive
from fluxscale.instance.instance import CYCLIC, Instance
from fluxscale.kernels.circuits import all_stop_rows, per_port_rows
from fluxscale.schedule.schedule import Schedule

Ints = npt.NDArray[Any]


def op_ends(instance: Instance, op_start_ticks: Ints, leg_plane: Ints) -> Ints:
    """End of every op, int64 ``[n]``: a gang lasts as long as its slowest leg.

    Parameters
    ----------
    instance
        The problem.
    op_start_ticks
        int64 ``[n]``.
    leg_plane
        int16 ``[L]``.
    """
    derived = derive(instance)
    ticks = derived.op_ticks
    if ticks.shape[1] == 1:
        return op_start_ticks + ticks[:, 0]
    duration = ticks[:, 0].copy()
    with_legs = np.flatnonzero(np.diff(instance.leg_indptr))
    if len(with_legs):
        per_leg = ticks[derived.leg_op, derived.plane_class[leg_plane]]
        duration[with_legs] = np.maximum.reduceat(per_leg, instance.leg_indptr[with_legs])
    return op_start_ticks + duration


def stopping_planes(instance: Instance) -> Ints:
    """Which planes stop as a whole, bool ``[P]``.

    Without a delay there is no dark time to stop for, so those change port by port.
    """
    return instance.plane_all_stop & (instance.plane_delay_ticks > 0)


def make_schedule(instance: Instance, op_start_ticks: Ints, leg_plane: Ints) -> Schedule:
    """Derive the circuits that carry a plan, and its iteration time.

    Nothing is checked here: an invalid plan gives circuits that the checker refuses.

    Parameters
    ----------
    instance
        The problem.
    op_start_ticks
        int64 ``[n]``.
    leg_plane
        int16 ``[L]``.
    """
    derived = derive(instance)
    op_start_ticks = np.asarray(op_start_ticks, dtype=np.int64)
    leg_plane = np.asarray(leg_plane, dtype=np.int16)
    ends = op_ends(instance, op_start_ticks, leg_plane)
    leg_start, leg_end = op_start_ticks[derived.leg_op], ends[derived.leg_op]
    n_legs = instance.n_legs
    rows = (
        np.empty(n_legs, dtype=np.int16),
        np.empty(n_legs, dtype=np.int32),
        np.empty(n_legs, dtype=np.int32),
        np.empty(n_legs, dtype=np.int64),
        np.empty(n_legs, dtype=np.int64),
    )
    order = np.argsort(leg_start, kind="stable")
    delay = instance.plane_delay_ticks
    all_stop = stopping_planes(instance)
    n_rows = per_port_rows(
        order, leg_start, leg_end, leg_plane, instance.leg_tx, instance.leg_rx, instance.n_endpoints, delay,
        instance.plane_duplex,
        all_stop, instance.boundary, *rows,
    )  # fmt: skip
    for plane in np.flatnonzero(all_stop):
        n_rows = all_stop_rows(
            order[leg_plane[order] == plane], leg_start, leg_end, instance.leg_tx, instance.leg_rx, plane,
            instance.n_endpoints,
            delay[plane], bool(instance.plane_duplex[plane]), instance.boundary, *rows, n_rows,
        )  # fmt: skip
    plane, tx, rx, up_from, up_to = (column[:n_rows] for column in rows)
    makespan = int(ends.max(initial=0))
    if instance.boundary == CYCLIC and n_rows:
        up_from = _just_in_time_openings(instance, plane, up_from, leg_plane, leg_start)
        makespan = max(makespan, _wrap_period(instance, plane, tx, rx, up_from, up_to, leg_plane, leg_start, leg_end))
    return Schedule(instance.sha256, op_start_ticks, leg_plane, plane, tx, rx, up_from, up_to, makespan)


def _just_in_time_openings(
    instance: Instance, row_plane: Ints, row_from: Ints, leg_plane: Ints, leg_start: Ints
) -> Ints:
    """Open a cyclic all-stop plane's first epoch only when its first leg starts.

    The wrap may have to change the plane before.
    """
    row_from = row_from.copy()
    for plane in np.flatnonzero(stopping_planes(instance)):
        mine = row_plane == plane
        if mine.any():
            row_from[mine & (row_from == 0)] = leg_start[leg_plane == plane].min()
    return row_from


def _wrap_period(
    instance: Instance,
    plane: Ints,
    tx: Ints,
    rx: Ints,
    up_from: Ints,
    up_to: Ints,
    leg_plane: Ints,
    leg_start: Ints,
    leg_end: Ints,
) -> int:
    """Least period that leaves every port its dark time between the last circuit of one iteration.

    The first of the next.
    """
    n = instance.n_endpoints
    duplex = instance.plane_duplex[plane]
    port_a = (plane.astype(np.int64) * n + tx) * 2
    port_b = (plane.astype(np.int64) * n + rx) * 2 + np.where(duplex, 0, 1)
    ports = np.concatenate([port_a, port_b])
    rows = np.tile(np.arange(len(tx)), 2)
    order = np.lexsort((up_from[rows], ports))
    ports, rows = ports[order], rows[order]
    new = np.flatnonzero(np.r_[True, ports[1:] != ports[:-1]])
    first, last = rows[new], rows[np.r_[new[1:], len(rows)] - 1]
    all_stop = stopping_planes(instance)
    per_port = ~all_stop[plane[first]]
    differ = ((tx[first] != tx[last]) | (rx[first] != rx[last])) & per_port
    need = (up_to[last] + instance.plane_delay_ticks[plane[first]] - up_from[first])[differ]
    period = int(need.max(initial=0))
    for p in np.flatnonzero(all_stop):
        mine = np.flatnonzero(plane == p)
        if not len(mine):
            continue
        head = mine[up_from[mine] == up_from[mine].min()]
        tail = mine[up_from[mine] == up_from[mine].max()]
        if not _is_matching(tx[np.r_[head, tail]], rx[np.r_[head, tail]], bool(instance.plane_duplex[p])):
            legs = leg_plane == p
            wrap = int(leg_end[legs].max()) + int(instance.plane_delay_ticks[p]) - int(leg_start[legs].min())
            period = max(period, wrap)
    return period


def _is_matching(tx: Ints, rx: Ints, duplex: bool) -> bool:
    """Whether a set of circuits (repeats allowed) uses each port for one circuit only."""
    pairs = np.unique(np.stack([tx, rx], axis=1), axis=0)
    if duplex:
        return len(np.unique(pairs)) == 2 * len(pairs)
    return len(np.unique(pairs[:, 0])) == len(pairs) and len(np.unique(pairs[:, 1])) == len(pairs)
