"""What waits for what when a schedule is executed: legs and circuits chained in planned order.

A *group* is what becomes ready at one moment: on a per-port plane one circuit (rows of the same circuit that follow
each other on both ports are one), on an all-stop plane one epoch. A group opens when the groups before it on its ports
have ended, plus the dark time. A leg waits for its group, or for the leg before it on the same circuit in the same
direction.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fluxscale._numba import kernel

Ints = npt.NDArray[Any]
DARK = 0


class Fabric(NamedTuple):
    """What the replay kernels read of the fabric; columns as in ``Instance``."""

    n_endpoints: int
    delay: Ints
    all_stop: Ints
    duplex: Ints
    boundary: int


class Rows(NamedTuple):
    """Circuit rows, and ``order``: row numbers by ``up_from``."""

    order: Ints
    plane: Ints
    tx: Ints
    rx: Ints
    up_from: Ints
    up_to: Ints


class Legs(NamedTuple):
    """Legs with their op, plane, ends and times, and ``order``: leg numbers by planned start."""

    order: Ints
    op: Ints
    plane: Ints
    tx: Ints
    rx: Ints
    start: Ints
    end: Ints


class Links(NamedTuple):
    """The chains. -1: none.

    Legs have a group, the next leg on the same circuit and direction, and a sibling: the next in the list of legs
    that wait for the opening of their group. Groups have the head of that list, the numbers of legs and of groups
    before them, an earliest opening, and up to two groups that follow, each after a lag.
    """

    leg_group: Ints
    leg_next: Ints
    leg_sibling: Ints
    group_head: Ints
    group_left: Ints
    group_pending: Ints
    group_up: Ints
    group_next: Ints
    group_lag: Ints


def new_links(n_legs: int, n_rows: int) -> Links:
    """Allocate links; there are at most as many groups as rows."""
    return Links(
        leg_group=np.full(n_legs, -1, dtype=np.int32),
        leg_next=np.full(n_legs, -1, dtype=np.int32),
        leg_sibling=np.full(n_legs, -1, dtype=np.int32),
        group_head=np.full(n_rows, -1, dtype=np.int32),
        group_left=np.zeros(n_rows, dtype=np.int32),
        group_pending=np.zeros(n_rows, dtype=np.int32),
        group_up=np.zeros(n_rows, dtype=np.int64),
        group_next=np.full((n_rows, 2), -1, dtype=np.int32),
        group_lag=np.zeros((n_rows, 2), dtype=np.int64),
    )


@kernel
def ports_of(fabric, plane, tx, rx):  # numpydoc ignore=PR01
    """Ports of a circuit's two ends; on a duplex plane an endpoint has one."""
    base = np.int64(plane) * fabric.n_endpoints
    return (base + tx) * 2, (base + rx) * 2 + (0 if fabric.duplex[plane] else 1)


@kernel
def _same_circuit(tx, rx, other_tx, other_rx, duplex):
    return (tx == other_tx and rx == other_rx) or (duplex and tx == other_rx and rx == other_tx)


@kernel
def link(fabric, rows, legs, links, plane_setups):  # numpydoc ignore=PR01
    """Fill ``links``, and count the set-ups of each plane; one pass over rows and legs in planned order.

    Returns the number of groups and a leg that no circuit carries (-1: none).
    """
    n_rows, n_planes = len(rows.order), len(fabric.delay)
    row_group = np.full(n_rows, -1, dtype=np.int32)
    row_before = np.full((n_rows, 2), -1, dtype=np.int32)
    row_at = np.full(n_planes * fabric.n_endpoints * 2, -1, dtype=np.int32)
    last_leg = np.full(n_planes * fabric.n_endpoints, -1, dtype=np.int32)
    epoch = np.full(n_planes, -1, dtype=np.int32)
    epoch_from = np.full(n_planes, -1, dtype=np.int64)
    n_groups = 0
    at = 0
    for leg in legs.order:
        while at < n_rows and rows.up_from[rows.order[at]] <= legs.start[leg]:
            n_groups = _admit(
                fabric,
                rows,
                at,
                links,
                row_group,
                row_before,
                row_at,
                epoch,
                epoch_from,
                n_groups,
                plane_setups,
            )
            at += 1
        plane = legs.plane[leg]
        port, _ = ports_of(fabric, plane, legs.tx[leg], legs.rx[leg])
        row = _carrier(fabric, rows, legs, leg, port, row_at, row_before)
        if row < 0:
            return n_groups, leg
        group = row_group[row]
        links.leg_group[leg] = group
        links.group_left[group] += 1
        lane = plane * fabric.n_endpoints + legs.tx[leg]
        before = last_leg[lane]
        if before >= 0 and links.leg_group[before] == group:
            links.leg_next[before] = leg
        else:
            links.leg_sibling[leg], links.group_head[group] = links.group_head[group], leg
        last_leg[lane] = leg
    for i in range(at, n_rows):
        n_groups = _admit(
            fabric, rows, i, links, row_group, row_before, row_at, epoch, epoch_from, n_groups, plane_setups
        )
    return n_groups, -1


