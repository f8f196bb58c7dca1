"""Fluid simulation of a training iteration: ops run when they may, transfers send whenever their circuit is up.

Circuits are exclusive, so a pair's progress depends on nothing but its own windows. The kernel therefore has no event
for a circuit that opens or closes: when a transfer comes to the head of its pair's queue, its end is computed at once
(:mod:`fluxscale.kernels.fluid.walk`). Events are ends of ops, ends of sending, and hand-over ends at which a NIC's
buffer may be at its peak.

Numbers of events: op ends (the op), op begins (n + op), ends of sending (2 n + pair), hand-over ends (2 n + Q + leg).
At one moment they are worked off in this order, so the buffer is looked at when all else has happened.
"""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel
from fluxscale.kernels.event_heap import pop_event, push_event
from fluxscale.kernels.fluid.buffer import buffer_level
from fluxscale.kernels.fluid.walk import NEVER, trace_walk, walk

HEAP, CLOCK, EVENTS, QUEUED, DONE, PIECES = 0, 1, 2, 3, 4, 5
"""Places in ``state``: heap size, clock, events, legs in queues, ops that ended, pieces written down."""

ENDED, PAUSED, CUT = 0, 1, 2
"""What :func:`advance` returns: nothing left to happen, the horizon is reached, the cutoff is passed."""


