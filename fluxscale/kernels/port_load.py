"""One-machine bound of every port: least set-ups and busy time over subsets given by a least head and a least tail."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel


@kernel
def members_by_port(n_ports, port_tx, port_rx):  # numpydoc ignore=PR01
    """Group the legs by port (counting sort).

    ``port_tx`` and ``port_rx`` give the two ports of each leg, -1 to leave one out. Returns CSR ``indptr, leg``; a leg
    appears as ``leg`` at its sender's port and as ``~leg`` at its receiver's.
    """
    indptr = np.zeros(n_ports + 1, dtype=np.int64)
    for leg in range(len(port_tx)):
        if port_tx[leg] >= 0:
            indptr[port_tx[leg] + 1] += 1
        if port_rx[leg] >= 0:
            indptr[port_rx[leg] + 1] += 1
    for port in range(n_ports):
        indptr[port + 1] += indptr[port]
    fill = indptr[:-1].copy()
    member = np.empty(indptr[n_ports], dtype=np.int32)
    for leg in range(len(port_tx)):
        port = port_tx[leg]
        if port >= 0:
            member[fill[port]] = leg
            fill[port] += 1
        port = port_rx[leg]
        if port >= 0:
            member[fill[port]] = ~leg
            fill[port] += 1
    return indptr, member


@kernel
def best_port_load(
    indptr, member, leg_op, leg_tx, leg_rx, head, ticks, tail, delay, machines, both_ways, cyclic, n_endpoints, budget
):  # numpydoc ignore=PR01
    """Best bound over all ports and subsets {head >= a, tail >= b}; see :func:`fluxscale.bounds.port_load.port_load`.

    Parameters
    ----------
    indptr, member
        Legs of each port (:func:`members_by_port`).
    head, ticks, tail
        Longest path before, least duration of, and longest path after each op.
    delay, machines, both_ways
        Per port: set-up time, number of equal ports that share its legs, whether the two directions run at once
        (duplex).
    cyclic
        Whether the circuits must also change back for the next iteration.
    n_endpoints
        Number of endpoints.
    budget
        Leg visits to spend: a port with at most ``budget / all legs`` different heads tries them all, a larger one
        evenly spread ones.

    Returns
    -------
    best, port, least_head, least_tail, wraps
        The bound, the port and thresholds that give it (-1: none), and whether it is the cyclic one over all of the
        port's legs.
    """
    best, best_port, best_head, best_tail, best_wraps = np.int64(0), -1, np.int64(0), np.int64(0), False
    stamp = np.zeros(n_endpoints, dtype=np.int64)
    busy = np.zeros((n_endpoints, 2), dtype=np.int64)
    tries = max(4, budget // max(1, len(member)))
    clock = 0
    for port in range(len(indptr) - 1):
        first, last = indptr[port], indptr[port + 1]
        n = last - first
        if n == 0:
            continue
        own_head = np.empty(n, dtype=np.int64)
        own_tail = np.empty(n, dtype=np.int64)
        for k in range(n):
            leg = member[first + k]
            op = leg_op[leg if leg >= 0 else ~leg]
            own_head[k] = head[op]
            own_tail[k] = tail[op]
        by_tail = np.argsort(-own_tail)
        levels = np.sort(own_head)
        step = max(1, -(-n // tries))
        previous = np.int64(-1)
        for at in range(0, n, step):
            least_head = levels[at]
            if least_head == previous:
                continue
            previous = least_head
            clock += 1
            total, circuits = np.int64(0), 0
            for k in by_tail:
                if own_head[k] < least_head:
                    continue
                leg = member[first + k]
                sends = leg >= 0
                if not sends:
                    leg = ~leg
                peer = leg_rx[leg] if sends else leg_tx[leg]
                if stamp[peer] != clock:
                    stamp[peer] = clock
                    busy[peer, 0] = busy[peer, 1] = 0
                    circuits += 1
                side = 0 if sends or not both_ways[port] else 1
                before = max(busy[peer, 0], busy[peer, 1])
                busy[peer, side] += ticks[leg_op[leg]]
                total += max(busy[peer, 0], busy[peer, 1]) - before
                value = least_head + own_tail[k]
                if machines[port] > 1:
                    value += -(-total // machines[port])
                else:
                    value += total + (circuits - 1) * delay[port]
                if value > best:
                    best, best_port, best_head, best_tail, best_wraps = value, port, least_head, own_tail[k], False
            if at == 0 and cyclic and machines[port] == 1 and circuits > 1:
                value = total + circuits * delay[port]
                if value > best:
                    best, best_port, best_head, best_tail, best_wraps = value, port, least_head, np.int64(0), True
    return best, best_port, best_head, best_tail, best_wraps
