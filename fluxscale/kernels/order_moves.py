"""Moves on a topological order that keep it one."""

from __future__ import annotations

from fluxscale._numba import kernel


@kernel
def share_port(
    u, v, leg_indptr, leg_option, option_tx_lane, option_rx_lane, option_plane, duplex
):  # numpydoc ignore=PR01
    """Whether two ops use one port."""
    for i in range(leg_indptr[u], leg_indptr[u + 1]):
        for j in range(leg_indptr[v], leg_indptr[v + 1]):
            a, b = leg_option[i], leg_option[j]
            if option_tx_lane[a] == option_tx_lane[b] or option_rx_lane[a] == option_rx_lane[b]:
                return True
            if duplex[option_plane[a]] and (
                option_tx_lane[a] == option_rx_lane[b] - 1 or option_rx_lane[a] - 1 == option_tx_lane[b]
            ):
                return True
    return False


@kernel
def move_before(
    order, position, at, v, succ_indptr, succ_index, next_on_device, mark, stamp, scratch
):  # numpydoc ignore=PR01
    """Put v and its ancestors in ``order[at:position[v]]`` before the rest of that span.

    False if ``order[at]`` is an ancestor.
    """
    stop = position[v]
    mark[v] = stamp
    for i in range(stop - 1, at - 1, -1):
        op = order[i]
        after = next_on_device[op]
        hit = after >= 0 and mark[after] == stamp
        if not hit:
            for k in range(succ_indptr[op], succ_indptr[op + 1]):
                if mark[succ_index[k]] == stamp:
                    hit = True
                    break
        if hit:
            if i == at:
                return False
            mark[op] = stamp
    count = 0
    write = at
    for i in range(at, stop + 1):
        op = order[i]
        if mark[op] == stamp:
            order[write] = op
            write += 1
        else:
            scratch[count] = op
            count += 1
    for i in range(count):
        order[write + i] = scratch[i]
    for i in range(at, stop + 1):
        position[order[i]] = i
    return True


@kernel
def move_after(
    order, position, u, stop, succ_indptr, succ_index, next_on_device, mark, stamp, scratch
):  # numpydoc ignore=PR01
    """Put u and its descendants in ``order[position[u]:stop + 1]`` after the rest of that span.

    False if ``order[stop]`` is one.
    """
    at = position[u]
    mark[u] = stamp
    for i in range(at, stop + 1):
        op = order[i]
        if mark[op] != stamp:
            continue
        if i == stop:
            return False
        after = next_on_device[op]
        if after >= 0:
            mark[after] = stamp
        for k in range(succ_indptr[op], succ_indptr[op + 1]):
            mark[succ_index[k]] = stamp
    count = 0
    write = at
    for i in range(at, stop + 1):
        op = order[i]
        if mark[op] == stamp:
            scratch[count] = op
            count += 1
        else:
            order[write] = op
            write += 1
    for i in range(count):
        order[write + i] = scratch[i]
    for i in range(at, stop + 1):
        position[order[i]] = i
    return True