@kernel
def advance(
    horizon, cutoff, origin, n_pairs,
    # the instance
    op_kind, op_ticks, succ_indptr, succ_index, next_on_device, leg_indptr, leg_op, leg_pair, leg_fixed, not_before,
    # the program
    win_indptr, win_from, win_to, win_speed, win_planes, win_latency, pair_cycle, pair_floor, pair_units, pair_ticks,
    win_used,
    # what is going on
    state, heap_time, heap_number, waiting, op_start, op_end, op_arrival, op_legs, leg_left, leg_next, pair_head,
    pair_tail, pair_since, pair_sending,
    # the buffers
    leg_size, leg_size_speed, leg_released, leg_evaluated, handing_next, endpoint_handing, endpoint_queued,
    endpoint_peak, pair_tx, pair_queued, leg_injection, endpoint_indptr, endpoint_active, endpoint_count, pair_place,
    # the trace
    tracing, piece_leg, piece_window, piece_from, piece_to, piece_amount,
):  # numpydoc ignore=PR01  # fmt: skip
    """Work off all events up to and including ``horizon``; see the module for the rules.

    Kinds of ops: 0 compute, 3 local, others have legs. ``state`` is int64 ``[6]``. Returns ENDED, PAUSED or CUT.
    """
    n = len(op_kind)
    size, clock, events, queued = state[HEAP], state[CLOCK], state[EVENTS], state[QUEUED]
    done, pieces = state[DONE], state[PIECES]
    status = PAUSED
    while True:
        if size == 0:
            status = ENDED if queued == 0 else PAUSED
            break
        if heap_time[0] > cutoff:
            status = CUT
            break
        if heap_time[0] > horizon:
            break
        clock, number = heap_time[0], heap_number[0]
        size = pop_event(heap_time, heap_number, size)
        events += 1
        ended = np.int64(-1)
        if number >= 2 * n + n_pairs:
            leg = number - 2 * n - n_pairs
            endpoint = pair_tx[leg_pair[leg]]
            level = buffer_level(
                endpoint, clock, origin, leg_pair, leg_left, leg_fixed, leg_size, leg_size_speed, leg_released,
                handing_next, endpoint_handing, pair_head, pair_since, pair_floor, pair_queued, leg_injection,
                endpoint_indptr, endpoint_active, endpoint_count, win_indptr, win_from, win_to, win_speed, win_planes,
                pair_cycle, pair_units, pair_ticks,
            )  # fmt: skip
            endpoint_peak[endpoint] = max(endpoint_peak[endpoint], level)
            continue
        if number >= 2 * n:
            pair = number - 2 * n
            leg = pair_head[pair]
            op = leg_op[leg]
            size_now = _rest(leg, leg_left, leg_fixed, leg_size, leg_size_speed)
            pair_queued[pair] -= size_now
            endpoint_queued[pair_tx[pair]] -= size_now
            leg_left[leg] = 0
            queued -= 1
            pair_head[pair] = leg_next[leg]
            if pair_head[pair] < 0:
                pair_tail[pair] = -1
                _deactivate(pair, pair_tx[pair], endpoint_indptr, endpoint_active, endpoint_count, pair_place)
            op_legs[op] -= 1
            if op_legs[op] == 0:
                if op_arrival[op] > clock:
                    size = push_event(heap_time, heap_number, size, op_arrival[op], op)
                else:
                    ended = op
            if pair_head[pair] >= 0:
                size, events, pieces = _send(
                    pair, clock, horizon, origin, n, leg_op, leg_fixed, win_indptr, win_from, win_to, win_speed,
                    win_planes, win_latency, pair_cycle, pair_floor, pair_units, pair_ticks, win_used, heap_time,
                    heap_number, size, events, op_start, op_arrival, leg_left, pair_head, pair_since, pair_sending,
                    tracing, piece_leg, piece_window, piece_from, piece_to, piece_amount, pieces,
                )  # fmt: skip
        elif number >= n:
            op = number - n
            if op_kind[op] == 0 or op_kind[op] == 3:
                op_start[op] = clock
                size = push_event(heap_time, heap_number, size, clock + op_ticks[op], op)
            else:
                op_start[op] = NEVER
                op_legs[op] = leg_indptr[op + 1] - leg_indptr[op]
                if op_legs[op] == 0:
                    op_start[op] = clock
                    ended = op
                for leg in range(leg_indptr[op], leg_indptr[op + 1]):
                    pair = leg_pair[leg]
                    endpoint = pair_tx[pair]
                    events += 1
                    queued += 1
                    leg_next[leg] = -1
                    leg_released[leg] = clock
                    pair_queued[pair] += leg_size[leg]
                    endpoint_queued[endpoint] += leg_size[leg]
                    handing_next[leg] = endpoint_handing[endpoint]
                    endpoint_handing[endpoint] = leg
                    idle = pair_head[pair] < 0
                    if idle:
                        pair_head[pair] = leg
                        first = endpoint_indptr[endpoint]
                        pair_place[pair] = endpoint_count[endpoint]
                        endpoint_active[first + endpoint_count[endpoint]] = pair
                        endpoint_count[endpoint] += 1
                    else:
                        leg_next[pair_tail[pair]] = leg
                    pair_tail[pair] = leg
                    if endpoint_queued[endpoint] > endpoint_peak[endpoint]:
                        # The level cannot exceed what is queued, so below the peak nobody needs to look.
                        size = _look_later(
                            endpoint, clock, 2 * n + n_pairs, leg_pair, leg_size, leg_released, leg_evaluated,
                            handing_next, endpoint_handing, leg_injection, heap_time, heap_number, size,
                        )  # fmt: skip
                    if idle:
                        size, events, pieces = _send(
                            pair, clock, horizon, origin, n, leg_op, leg_fixed, win_indptr, win_from, win_to,
                            win_speed, win_planes, win_latency, pair_cycle, pair_floor, pair_units, pair_ticks,
                            win_used, heap_time, heap_number, size, events, op_start, op_arrival, leg_left, pair_head,
                            pair_since, pair_sending, tracing, piece_leg, piece_window, piece_from, piece_to,
                            piece_amount, pieces,
                        )  # fmt: skip
        else:
            ended = number
        if ended >= 0:
            op_end[ended] = clock
            done += 1
            last = succ_indptr[ended + 1]
            for at in range(succ_indptr[ended], last + 1):
                after = succ_index[at] if at < last else next_on_device[ended]
                if after >= 0:
                    waiting[after] -= 1
                    if waiting[after] == 0:
                        size = push_event(heap_time, heap_number, size, max(clock, not_before[after]), n + after)
    state[HEAP], state[CLOCK], state[EVENTS], state[QUEUED] = size, clock, events, queued
    state[DONE], state[PIECES] = done, pieces
    return status