@kernel
def _carrier(fabric, rows, legs, leg, port, row_at, row_before):
    """Row that carries a leg: the one in place, unless circuits follow each other in the same tick."""
    duplex = fabric.duplex[legs.plane[leg]]
    row = row_at[port]
    while row >= 0:
        if rows.up_to[row] >= legs.end[leg] and _same_circuit(
            rows.tx[row], rows.rx[row], legs.tx[leg], legs.rx[leg], duplex
        ):
            return row
        row_port, _ = ports_of(fabric, rows.plane[row], rows.tx[row], rows.rx[row])
        row = row_before[row, 0 if row_port == port else 1]
    return row


@kernel
def _is_change(fabric, rows, at, row_group, row_at, current):
    """Whether an all-stop plane changes when the row at position ``at`` opens, with all that open at that moment.

    It does not if every one of them goes on with the circuit that is in place.
    """
    plane, moment = rows.plane[rows.order[at]], rows.up_from[rows.order[at]]
    while current >= 0 and at < len(rows.order) and rows.up_from[rows.order[at]] == moment:
        row = rows.order[at]
        if rows.plane[row] == plane:
            port_a, port_b = ports_of(fabric, plane, rows.tx[row], rows.rx[row])
            before = row_at[port_a]
            if before < 0 or before != row_at[port_b] or row_group[before] != current:
                return True
        at += 1
    return current < 0


@kernel
def _admit(fabric, rows, at, links, row_group, row_before, row_at, epoch, epoch_from, n_groups, plane_setups):
    """Put the row at position ``at`` on its ports and into a group; returns the number of groups."""
    row = rows.order[at]
    plane = rows.plane[row]
    dark, delay = fabric.boundary == DARK, fabric.delay[plane]
    port_a, port_b = ports_of(fabric, plane, rows.tx[row], rows.rx[row])
    before_a, before_b = row_at[port_a], row_at[port_b]
    row_before[row, 0], row_before[row, 1] = before_a, before_b
    if fabric.all_stop[plane]:
        current = epoch[plane]
        if epoch_from[plane] != rows.up_from[row]:
            epoch_from[plane] = rows.up_from[row]
            if _is_change(fabric, rows, at, row_group, row_at, current):
                if current >= 0:
                    links.group_next[current, 0], links.group_lag[current, 0] = n_groups, delay
                    links.group_pending[n_groups] = 1
                plane_setups[plane] += dark or current >= 0
                epoch[plane] = n_groups
        group = epoch[plane]
    elif before_a >= 0 and before_a == before_b:
        group = row_group[before_a]
    else:
        group = n_groups
        changed = dark and (before_a < 0 or before_b < 0)
        for before in (before_a, before_b):
            if before < 0:
                continue
            same = _same_circuit(rows.tx[before], rows.rx[before], rows.tx[row], rows.rx[row], fabric.duplex[plane])
            changed = changed or not same
            earlier = row_group[before]
            slot = 0 if links.group_next[earlier, 0] < 0 else 1
            links.group_next[earlier, slot], links.group_lag[earlier, slot] = n_groups, 0 if same else delay
            links.group_pending[n_groups] += 1
        plane_setups[plane] += changed
    row_at[port_a] = row_at[port_b] = row
    row_group[row] = group
    if group == n_groups:
        links.group_up[group] = delay if dark else 0
        n_groups += 1
    return n_groups
