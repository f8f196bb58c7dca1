"""Orders on ports that a horizon forces: immediate selection, and trying both orders of a pair."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel
from fluxscale.kernels.longest_path import heads, tails


@kernel
def exclusive_pairs(indptr, member, leg_op, leg_tx, leg_rx, delay, both_ways):  # numpydoc ignore=PR01
    """List the pairs of ops that exclude each other on a port.

    Parameters
    ----------
    indptr, member, delay, both_ways
        Legs, set-up time and kind (duplex or not) of each port.
    leg_op, leg_tx, leg_rx
        Op and ends of each leg.

    Returns
    -------
    first, second, gap
        int32, int32, int64: whichever goes second starts at least ``gap`` after the other's end.
    """
    room = 0
    for port in range(len(indptr) - 1):
        n = indptr[port + 1] - indptr[port]
        room += n * (n - 1) // 2
    first, second = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    gap = np.empty(room, dtype=np.int64)
    count = 0
    for port in range(len(indptr) - 1):
        for a in range(indptr[port], indptr[port + 1]):
            sends_a = member[a] >= 0
            leg_a = member[a] if sends_a else ~member[a]
            peer_a = leg_rx[leg_a] if sends_a else leg_tx[leg_a]
            for b in range(a + 1, indptr[port + 1]):
                sends_b = member[b] >= 0
                leg_b = member[b] if sends_b else ~member[b]
                same = peer_a == (leg_rx[leg_b] if sends_b else leg_tx[leg_b])
                if leg_op[leg_a] == leg_op[leg_b] or (same and both_ways[port] and sends_a != sends_b):
                    continue
                first[count], second[count] = leg_op[leg_a], leg_op[leg_b]
                gap[count] = 0 if same else delay[port]
                count += 1
    return first[:count], second[:count], gap[:count]


@kernel
def propagate(pairs, order, head, tail, ticks, horizon, graph, arcs, budget):  # numpydoc ignore=PR01
    """Fix the orders that a horizon leaves no choice about, and raise heads and tails by them until nothing changes.

    Of a pair, the first op cannot go first if its head, both durations, the gap and the other's tail exceed the horizon
    (immediate selection; Carlier and Pinson). If neither can, no schedule ends by the horizon.

    Parameters
    ----------
    pairs
        Result of :func:`exclusive_pairs`.
    order
        int8 for each pair: 1 first before second, -1 the other way round, 0 open; changed in place.
    head, tail
        int64 ``[n]``: least time before the start and after the end of each op; raised in place.
    ticks, horizon
        Durations, and the supposed end of the iteration; no path of the graph may be longer.
    graph, arcs
        Topological order, predecessors and device neighbours; weighted arcs (as in ``longest_path.heads``).
    budget
        Visits of pairs after which to give up.

    Returns
    -------
    possible, visits
        False where the horizon is contradicted, and how many visits it took.
    """
    first, second, gap = pairs
    topological, pred_indptr, pred_index, previous = graph
    arc_indptr, arc_source, arc_gap = arcs
    visits = 0
    while visits < budget:
        visits += len(first)
        changed = False
        for k in range(len(first)):
            i, j = first[k], second[k]
            if order[k] == 0:
                both = ticks[i] + ticks[j] + gap[k]
                i_late = head[i] + both + tail[j] > horizon
                j_late = head[j] + both + tail[i] > horizon
                if i_late and j_late:
                    return False, visits
                if i_late:
                    order[k] = -1
                elif j_late:
                    order[k] = 1
                else:
                    continue
            before, after = (i, j) if order[k] > 0 else (j, i)
            start = head[before] + ticks[before] + gap[k]
            rest = tail[after] + ticks[after] + gap[k]
            if start > head[after]:
                head[after] = start
                changed = True
            if rest > tail[before]:
                tail[before] = rest
                changed = True
        if not changed:
            break
        later, _ = heads(topological, pred_indptr, pred_index, previous, ticks, head, arc_indptr, arc_source, arc_gap)
        rest_after = tails(topological, pred_indptr, pred_index, previous, ticks, tail, arc_indptr, arc_source, arc_gap)
        for op in range(len(head)):
            head[op], tail[op] = later[op], rest_after[op]
            if head[op] + ticks[op] + tail[op] > horizon:
                return False, visits
    return True, visits


@kernel
def probe(pairs, order, head, tail, ticks, horizon, graph, arcs, budget):  # numpydoc ignore=PR01
    """Try both orders of every open pair once; an order that leads to a contradiction fixes the other.

    Parameters and result as for :func:`propagate`, which must have found the horizon possible.
    """
    visits = 0
    for k in range(len(order)):
        if visits >= budget:
            break
        for way in (1, -1):
            if order[k] != 0:
                continue
            trial = order.copy()
            trial[k] = way
            possible, used = propagate(
                pairs, trial, head.copy(), tail.copy(), ticks, horizon, graph, arcs, budget - visits
            )
            visits += used
            if not possible:
                order[k] = -way
                possible, used = propagate(pairs, order, head, tail, ticks, horizon, graph, arcs, budget - visits)
                visits += used
                if not possible:
                    return False, visits
    return True, visits
