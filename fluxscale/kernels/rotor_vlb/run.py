"""RotorNet with RotorLB: circuits rotate through fixed matchings, spare capacity carries traffic over one relay.

Rules. On every OCS slots follow each other; within a slot its circuits are up from ``open`` to ``close``. At each
moment, first what comes to an end does so: items (which arrive or are stored at the relay) and ops; ops that may begin
do. Then every idle circuit that is up takes *direct* work, in order of place: relayed units for its receiver, else the
sender's own ones, the leg released first; circuits of several planes that go the same way share it. Then those still
idle whose slot has just begun, whose item has just ended or whose sender was just given something take *indirect* work:
own units for others on the same OCS, oldest release first, as many as the receiver accepts: what it has for their
destination, own and relayed, may not exceed what it can send there in one slot. An item ends at the latest with its
slot. Last, buffers are looked at.

Only places with own traffic look for work in every slot; who has relayed units only has an event when the circuit that
they wait for comes up. Where nothing waits, no time passes.
"""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel
from fluxscale.kernels.event_heap import pop_event, push_event
from fluxscale.kernels.rotor_vlb.arrivals import release, store
from fluxscale.kernels.rotor_vlb.buffer import look
from fluxscale.kernels.rotor_vlb.cells import filled_table, longer, longer_rows, new_chunk
from fluxscale.kernels.rotor_vlb.items import pick_direct, pick_indirect, tell
from fluxscale.kernels.rotor_vlb.records import (
    AMOUNT,
    ARRIVES,
    CELLS,
    CHUNK_CELL,
    CHUNK_NEXT,
    CHUNKS,
    DIRECT,
    DUE,
    ENDPOINT,
    EVENTS,
    HEAP,
    IDLE,
    INDIRECT,
    KIND_SHIFT,
    LEG,
    LOOK,
    MOVE,
    N_CHUNK,
    N_LEG,
    OCS_ARMED,
    OCS_LATENCY,
    OCS_OWN,
    OCS_SIZE,
    OCS_WORD,
    OF_OCS,
    OP_BEGIN,
    OP_END,
    OWN_FIRST,
    PICKED,
    QUEUED,
    TARGET,
    TRANSIT_HEAD,
    TRANSIT_TAIL,
    TX,
)
from fluxscale.kernels.rotor_vlb.turns import next_slot

ENDED, CUT, TOO_LONG = 0, 1, 2
"""What :func:`rotor_vlb` returns: everything has ended, the clock passed the cutoff, there were too many events."""

NEVER = np.int64(2**62)


