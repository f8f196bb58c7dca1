"""A coherent section: one op and one endpoint of each colour, grown along the graph so that they belong together."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel

GANG = 2


@kernel
def transpose(indptr, index):  # numpydoc ignore=PR01
    """Turn the CSR of predecessors into that of successors (counting sort)."""
    n = len(indptr) - 1
    out_indptr = np.zeros(n + 1, dtype=np.int64)
    for at in range(len(index)):
        out_indptr[index[at] + 1] += 1
    for op in range(n):
        out_indptr[op + 1] += out_indptr[op]
    fill = out_indptr[:-1].copy()
    out_index = np.empty(len(index), dtype=np.int32)
    for op in range(n):
        for at in range(indptr[op], indptr[op + 1]):
            out_index[fill[index[at]]] = op
            fill[index[at]] += 1
    return out_indptr, out_index


@kernel
def is_gang(op, op_kind, leg_indptr):  # numpydoc ignore=PR01
    """Whether the section must not be grown through an op, because it ties replicas together."""
    return op_kind[op] == GANG or leg_indptr[op + 1] - leg_indptr[op] > 1


@kernel
def take_if_fitting(
    op,
    op_colour,
    device_colour,
    endpoint_colour,
    op_device,
    leg_indptr,
    leg_tx,
    leg_rx,
    op_rep,
    device_rep,
    endpoint_rep,
):  # numpydoc ignore=PR01
    """Let an op with at most one leg represent its colour if its device and endpoints do, or still may."""
    if op_rep[op_colour[op]] >= 0:
        return False
    device = op_device[op]
    if device >= 0 and device_rep[device_colour[device]] >= 0 and device_rep[device_colour[device]] != device:
        return False
    first, last = leg_indptr[op], leg_indptr[op + 1]
    if last > first:
        tx, rx = leg_tx[first], leg_rx[first]
        a, b = endpoint_colour[tx], endpoint_colour[rx]
        if (
            a == b
            or (endpoint_rep[a] >= 0 and endpoint_rep[a] != tx)
            or (endpoint_rep[b] >= 0 and endpoint_rep[b] != rx)
        ):
            return False
        endpoint_rep[a] = tx
        endpoint_rep[b] = rx
    if device >= 0:
        device_rep[device_colour[device]] = device
    op_rep[op_colour[op]] = op
    return True


@kernel
def grow(
    op_colour,
    n_colours,
    endpoint_colour,
    n_endpoint_colours,
    op_kind,
    op_device,
    pred_indptr,
    pred_index,
    succ_indptr,
    succ_index,
    device_indptr,
    device_ops,
    leg_indptr,
    leg_tx,
    leg_rx,
):  # numpydoc ignore=PR01
    """Choose the representative of each colour among the ops without legs or with one.

    Growth starts at the lowest op whose colour has none, and follows predecessors, successors and device neighbours,
    but never passes through a gang. A device has the colour of its first op.

    Returns
    -------
    op_rep, endpoint_rep
        int32: representative of each op and endpoint colour; -1 for those that have none (yet: see :func:`take_gangs`).
    """
    n = len(op_colour)
    n_devices = len(device_indptr) - 1
    place = np.full(n, -1, dtype=np.int64)
    device_colour = np.full(n_devices, -1, dtype=np.int32)
    for d in range(n_devices):
        for at in range(device_indptr[d], device_indptr[d + 1]):
            place[device_ops[at]] = at
        if device_indptr[d + 1] > device_indptr[d]:
            device_colour[d] = op_colour[device_ops[device_indptr[d]]]
    op_rep = np.full(n_colours, -1, dtype=np.int32)
    device_rep = np.full(n_colours, -1, dtype=np.int32)
    endpoint_rep = np.full(n_endpoint_colours, -1, dtype=np.int32)
    queue = np.empty(n_colours, dtype=np.int32)
    tail = 0
    for start in range(n):
        if op_rep[op_colour[start]] >= 0 or is_gang(start, op_kind, leg_indptr):
            continue
        if not take_if_fitting(
            start,
            op_colour,
            device_colour,
            endpoint_colour,
            op_device,
            leg_indptr,
            leg_tx,
            leg_rx,
            op_rep,
            device_rep,
            endpoint_rep,
        ):
            continue
        head = tail
        queue[tail] = start
        tail += 1
        while head < tail:
            op = queue[head]
            head += 1
            p0, p1 = pred_indptr[op], pred_indptr[op + 1]
            s0, s1 = succ_indptr[op], succ_indptr[op + 1]
            for k in range(p1 - p0 + s1 - s0 + 2):
                if k < p1 - p0:
                    other = pred_index[p0 + k]
                elif k < p1 - p0 + s1 - s0:
                    other = succ_index[s0 + k - (p1 - p0)]
                else:
                    at = place[op]
                    if at < 0:
                        continue
                    at += 1 if k == p1 - p0 + s1 - s0 else -1
                    d = op_device[op]
                    if at < device_indptr[d] or at >= device_indptr[d + 1]:
                        continue
                    other = device_ops[at]
                if not is_gang(other, op_kind, leg_indptr) and take_if_fitting(
                    other,
                    op_colour,
                    device_colour,
                    endpoint_colour,
                    op_device,
                    leg_indptr,
                    leg_tx,
                    leg_rx,
                    op_rep,
                    device_rep,
                    endpoint_rep,
                ):
                    queue[tail] = other
                    tail += 1
    return op_rep, endpoint_rep


@kernel
def take_gangs(
    op_colour, endpoint_colour, op_kind, leg_indptr, leg_tx, leg_rx, op_rep, endpoint_rep
):  # numpydoc ignore=PR01
    """Choose the representatives of the gangs' colours, in place.

    First choice is the lowest gang that touches a representative endpoint, second the lowest at all. Endpoint colours
    that only gangs use are then represented by the partner of a representative in a leg, or else by their first
    endpoint in a leg.
    """
    for must_touch in (True, False):
        for op in range(len(op_colour)):
            if op_rep[op_colour[op]] >= 0 or not is_gang(op, op_kind, leg_indptr):
                continue
            touches = False
            for leg in range(leg_indptr[op], leg_indptr[op + 1]):
                tx, rx = leg_tx[leg], leg_rx[leg]
                if endpoint_rep[endpoint_colour[tx]] == tx or endpoint_rep[endpoint_colour[rx]] == rx:
                    touches = True
                    break
            if must_touch and not touches:
                continue
            op_rep[op_colour[op]] = op
            for sweep in range(3):
                for leg in range(leg_indptr[op], leg_indptr[op + 1]):
                    tx, rx = leg_tx[leg], leg_rx[leg]
                    a, b = endpoint_colour[tx], endpoint_colour[rx]
                    if endpoint_rep[a] < 0 and (sweep == 2 or endpoint_rep[b] == rx):
                        endpoint_rep[a] = tx
                    if endpoint_rep[b] < 0 and (sweep == 2 or endpoint_rep[a] == tx):
                        endpoint_rep[b] = rx
