"""Transfers over links that never change, relayed from endpoint to endpoint: an event-driven simulation.

Virtual cut-through: a transfer goes on to its next link as soon as its head has arrived there and that link is free. A
link takes transfers in the order in which their heads arrive, ties in order of release, and holds each until its last
bit has left. Every op or leg gets a number when it is released, and has at most one event in the heap at a time: a
head that arrives at a link, or the end of an op. Events are worked off by (time, number).
"""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel
from fluxscale.kernels.event_heap import pop_event, push_event, replace_first
from fluxscale.kernels.relay.buffer import buffer_level, look

ENDED, CUT = 0, 1
NEVER = np.int64(2**62)


@kernel
def relay(
    cutoff, succ_indptr, succ_index, next_on_device, waiting, op_ticks, leg_indptr, leg_op, leg_pair, leg_amount,
    leg_fixed, pair_injection, hop_indptr, hops, link_tail, link_speed, link_planes, link_latency, link_open,
    out_indptr, out_links, in_indptr, in_links, op_start, op_end, link_busy, link_amount, peak,
):  # numpydoc ignore=PR01  # fmt: skip
    """Run an iteration; see the module for the rules.

    ``waiting`` counts each op's predecessors with the one on its device and is used up. ``hops`` holds the links that
    each pair's transfers pass, in order. ``op_start`` must hold NEVER, ``op_end``, ``link_busy``, ``link_amount`` and
    ``peak`` zeros. Nothing is sent on a link before ``link_open``; legs of given duration (``leg_fixed``) drain one
    unit a tick on each of a link's planes and know no latency. Amounts are units, speeds units a tick.

    Returns
    -------
    status
        ENDED, or CUT when the clock passed ``cutoff``.
    ended
        Ops that have ended.
    events
        Events worked off.
    """
    n_ops, n_legs, n_links, n_ends = len(op_end), len(leg_op), len(link_speed), len(peak)
    times, numbers = np.empty(n_ops + n_legs + 1, dtype=np.int64), np.empty(n_ops + n_legs + 1, dtype=np.int64)
    size, events, ended, released = 0, np.int64(0), np.int64(0), np.int64(0)
    released_what = np.empty(n_ops + n_legs, dtype=np.int64)  # a leg, or ~op of an op without legs
    hop_at, all_in, hand_rate = (
        np.empty(n_legs, dtype=np.int64), np.empty(n_legs, dtype=np.int64), np.empty(n_legs, dtype=np.int64)
    )  # fmt: skip
    legs_left = np.empty(n_ops, dtype=np.int32)
    link_free = link_open.copy()
    in_end, in_rate = np.zeros(n_links, dtype=np.int64), np.zeros(n_links, dtype=np.int64)
    hand_times, hand_legs = np.empty(n_legs + 1, dtype=np.int64), np.empty(n_legs + 1, dtype=np.int64)
    hand_size = 0
    own_since, own_missing, own_rate = (
        np.zeros(n_ends, dtype=np.int64), np.zeros(n_ends, dtype=np.int64), np.zeros(n_ends, dtype=np.int64)
    )  # fmt: skip

    ready = np.empty(n_ops, dtype=np.int64)
    n_ready, now = 0, np.int64(0)
    for op in range(n_ops):
        if waiting[op] == 0:
            ready[n_ready] = op
            n_ready += 1
    while True:
        for i in range(n_ready):
            op = ready[i]
            first, stop = leg_indptr[op], leg_indptr[op + 1]
            legs_left[op] = stop - first
            if first == stop:
                op_start[op] = now
                released_what[released] = ~op
                size = push_event(times, numbers, size, now + op_ticks[op], released)
                released += 1
            for leg in range(first, stop):
                hop_at[leg] = hop_indptr[leg_pair[leg]]
                all_in[leg] = 0
                released_what[released] = leg
                size = push_event(times, numbers, size, now, released)
                released += 1
        n_ready = 0
        if size == 0:
            break
        now, number = times[0], numbers[0]
        if now > cutoff:
            return CUT, ended, events
        events += 1
        while hand_size > 0 and hand_times[0] <= now:
            moment, done = hand_times[0], hand_legs[0]
            hand_size = pop_event(hand_times, hand_legs, hand_size)
            end = link_tail[hops[hop_indptr[leg_pair[done]]]]
            look(
                end, moment, own_since, own_missing, own_rate, peak, out_indptr, out_links, in_indptr, in_links,
                link_speed, link_open, link_free, in_end, in_rate,
            )  # fmt: skip
            level = buffer_level(
                end, moment, own_missing[end], out_indptr, out_links, in_indptr, in_links, link_speed, link_open,
                link_free, in_end, in_rate,
            )  # fmt: skip
            peak[end] = max(peak[end], level)
            own_rate[end] -= hand_rate[done]

        what = released_what[number]
        leg = max(what, np.int64(0))
        pair = leg_pair[leg] if what >= 0 else 0
        if what < 0 or hop_at[leg] == hop_indptr[pair + 1]:
            size = pop_event(times, numbers, size)
            op = ~what if what < 0 else np.int64(leg_op[leg])
            op_end[op] = now
            ended += 1
            for i in range(succ_indptr[op], succ_indptr[op + 1]):
                follower = succ_index[i]
                waiting[follower] -= 1
                if waiting[follower] == 0:
                    ready[n_ready] = follower
                    n_ready += 1
            follower = next_on_device[op]
            if follower >= 0:
                waiting[follower] -= 1
                if waiting[follower] == 0:
                    ready[n_ready] = follower
                    n_ready += 1
            continue

        at = hop_at[leg]
        link = hops[at]
        fixed = leg_fixed[leg]
        amount = leg_amount[leg]
        tail = link_tail[link]
        look(
            tail, now, own_since, own_missing, own_rate, peak, out_indptr, out_links, in_indptr, in_links, link_speed,
            link_open, link_free, in_end, in_rate,
        )  # fmt: skip
        need = -(-amount // (link_planes[link] if fixed else link_speed[link]))
        begin = max(now, link_free[link])
        end_of_hold = max(begin + need, all_in[leg])
        link_free[link] = end_of_hold
        link_busy[link] += need
        link_amount[link] += amount
        carried = (end_of_hold - begin) * link_speed[link]
        op = np.int64(leg_op[leg])
        if at == hop_indptr[pair]:
            op_start[op] = min(op_start[op], begin)
            # A hand-over that is slower than the link: the buffer is empty once the link has caught up.
            handed = min(now - (-carried // pair_injection[pair]), end_of_hold)
            if handed > now:
                hand_rate[leg] = carried // (handed - now)
                own_rate[tail] += hand_rate[leg]
                own_missing[tail] += hand_rate[leg] * (handed - now)
                hand_size = push_event(hand_times, hand_legs, hand_size, handed, leg)
        elif all_in[leg] > now:
            over = hops[at - 1]
            missing = carried
            if in_end[over] > now:  # only where legs without latency overtake the light of others
                missing += in_rate[over] * (in_end[over] - now)
            in_end[over] = max(in_end[over], all_in[leg])
            in_rate[over] = missing // (in_end[over] - now)
        level = buffer_level(
            tail, now, own_missing[tail], out_indptr, out_links, in_indptr, in_links, link_speed, link_open, link_free,
            in_end, in_rate,
        )  # fmt: skip
        peak[tail] = max(peak[tail], level)

        latency = np.int64(0) if fixed else link_latency[link]
        all_in[leg] = end_of_hold + latency
        hop_at[leg] = at + 1
        if at + 1 < hop_indptr[pair + 1]:
            replace_first(times, numbers, size, begin + latency, number)
            continue
        op_end[op] = max(op_end[op], all_in[leg])
        legs_left[op] -= 1
        if legs_left[op] == 0:
            replace_first(times, numbers, size, op_end[op], number)
        else:
            size = pop_event(times, numbers, size)

    for end in range(n_ends):
        look(
            end, now, own_since, own_missing, own_rate, peak, out_indptr, out_links, in_indptr, in_links, link_speed,
            link_open, link_free, in_end, in_rate,
        )  # fmt: skip
    return ENDED, ended, events