@kernel
def rotor_vlb(
    slot, cutoff, most_events, fixed_load, succ_indptr, succ_index, next_on_device, waiting, op_ticks, leg_indptr,
    leg_op, leg_pair, leg_amount, leg_fixed, leg_weight, leg_injection, pair_latency, place_at, ocs, place, bits, cell,
    op_start, op_end, endpoint, plane_busy, state,
):  # numpydoc ignore=PR01  # fmt: skip
    """Run an iteration; see the module for the rules and ``rotor_vlb_records`` for the tables.

    ``waiting`` counts each op's predecessors with the one on its device, ``cell`` holds the pairs of the instance and
    nothing else, ``place_at`` int32 ``[E, P]`` the place of an endpoint on a plane (-1: none). A unit of a leg is
    ``leg_weight`` units of buffer, and ``fixed_load`` units of load if its duration is given. ``op_start`` must hold
    NEVER, ``op_end`` 0. Returns a status and the cells, those of the pairs first.
    """
    n_ops, n_legs, n_pairs, n_places = len(op_end), len(leg_op), len(cell), len(place)
    # Room for all that one event can add: ops, hand-over ends, items, events of slots and of places.
    reserve = n_ops + n_legs + 4 * (n_places + len(ocs)) + 8
    times, numbers = np.empty(2 * reserve, dtype=np.int64), np.empty(2 * reserve, dtype=np.int64)
    cell = longer_rows(cell, n_places + 8)
    table = filled_table(n_pairs, len(cell), cell)
    chunk = np.empty((1024, N_CHUNK), dtype=np.int64)
    leg = np.zeros((n_legs, N_LEG), dtype=np.int64)
    legs_left = np.zeros(n_ops, dtype=np.int32)
    for op in range(n_ops):
        if waiting[op] == 0:
            state[HEAP] = push_event(times, numbers, state[HEAP], np.int64(0), (OP_BEGIN << KIND_SHIFT) + op)
    while state[HEAP] > 0:
        if len(times) - state[HEAP] < reserve:
            times, numbers = longer(times, reserve), longer(numbers, reserve)
        if len(cell) - state[CELLS] <= n_places:
            cell = longer_rows(cell, n_places)
            table = filled_table(state[CELLS], len(cell), cell)
        if state[CHUNKS] == len(chunk):
            chunk = longer_rows(chunk, 0)
        now, number = times[0], numbers[0]
        if now > cutoff:
            of_op = number >> KIND_SHIFT == OP_END or number >> KIND_SHIFT == OP_BEGIN
            if of_op or np.any(waiting > 0) or np.any(legs_left > 0):
                return CUT, cell
            # All that is left are slots with nothing to send.
            break
        state[HEAP] = pop_event(times, numbers, state[HEAP])
        state[EVENTS] += 1
        if state[EVENTS] > most_events:
            return TOO_LONG, cell
        kind, what = number >> KIND_SHIFT, number & ((1 << KIND_SHIFT) - 1)
        if kind == MOVE:
            here = what >> 1
            stored = np.int64(-1)
            if what & 1:
                of_leg, amount, target = place[here, LEG], place[here, AMOUNT], place[here, TARGET]
                place[here, TARGET] = IDLE
                sender = place[here, ENDPOINT]
                endpoint[sender, QUEUED] -= amount * leg_weight[of_leg]
                latency = np.int64(0) if leg_fixed[of_leg] else ocs[place[here, OF_OCS], OCS_LATENCY]
                if target == ARRIVES:
                    op = np.int64(leg_op[of_leg])
                    op_end[op] = max(op_end[op], now + latency)
                    leg[of_leg, DUE] -= amount
                    if leg[of_leg, DUE] == 0:
                        legs_left[op] -= 1
                        if legs_left[op] == 0:
                            code = (OP_END << KIND_SHIFT) + op
                            state[HEAP] = push_event(times, numbers, state[HEAP], op_end[op], code)
                else:
                    stored = new_chunk(of_leg, amount, state, chunk)
                    chunk[stored, CHUNK_CELL] = target
                    if latency > 0:
                        if place[here, TRANSIT_HEAD] < 0:
                            place[here, TRANSIT_HEAD] = stored
                        else:
                            chunk[place[here, TRANSIT_TAIL], CHUNK_NEXT] = stored
                        place[here, TRANSIT_TAIL] = stored
                        code = (MOVE << KIND_SHIFT) + 2 * here
                        state[HEAP] = push_event(times, numbers, state[HEAP], now + latency, code)
                        stored = np.int64(-1)
                look(sender, now, leg_amount, leg_weight, leg_injection, place_at, place, leg, endpoint)
                tell(here, now, slot, times, numbers, state, ocs, place)
            else:
                stored = place[here, TRANSIT_HEAD]
                place[here, TRANSIT_HEAD] = chunk[stored, CHUNK_NEXT]
                chunk[stored, CHUNK_NEXT] = -1
            if stored >= 0:
                store(
                    stored, now, slot, leg_amount, leg_weight, leg_injection, place_at, times, numbers, state, ocs,
                    place, cell, chunk, leg, endpoint,
                )  # fmt: skip
        elif kind == OP_END:
            op_end[what] = now
            last = succ_indptr[what + 1]
            for at in range(succ_indptr[what], last + 1):
                after = np.int64(succ_index[at] if at < last else next_on_device[what])
                if after >= 0:
                    waiting[after] -= 1
                    if waiting[after] == 0:
                        state[HEAP] = push_event(times, numbers, state[HEAP], now, (OP_BEGIN << KIND_SHIFT) + after)
        elif kind == OP_BEGIN:
            first, stop = leg_indptr[what], leg_indptr[what + 1]
            if first == stop:
                op_start[what] = now
                op_end[what] = now + op_ticks[what]
            for of_leg in range(first, stop):
                if leg_amount[of_leg] > 0:
                    legs_left[what] += 1
                    release(
                        of_leg, now, slot, fixed_load, leg_pair, leg_amount, leg_fixed, leg_weight, leg_injection,
                        place_at, times, numbers, state, ocs, place, bits, cell, leg, endpoint,
                    )  # fmt: skip
                else:
                    # Nothing to send needs no circuit, but takes its way.
                    latency = np.int64(0) if leg_fixed[of_leg] else pair_latency[leg_pair[of_leg]]
                    op_start[what] = now
                    op_end[what] = max(op_end[what], now + latency)
            if legs_left[what] == 0:
                state[HEAP] = push_event(times, numbers, state[HEAP], op_end[what], (OP_END << KIND_SHIFT) + what)
        elif kind == LOOK:
            sender = cell[leg_pair[what], TX]
            look(sender, now, leg_amount, leg_weight, leg_injection, place_at, place, leg, endpoint)
        else:
            # An odd number is that of one place, an even one that of all places of an OCS with own traffic.
            first = what >> 1
            o = place[first, OF_OCS]
            last = first + (1 if what & 1 else ocs[o, OCS_SIZE])
            here = first
            while here < last:
                if not what & 1:
                    rank = here - first
                    word = bits[ocs[o, OCS_WORD] + (rank >> 6)] >> np.uint64(rank & 63)
                    if word == np.uint64(0):
                        here = first + ((rank >> 6) + 1) * 64
                        continue
                    if not word & np.uint64(1):
                        here += 1
                        continue
                if kind == DIRECT:
                    pick_direct(
                        here, now, slot, n_pairs, fixed_load, leg_op, leg_amount, leg_fixed, leg_weight, leg_injection,
                        place_at, times, numbers, state, ocs, place, bits, cell, table, chunk, leg, endpoint, op_start,
                        plane_busy,
                    )  # fmt: skip
                else:
                    pick_indirect(
                        here, now, slot, n_pairs, fixed_load, leg_op, leg_amount, leg_fixed, leg_weight, leg_injection,
                        place_at, times, numbers, state, ocs, place, bits, cell, table, leg, endpoint, op_start,
                        plane_busy,
                    )  # fmt: skip
                here += 1
            if kind == DIRECT:
                told = not what & 1
                if not told and place[first, PICKED] == now and place[first, TARGET] == IDLE:
                    told = endpoint[place[first, ENDPOINT], OWN_FIRST] >= 0
                if told:
                    state[HEAP] = push_event(times, numbers, state[HEAP], now, (INDIRECT << KIND_SHIFT) + what)
            elif not what & 1:
                if ocs[o, OCS_OWN] > 0:
                    begin = next_slot(ocs, o, slot, now)
                    state[HEAP] = push_event(times, numbers, state[HEAP], begin, (DIRECT << KIND_SHIFT) + what)
                else:
                    ocs[o, OCS_ARMED] = 0
    return ENDED, cell
