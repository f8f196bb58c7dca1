"""Delaying producers until what waits on each port fits a buffer: windows of legs, and one pass that raises starts."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel

ALWAYS, NO_RUN = -1, -2


@kernel
def legs_by_port(order, leg_indptr, leg_port, port_indptr, port_legs):  # numpydoc ignore=PR01
    """Fill ``port_legs`` with the legs of each port in the order in which it sends them."""
    fill = port_indptr[:-1].copy()
    for i in range(len(order)):
        op = order[i]
        if op < len(leg_indptr) - 1:
            for leg in range(leg_indptr[op], leg_indptr[op + 1]):
                port_legs[fill[leg_port[leg]]] = leg
                fill[leg_port[leg]] += 1


@kernel
def windows(
    port_indptr, port_legs, leg_amount, leg_op, port_handing, port_sending, target, leg_before, leg_after, leg_wait
):  # numpydoc ignore=PR01
    """Conditions on the release of each leg that keep every port's buffer within ``target``.

    Of the legs that a port has been handed, let m be the one that it sends last. Either condition on m suffices:

    - *It waits little*: at most ``leg_wait``. At tick t the others are gone by m's start s, so they hold at most
      sending x (s - t); m itself holds at most handing x (t - release). Where handing is not the faster of the two,
      the sum is at most sending x (s - release), and after s only m is there. Where it is faster, the sum is largest
      when all of m has been handed over.
    - *Nothing before its run is left*: op ``leg_after`` has ended, which sends the last leg before the longest run of
      legs up to m whose amounts fit the target together. ALWAYS: the run begins with the port's first leg. NO_RUN: m
      alone is too large.

    ``leg_before``: op of the leg before on the port, -1 for the first.
    """
    for port in range(len(port_indptr) - 1):
        handing, sending = port_handing[port], port_sending[port]
        first = port_indptr[port]
        total = np.int64(0)
        for at in range(port_indptr[port], port_indptr[port + 1]):
            leg = port_legs[at]
            amount = leg_amount[leg]
            total += amount
            while total > target and first <= at:
                total -= leg_amount[port_legs[first]]
                first += 1
            leg_before[leg] = leg_op[port_legs[at - 1]] if at > port_indptr[port] else -1
            if amount > target:
                leg_after[leg] = NO_RUN
            elif first == port_indptr[port]:
                leg_after[leg] = ALWAYS
            else:
                leg_after[leg] = leg_op[port_legs[first - 1]]
            if handing <= sending:
                leg_wait[leg] = target // sending
            else:
                leg_wait[leg] = max(0, amount // handing + (target - amount) // sending)


@kernel
def delay_producers(
    order, pred_indptr, pred_index, op_ticks, leg_indptr, leg_before, leg_after, leg_wait, ceiling, start
):  # numpydoc ignore=PR01
    """Delay, for each leg that is released too soon, its last predecessor; returns how many were delayed.

    Of the predecessors it takes the one that ends last of those that can be late enough, else the one that can end
    last, and delays it as far as needed and ``ceiling`` (latest start of each op) allows. Where it also releases the
    leg before, or the one to wait for, it ends no later than that one starts: delaying it further delays both.
    Against the order, so that one pass follows a chain of transfers back to where it begins; ``earliest`` then moves
    what follows.
    """
    delayed = 0
    for i in range(len(order) - 1, -1, -1):
        op = order[i]
        if op >= len(leg_indptr) - 1 or pred_indptr[op] == pred_indptr[op + 1]:
            continue
        need = np.int64(0)
        for leg in range(leg_indptr[op], leg_indptr[op + 1]):
            if leg_after[leg] != ALWAYS:
                time = start[op] - leg_wait[leg]
                if leg_after[leg] != NO_RUN:
                    time = min(time, start[leg_after[leg]] + op_ticks[leg_after[leg]])
                need = max(need, time)
        release = np.int64(0)
        best = -1
        best_end = np.int64(-1)
        best_fits = False
        for at in range(pred_indptr[op], pred_indptr[op + 1]):
            other = pred_index[at]
            end = start[other] + op_ticks[other]
            last_end = ceiling[other] + op_ticks[other]
            release = max(release, end)
            fits = last_end >= need
            key = end if fits else last_end
            if (fits and not best_fits) or (fits == best_fits and key > best_end):
                best, best_end, best_fits = other, key, fits
        if release >= need:
            continue
        for leg in range(leg_indptr[op], leg_indptr[op + 1]):
            for other in (leg_before[leg], leg_after[leg]):
                if other >= 0 and start[other] < need:
                    for at in range(pred_indptr[other], pred_indptr[other + 1]):
                        if pred_index[at] == best:
                            need = min(need, start[other])
        time = min(need - op_ticks[best], ceiling[best])
        if release < need and time > start[best]:
            start[best] = time
            delayed += 1
    return delayed


@kernel
def overflowing(
    port_indptr, port_legs, leg_op, op_ticks, start, released, peak, peak_at, limit, active
):  # numpydoc ignore=PR01
    """Mark, for each port whose peak is above ``limit``, the last leg in its buffer then; returns how many are new."""
    found = 0
    for port in range(len(peak)):
        if peak[port] <= limit:
            continue
        for at in range(port_indptr[port + 1] - 1, port_indptr[port] - 1, -1):
            op = leg_op[port_legs[at]]
            # A peak is found at a start or up to a tick before the end of a hand-over.
            if released[op] <= peak_at[port] and start[op] + op_ticks[op] > peak_at[port]:
                found += not active[port_legs[at]]
                active[port_legs[at]] = True
                break
    return found


@kernel
def epochs(
    legs, leg_start, leg_end, leg_tx, leg_rx, n_endpoints, delay, duplex, cyclic, leg_epoch
):  # numpydoc ignore=PR01
    """Number the legs of one all-stop plane (``legs``: by start) by the set of circuits that carries them.

    As :func:`fluxscale.kernels.circuits.all_stop_rows` does: clusters with the delay of silence between them, joined
    while they fit one matching.
    """
    peer = np.full(n_endpoints * 2, -1, dtype=np.int32)
    port_epoch = np.full(n_endpoints * 2, -1, dtype=np.int64)
    epoch = 0
    at = 0
    while at < len(legs):
        stop = at + 1
        cluster_end = leg_end[legs[at]]
        while stop < len(legs) and leg_start[legs[stop]] - cluster_end < delay:
            cluster_end = max(cluster_end, leg_end[legs[stop]])
            stop += 1
        fits = not cyclic or at == 0
        for i in range(at, stop):
            a, b = leg_tx[legs[i]] * 2, leg_rx[legs[i]] * 2 + (0 if duplex else 1)
            used_a, used_b = port_epoch[a] == epoch, port_epoch[b] == epoch
            if used_a or used_b:
                fits = fits and used_a and used_b and peer[a] == b
        if not fits:
            epoch += 1
        for i in range(at, stop):
            a, b = leg_tx[legs[i]] * 2, leg_rx[legs[i]] * 2 + (0 if duplex else 1)
            peer[a], peer[b] = b, a
            port_epoch[a] = port_epoch[b] = epoch
            leg_epoch[legs[i]] = epoch
        at = stop


@kernel
def depth_first(succ_indptr, succ_index, next_on_device, waits, weight, order):  # numpydoc ignore=PR01
    """A topological order in which an op comes right after the one that makes it ready, heaviest first.

    ``waits`` int32 ``[n]`` (used up): how many ops each op follows.
    """
    n = len(order)
    stack = np.empty(n, dtype=np.int32)
    top = 0
    for op in range(n):
        if waits[op] == 0:
            stack[top] = op
            top += 1
    count = 0
    while top > 0:
        top -= 1
        op = stack[top]
        order[count] = op
        count += 1
        bottom = top
        for at in range(succ_indptr[op], succ_indptr[op + 1] + 1):
            after = succ_index[at] if at < succ_indptr[op + 1] else next_on_device[op]
            if after >= 0:
                waits[after] -= 1
                if waits[after] == 0:
                    stack[top] = after
                    top += 1
        if top - bottom > 1:
            ready = stack[bottom:top].copy()
            stack[bottom:top] = ready[np.argsort(weight[ready])]