@kernel
def _look_later(
    endpoint, now, first_number, leg_pair, leg_size, leg_released, leg_evaluated, handing_next, endpoint_handing,
    leg_injection, heap_time, heap_number, size,
):  # fmt: skip
    """Make an event of every hand-over end that an endpoint still has before it; forget the ended ones.

    The peak is at such an end or one tick before, as the level rises in between.
    """
    before = np.int64(-1)
    leg = endpoint_handing[endpoint]
    while leg >= 0:
        after = handing_next[leg]
        over = leg_released[leg] + -(-leg_size[leg] // leg_injection[leg])
        if over < now:
            if before < 0:
                endpoint_handing[endpoint] = after
            else:
                handing_next[before] = after
        else:
            before = leg
            if not leg_evaluated[leg]:
                leg_evaluated[leg] = True
                size = push_event(heap_time, heap_number, size, over, first_number + leg)
                if over > now:
                    # In its last tick a hand-over may fall behind the sending.
                    size = push_event(heap_time, heap_number, size, over - 1, first_number + leg)
        leg = after
    return size


@kernel
def _rest(leg, leg_left, leg_fixed, leg_size, leg_size_speed):
    """Bytes (in units) that a leg's rest stands for."""
    if leg_fixed[leg]:
        return min(leg_size[leg], leg_left[leg] * leg_size_speed[leg])
    return leg_left[leg]


@kernel
def _deactivate(pair, endpoint, endpoint_indptr, endpoint_active, endpoint_count, pair_place):
    """Take a pair out of its endpoint's list; the last one fills the gap."""
    first = endpoint_indptr[endpoint]
    endpoint_count[endpoint] -= 1
    last = endpoint_active[first + endpoint_count[endpoint]]
    endpoint_active[first + pair_place[pair]] = last
    pair_place[last] = pair_place[pair]


@kernel
def _send(
    pair, now, horizon, origin, n, leg_op, leg_fixed, win_indptr, win_from, win_to, win_speed, win_planes, win_latency,
    pair_cycle, pair_floor, pair_units, pair_ticks, win_used, heap_time, heap_number, size, events, op_start,
    op_arrival, leg_left, pair_head, pair_since, pair_sending, tracing, piece_leg, piece_window, piece_from, piece_to,
    piece_amount, pieces,
):  # fmt: skip
    """Let the head of a pair send from ``now`` on; its end becomes an event if it comes by the horizon."""
    leg = pair_head[pair]
    op = leg_op[leg]
    fixed = leg_fixed[leg]
    begin = max(now, pair_floor[pair])
    low, high = win_indptr[pair], win_indptr[pair + 1]
    per_cycle = pair_ticks[pair] if fixed else pair_units[pair]
    if tracing:
        pieces = trace_walk(
            leg, leg_left[leg], begin, horizon, origin, pair_cycle[pair], low, high, fixed, win_from, win_to, win_speed,
            win_planes, piece_leg, piece_window, piece_from, piece_to, piece_amount, pieces,
        )  # fmt: skip
    finish, left, first, arrival, steps = walk(
        leg_left[leg], begin, horizon, origin, pair_cycle[pair], low, high, fixed, per_cycle, win_from, win_to,
        win_speed, win_planes, win_latency, win_used,
    )  # fmt: skip
    events += steps
    pair_since[pair] = begin
    pair_sending[pair] = left
    op_start[op] = min(op_start[op], first)
    op_arrival[op] = max(op_arrival[op], arrival)
    if finish < NEVER:
        size = push_event(heap_time, heap_number, size, finish, 2 * n + pair)
    return size, events, pieces


@kernel
def settle(
    horizon, origin, n_pairs, op_kind, leg_op, leg_fixed, leg_size, leg_size_speed, pair_tx, pair_head, pair_sending,
    leg_left, pair_queued, endpoint_queued,
):  # numpydoc ignore=PR01  # fmt: skip
    """At the horizon, book what the heads that did not finish have sent; returns how many pairs still wait."""
    waiting = 0
    for pair in range(n_pairs):
        leg = pair_head[pair]
        if leg < 0:
            continue
        waiting += 1
        before = _rest(leg, leg_left, leg_fixed, leg_size, leg_size_speed)
        leg_left[leg] = pair_sending[pair]
        change = before - _rest(leg, leg_left, leg_fixed, leg_size, leg_size_speed)
        pair_queued[pair] -= change
        endpoint_queued[pair_tx[pair]] -= change
    return waiting


@kernel
def resume(
    now, horizon, origin, n_pairs,
    op_kind, leg_op, leg_fixed, win_indptr, win_from, win_to, win_speed, win_planes, win_latency, pair_cycle,
    pair_floor, pair_units, pair_ticks, win_used, state, heap_time, heap_number, op_start, op_arrival, leg_left,
    pair_head, pair_since, pair_sending, tracing, piece_leg, piece_window, piece_from, piece_to, piece_amount,
):  # numpydoc ignore=PR01  # fmt: skip
    """Let all waiting heads go on from ``now`` in a new program."""
    size, events, pieces = state[HEAP], state[EVENTS], state[PIECES]
    for pair in range(n_pairs):
        if pair_head[pair] >= 0:
            size, events, pieces = _send(
                pair, now, horizon, origin, len(op_kind), leg_op, leg_fixed, win_indptr, win_from, win_to, win_speed,
                win_planes, win_latency, pair_cycle, pair_floor, pair_units, pair_ticks, win_used, heap_time,
                heap_number, size, events, op_start, op_arrival, leg_left, pair_head, pair_since, pair_sending,
                tracing, piece_leg, piece_window, piece_from, piece_to, piece_amount, pieces,
            )  # fmt: skip
    state[HEAP], state[EVENTS], state[PIECES] = size, events, pieces
