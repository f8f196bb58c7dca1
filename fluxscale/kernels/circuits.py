"""Circuit rows from legs in order of start: one pass, per-port state."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel

DARK, CYCLIC = 0, 2


@kernel
def per_port_rows(
    order,
    leg_start,
    leg_end,
    leg_plane,
    leg_tx,
    leg_rx,
    n_endpoints,
    delay,
    duplex,
    all_stop,
    boundary,
    row_plane,
    row_tx,
    row_rx,
    row_from,
    row_to,
):  # numpydoc ignore=PR01
    """Merge the legs of per-port planes into circuit rows; returns the number of rows.

    ``order`` lists the legs by start. A row ends when one of its ports is given another circuit. Circuits are set as
    early as the ports allow, which leaves the most room for a late start. With a cyclic boundary a port's first row
    begins just in time, so that the change that closes the period has as long as possible.
    """
    n_ports = len(delay) * n_endpoints * 2
    row_at_port = np.full(n_ports, -1, dtype=np.int32)
    n_rows = 0
    for leg in order:
        plane = leg_plane[leg]
        if all_stop[plane]:
            continue
        tx, rx = leg_tx[leg], leg_rx[leg]
        port_a = (plane * n_endpoints + tx) * 2
        port_b = (plane * n_endpoints + rx) * 2
        if duplex[plane]:
            if tx > rx:
                tx, rx = rx, tx
        else:
            port_b += 1
        row_a, row_b = row_at_port[port_a], row_at_port[port_b]
        if row_a >= 0 and row_a == row_b:
            row_to[row_a] = max(row_to[row_a], leg_end[leg])
            continue
        first = row_a < 0 or row_b < 0
        up_from = delay[plane] if boundary == DARK else 0
        for row in (row_a, row_b):
            if row >= 0:
                same = row_tx[row] == tx and row_rx[row] == rx
                up_from = max(up_from, row_to[row] + (0 if same else delay[plane]))
        if boundary == CYCLIC and first:
            up_from = leg_start[leg]
        row_plane[n_rows], row_tx[n_rows], row_rx[n_rows] = plane, tx, rx
        row_from[n_rows], row_to[n_rows] = up_from, leg_end[leg]
        row_at_port[port_a] = row_at_port[port_b] = n_rows
        n_rows += 1
    return n_rows


@kernel
def all_stop_rows(
    order,
    leg_start,
    leg_end,
    leg_tx,
    leg_rx,
    plane,
    n_endpoints,
    delay,
    duplex,
    boundary,
    row_plane,
    row_tx,
    row_rx,
    row_from,
    row_to,
    n_rows,
):  # numpydoc ignore=PR01
    """Append the rows of one all-stop plane; ``order`` lists its legs by start. Returns the number of rows.

    The plane can only change while it is silent, so its legs fall into clusters with at least ``delay`` of silence
    between them. A cluster joins the epoch before it when every circuit fits that epoch's matching; else a new epoch
    opens.
    """
    port_row = np.full(n_endpoints * 2, -1, dtype=np.int32)
    port_epoch = np.full(n_endpoints * 2, -1, dtype=np.int64)
    epoch = 0
    opened = delay if boundary == DARK else 0
    busy = np.int64(0)
    at = 0
    while at < len(order):
        stop = at + 1
        cluster_end = leg_end[order[at]]
        while stop < len(order) and leg_start[order[stop]] - cluster_end < delay:
            cluster_end = max(cluster_end, leg_end[order[stop]])
            stop += 1
        # a cyclic plane keeps its first epoch small: the last circuits may then stay over the wrap
        fits = boundary != CYCLIC or at == 0
        for i in range(at, stop):
            leg = order[i]
            tx, rx = leg_tx[leg], leg_rx[leg]
            a, b = tx * 2, rx * 2 + (0 if duplex else 1)
            used_a, used_b = port_epoch[a] == epoch, port_epoch[b] == epoch
            if used_a or used_b:
                fits = fits and used_a and used_b and port_row[a] == port_row[b]
        if not fits:
            epoch += 1
            opened = busy + delay
        for i in range(at, stop):
            leg = order[i]
            tx, rx = leg_tx[leg], leg_rx[leg]
            a, b = tx * 2, rx * 2 + (0 if duplex else 1)
            if port_epoch[a] != epoch or port_epoch[b] != epoch:
                if duplex and tx > rx:
                    tx, rx = rx, tx
                row_plane[n_rows], row_tx[n_rows], row_rx[n_rows] = plane, tx, rx
                row_from[n_rows], row_to[n_rows] = opened, leg_end[leg]
                port_epoch[a] = port_epoch[b] = epoch
                port_row[a] = port_row[b] = n_rows
                n_rows += 1
            else:
                row = port_row[a]
                row_to[row] = max(row_to[row], leg_end[leg])
        busy = max(busy, cluster_end)
        at = stop
    return n_rows


@kernel
def count_setups(
    order, row_plane, row_tx, row_rx, n_endpoints, duplex, boundary, last_a, last_b
):  # numpydoc ignore=PR01
    """Count rows (``order``: by up_from) whose set-up changes a port; a dark port's first circuit counts too.

    ``last_a``, ``last_b`` are scratch of ``planes x endpoints x 2`` filled with -1: the circuit that each port holds.
    With a cyclic boundary the caller runs this twice and takes the second count, so that the ports start as the
    iteration left them.
    """
    setups = 0
    for row in order:
        plane, tx, rx = row_plane[row], row_tx[row], row_rx[row]
        if duplex[plane] and tx > rx:
            tx, rx = rx, tx
        port_a = (plane * n_endpoints + tx) * 2
        port_b = (plane * n_endpoints + rx) * 2 + (0 if duplex[plane] else 1)
        changed = boundary == DARK and (last_a[port_a] < 0 or last_a[port_b] < 0)
        for port in (port_a, port_b):
            if last_a[port] >= 0 and (last_a[port] != tx or last_b[port] != rx):
                changed = True
        setups += changed
        last_a[port_a] = last_a[port_b] = tx
        last_b[port_a] = last_b[port_b] = rx
    return setups
