"""Local search on port orders along the critical path.

A solution is one topological order of all ops; the order on every port is the order in which its ops come. A move
takes an edge of the critical path where an op waits for a port (u before v) and puts v, with those of its ancestors
that stand between, before u or an earlier op of that port; or u, with its descendants, after v. The result is always
a topological order, so every move decodes. Moves are accepted by simulated annealing (Kirkpatrick, Gelatt and Vecchi,
Science 1983): late acceptance was tried and got stuck some 20 ms higher on the 405B pipeline.
"""

from __future__ import annotations

import math

import numpy as np

from fluxscale._numba import kernel
from fluxscale.kernels.order_decode import BY_PORT, decode, evaluate
from fluxscale.kernels.order_moves import move_after, move_before, share_port

REACH_BITS = 8
"""A move jumps over fewer than 2^k ops of the port, k drawn from 0 to this less one: mostly near, sometimes to the
other end."""


@kernel
def _next_random(state):
    """xorshift64*: 31 random bits; the same on every machine and numpy version."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return np.int64((x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(33))


@kernel
def search(
    succ_indptr, succ_index, next_on_device, in_degree, op_ticks, plane_class, leg_indptr, option_indptr, option_plane,
    option_tx_lane, option_rx_lane, delay, all_stop, duplex, boundary,
    lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch,
    order, tail, bound, moves, seed, heat, cooling, every, saved_ready, saved_lanes, saved_ports, saved_planes,
):  # numpydoc ignore=PR01  # fmt: skip
    """Improve ``order`` in place by at most ``moves`` moves.

    Stop at ``bound`` or when no op waits for a port on the critical path.

    ``tail`` int64 ``[n]``: longest path behind each op. ``heat`` (ticks) is the annealing temperature, multiplied by
    ``cooling`` at each move. ``every`` and the ``saved`` arrays: see :func:`fluxscale.kernels.order_decode.decode`.
    Returns the best value, the moves tried, and how many of them were kept.
    """
    n = len(order)
    position = np.empty(n, dtype=np.int32)
    ready = np.empty(n, dtype=np.int64)
    start = np.empty(n, dtype=np.int64)
    leg_option = np.zeros(len(option_indptr) - 1, dtype=np.int32)
    binder = np.empty(n, dtype=np.int32)
    binding = np.empty(n, dtype=np.int8)
    mark = np.zeros(n, dtype=np.int64)
    scratch = np.empty(n, dtype=np.int32)
    present = order.copy()
    trial = order.copy()
    edge_u = np.empty(n, dtype=np.int32)
    edge_v = np.empty(n, dtype=np.int32)
    state = np.empty(1, dtype=np.uint64)
    state[0] = np.uint64(seed * 2 + 1)
    value, final = decode(
        succ_indptr, succ_index, next_on_device, in_degree, op_ticks, plane_class, leg_indptr, option_indptr,
        option_plane,
        option_tx_lane, option_rx_lane, delay, all_stop, duplex, boundary,
        lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch,
        present, ready, start, leg_option, binder, binding, every, saved_ready, saved_lanes, saved_ports, saved_planes,
    )  # fmt: skip
    best = value
    present_final = final
    stamp = 0
    kept = 0
    fresh = True
    n_edges = 0
    for move in range(moves):
        if best <= bound:
            return best, move, kept
        if fresh:
            n_edges = 0
            op = present_final
            while op >= 0:
                if binding[op] == BY_PORT:
                    edge_u[n_edges], edge_v[n_edges] = binder[op], op
                    n_edges += 1
                op = binder[op]
            fresh = False
        if n_edges == 0:
            return best, move, kept
        edge = _next_random(state) % n_edges
        u, v = edge_u[edge], edge_v[edge]
        jump = _next_random(state) % (1 << (_next_random(state) % REACH_BITS))
        stamp += 1
        trial[:] = present
        for i in range(n):
            position[present[i]] = i
        if _next_random(state) % 3 < 2:
            at = position[u]
            position_before = at
            i = at - 1
            while jump > 0 and i >= 0:
                if share_port(
                    trial[i], v, leg_indptr, leg_option, option_tx_lane, option_rx_lane, option_plane, duplex
                ):
                    at = i
                    jump -= 1
                i -= 1
            moved = move_before(trial, position, at, v, succ_indptr, succ_index, next_on_device, mark, stamp, scratch)
        else:
            at = position[v]
            position_before = position[u]
            i = at + 1
            while jump > 0 and i < n:
                if share_port(
                    trial[i], u, leg_indptr, leg_option, option_tx_lane, option_rx_lane, option_plane, duplex
                ):
                    at = i
                    jump -= 1
                i += 1
            moved = move_after(trial, position, u, at, succ_indptr, succ_index, next_on_device, mark, stamp, scratch)
        if not moved:
            continue
        # Metropolis' rule turned round: draw first, so that the evaluation can stop at the limit
        chance = (_next_random(state) + 1) / 2147483648.0
        limit = value + np.int64(-heat * math.log(chance))
        heat *= cooling
        first = min(at, position_before)
        new_value = evaluate(
            succ_indptr, succ_index, next_on_device, in_degree, op_ticks, plane_class, leg_indptr, option_indptr,
            option_plane,
            option_tx_lane, option_rx_lane, delay, all_stop, duplex, boundary,
            lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch,
            trial, ready, leg_option, tail, limit, first, every, saved_ready, saved_lanes, saved_ports, saved_planes,
        )  # fmt: skip
        if new_value <= limit:
            present[:] = trial
            value, present_final = decode(
                succ_indptr, succ_index, next_on_device, in_degree, op_ticks, plane_class, leg_indptr, option_indptr,
                option_plane, option_tx_lane, option_rx_lane, delay, all_stop, duplex, boundary,
                lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch,
                present, ready, start, leg_option, binder, binding, every, saved_ready, saved_lanes, saved_ports,
                saved_planes,
            )  # fmt: skip
            kept += 1
            fresh = True
            if value < best:
                best = value
                order[:] = present
    return best, moves, kept
