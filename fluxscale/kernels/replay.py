"""Execution of linked orders: starts and ends flow along the links of :mod:`fluxscale.kernels.replay_links`.

Since every order is fixed, the times follow from the links alone and no clock has to be run.
"""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel
from fluxscale.kernels.replay_links import ports_of

NEVER = 2**62


@kernel
def run(
    duration, pending, succ_indptr, succ_index, next_on_device, leg_indptr, leg_op, links, n_groups, start, end
):  # numpydoc ignore=PR01
    """Execute the linked orders; returns the number of ops that ran (fewer than all: the rest wait for each other).

    ``start`` holds the planned starts on entry and the actual ones on return, ``pending`` the number of things an op
    waits for (predecessors, the op before it on its device, one for each leg). The group columns are consumed. Ops
    with ``pending`` above 0 on return never ran.
    """
    ready = np.empty(len(duration), dtype=np.int32)
    stack = np.empty(n_groups, dtype=np.int32)
    n_ready = 0
    for op in range(len(duration)):
        if pending[op] == 0:
            ready[n_ready] = op
            n_ready += 1
    depth = 0
    for group in range(n_groups):
        if links.group_pending[group] == 0:
            stack[depth] = group
            depth += 1
    group_end = links.group_up.copy()
    done = 0
    # The op that became ready last goes next: its neighbours' columns are still in the cache.
    while depth > 0 or n_ready > 0:
        if depth > 0:
            depth -= 1
            group = stack[depth]
            leg = links.group_head[group]
            while leg >= 0:
                n_ready = _release(leg_op[leg], links.group_up[group], pending, start, ready, n_ready)
                leg = links.leg_sibling[leg]
            if links.group_left[group] == 0:
                group_end[group] = links.group_up[group]
                depth = _finish(links, group, group_end[group], stack, depth)
            continue
        n_ready -= 1
        op = ready[n_ready]
        done += 1
        finish = start[op] + duration[op]
        end[op] = finish
        for at in range(succ_indptr[op], succ_indptr[op + 1]):
            n_ready = _release(succ_index[at], finish, pending, start, ready, n_ready)
        if next_on_device[op] >= 0:
            n_ready = _release(next_on_device[op], finish, pending, start, ready, n_ready)
        for leg in range(leg_indptr[op], leg_indptr[op + 1]):
            if links.leg_next[leg] >= 0:
                n_ready = _release(leg_op[links.leg_next[leg]], finish, pending, start, ready, n_ready)
            group = links.leg_group[leg]
            group_end[group] = max(group_end[group], finish)
            links.group_left[group] -= 1
            if links.group_left[group] == 0:
                depth = _finish(links, group, group_end[group], stack, depth)
    return done


@kernel
def _release(op, time, pending, start, ready, n_ready):
    start[op] = max(start[op], time)
    pending[op] -= 1
    if pending[op] == 0:
        ready[n_ready] = op
        n_ready += 1
    return n_ready


@kernel
def _finish(links, group, end, stack, depth):
    for slot in range(2):
        after = links.group_next[group, slot]
        if after >= 0:
            links.group_up[after] = max(links.group_up[after], end + links.group_lag[group, slot])
            links.group_pending[after] -= 1
            if links.group_pending[after] == 0:
                stack[depth] = after
                depth += 1
    return depth


@kernel
def precedence_rank(order, pred_indptr, pred_index, prev_on_device, rank, stack):  # numpydoc ignore=PR01
    """Number the ops along ``order``, each after its predecessors: breaks ties between ops that take no time.

    ``rank`` is filled with -1 on entry; ``stack`` is scratch of at least n + m + n entries.
    """
    count = 0
    for first in order:
        depth = 1
        stack[0] = first
        while depth > 0:
            op = stack[depth - 1]
            if rank[op] >= 0:
                depth -= 1
                continue
            if rank[op] == -2:
                rank[op] = count
                count += 1
                depth -= 1
                continue
            rank[op] = -2
            if prev_on_device[op] >= 0 and rank[prev_on_device[op]] == -1:
                stack[depth] = prev_on_device[op]
                depth += 1
            for at in range(pred_indptr[op], pred_indptr[op + 1]):
                if rank[pred_index[at]] == -1:
                    stack[depth] = pred_index[at]
                    depth += 1


@kernel
def wrap_need(fabric, legs, leg_group):  # numpydoc ignore=PR01
    """Least period that leaves every change from the last circuits to the first ones its dark time.

    ``legs`` has the times of the replay, its order is the planned one; ``leg_group`` as in ``Links``.
    """
    n_planes = len(fabric.delay)
    n_ports = n_planes * fabric.n_endpoints * 2
    first_peer, last_peer = np.full(n_ports, -1, dtype=np.int64), np.full(n_ports, -1, dtype=np.int64)
    first_start, last_end = np.full(n_ports, NEVER, dtype=np.int64), np.zeros(n_ports, dtype=np.int64)
    first_epoch, last_epoch = np.full(n_planes, -1, dtype=np.int64), np.full(n_planes, -1, dtype=np.int64)
    plane_start, plane_end = np.full(n_planes, NEVER, dtype=np.int64), np.zeros(n_planes, dtype=np.int64)
    for leg in legs.order:
        plane = legs.plane[leg]
        last_epoch[plane] = leg_group[leg]
        if first_epoch[plane] < 0:
            first_epoch[plane] = leg_group[leg]
        plane_start[plane] = min(plane_start[plane], legs.start[leg])
        plane_end[plane] = max(plane_end[plane], legs.end[leg])
    for leg in legs.order:
        plane = legs.plane[leg]
        per_port = not fabric.all_stop[plane]
        port_a, port_b = ports_of(fabric, plane, legs.tx[leg], legs.rx[leg])
        for port, peer in ((port_a, port_b), (port_b, port_a)):
            if per_port or leg_group[leg] == last_epoch[plane]:
                last_peer[port] = peer
            if first_peer[port] < 0 and (per_port or leg_group[leg] == first_epoch[plane]):
                first_peer[port] = peer
            first_start[port] = min(first_start[port], legs.start[leg])
            last_end[port] = max(last_end[port], legs.end[leg])
    need = np.int64(0)
    for port in range(n_ports):
        if first_peer[port] >= 0 and last_peer[port] >= 0 and first_peer[port] != last_peer[port]:
            plane = port // (2 * fabric.n_endpoints)
            if fabric.all_stop[plane]:
                need = max(need, plane_end[plane] + fabric.delay[plane] - plane_start[plane])
            else:
                need = max(need, last_end[port] + fabric.delay[plane] - first_start[port])
    return need
