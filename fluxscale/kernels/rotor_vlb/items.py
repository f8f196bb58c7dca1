"""What a circuit of a rotor sends next (RotorLB): relayed units, its sender's own ones, own ones for a relay."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import inlined, kernel
from fluxscale.kernels.event_heap import push_event
from fluxscale.kernels.rotor_vlb.buffer import look
from fluxscale.kernels.rotor_vlb.cells import add_cell, find, take_chunk, take_leg
from fluxscale.kernels.rotor_vlb.records import (
    AFTER,
    AMOUNT,
    ARRIVES,
    CALENDAR,
    CAPACITY,
    CHUNK_AMOUNT,
    CHUNK_HEAD,
    CHUNK_LEG,
    DIRECT,
    ELSEWHERE,
    ENDPOINT,
    HEAP,
    IDLE,
    ITEMS,
    KIND_SHIFT,
    LEFT,
    LEG,
    LEG_HEAD,
    LOAD,
    MOVE,
    OCS_CLOSE,
    OCS_FIRST,
    OCS_OPEN,
    OCS_OWN,
    OCS_PLANE,
    OCS_ROUNDS,
    OCS_SPEED,
    OCS_WORD,
    OF_OCS,
    OWN_FIRST,
    PICKED,
    RANK,
    RELAYED,
    RX,
    SENT,
    SPEED,
    START,
    TARGET,
    TRIED,
)
from fluxscale.kernels.rotor_vlb.turns import is_up, receiver, slot_begin

LIMIT = np.int64(2**61)


@inlined
def tell(here, now, slot, times, numbers, state, ocs, place):  # numpydoc ignore=PR01
    """Have an idle place look for an item when all else of this moment has happened, if its circuits are up."""
    if place[here, TARGET] == IDLE and place[here, PICKED] != now and is_up(ocs, place[here, OF_OCS], slot, now):
        place[here, PICKED] = now
        state[HEAP] = push_event(times, numbers, state[HEAP], now, (DIRECT << KIND_SHIFT) + 2 * here + 1)


@inlined
def room(ticks, speed):  # numpydoc ignore=PR01
    """Units that go through in some ticks; more than all there are, but no overflow, if those are very many."""
    return min(ticks, LIMIT // speed) * speed


@inlined
def relay_limit(between, to, place_at, ocs, place):  # numpydoc ignore=PR01
    """Units that an endpoint can send to another in one slot, on the best of their planes."""
    most = np.int64(0)
    for plane in range(place_at.shape[1]):
        here, there = place_at[between, plane], place_at[to, plane]
        if here >= 0 and there >= 0 and place[here, OF_OCS] == place[there, OF_OCS]:
            o = place[here, OF_OCS]
            most = max(most, room(ocs[o, OCS_CLOSE] - ocs[o, OCS_OPEN], ocs[o, OCS_SPEED]))
    return most


@inlined
def start_item(
    here, of_leg, take, speed, target, hop, now, n_pairs, times, numbers, state, ocs, place, cell, plane_busy
):  # numpydoc ignore=PR01  # fmt: skip
    """Let a place send; ``hop`` is the cell of its own circuit, -1 if there is none."""
    place[here, LEG] = of_leg
    place[here, AMOUNT] = take
    place[here, START] = now
    place[here, SPEED] = speed
    place[here, TARGET] = target
    ticks = -(-take // speed)
    plane_busy[ocs[place[here, OF_OCS], OCS_PLANE]] += ticks
    state[ITEMS] += 1
    if 0 <= hop < n_pairs:
        cell[hop, SENT] += take
    else:
        state[ELSEWHERE] += take
    state[HEAP] = push_event(times, numbers, state[HEAP], now + ticks, (MOVE << KIND_SHIFT) + 2 * here + 1)


@inlined
def retire(sender, place_at, ocs, place, bits, endpoint):  # numpydoc ignore=PR01
    """Strike an endpoint off those with own traffic, if it has none left."""
    if endpoint[sender, OWN_FIRST] < 0:
        for plane in range(place_at.shape[1]):
            at = np.int64(place_at[sender, plane])
            if at >= 0:
                rank = place[at, RANK]
                bits[ocs[place[at, OF_OCS], OCS_WORD] + (rank >> 6)] ^= np.uint64(1) << np.uint64(rank & 63)
                ocs[place[at, OF_OCS], OCS_OWN] -= 1


@inlined
def goes_along(other, here, now, slot, ocs, place):  # numpydoc ignore=PR01
    """Whether a place of the same endpoint (or the place itself) is idle and up, and reaches the same receiver."""
    along = other == here
    if other >= 0 and not along and place[other, TARGET] == IDLE and is_up(ocs, place[other, OF_OCS], slot, now):
        mine = receiver(ocs, place[here, OF_OCS], place[here, RANK], now // slot)
        its = receiver(ocs, place[other, OF_OCS], place[other, RANK], now // slot)
        mine += ocs[place[here, OF_OCS], OCS_FIRST]
        along = its >= 0 and place[mine, ENDPOINT] == place[ocs[place[other, OF_OCS], OCS_FIRST] + its, ENDPOINT]
    return along


@kernel
def pick_direct(
    here, now, slot, n_pairs, fixed_load, leg_op, leg_amount, leg_fixed, leg_weight, leg_injection, place_at,
    times, numbers, state, ocs, place, bits, cell, table, chunk, leg, endpoint, op_start, plane_busy,
):  # numpydoc ignore=PR01  # fmt: skip
    """Let an idle place whose circuit is up send relayed units for its receiver, else its own ones."""
    if place[here, TARGET] != IDLE:
        return
    o = place[here, OF_OCS]
    turn = now // slot
    begin, end = slot_begin(ocs, o, slot, turn), turn * slot + ocs[o, OCS_CLOSE]
    if now < begin or now >= end:
        return
    to = receiver(ocs, o, place[here, RANK], turn)
    if to < 0:
        return
    sender = place[here, ENDPOINT]
    which = find(sender, place[ocs[o, OCS_FIRST] + to, ENDPOINT], cell, table)
    if which < 0:
        return
    first = cell[which, CHUNK_HEAD]
    of_leg = chunk[first, CHUNK_LEG] if first >= 0 else cell[which, LEG_HEAD]
    if of_leg >= 0:
        fixed = leg_fixed[of_leg]
        speed = np.int64(1) if fixed else ocs[o, OCS_SPEED]
        there = chunk[first, CHUNK_AMOUNT] if first >= 0 else leg[of_leg, LEFT]
        # The circuits of other planes to the same receiver, where they are idle too, take their part.
        together = np.int64(0)
        for plane in range(place_at.shape[1]):
            if goes_along(np.int64(place_at[sender, plane]), here, now, slot, ocs, place):
                together += np.int64(1) if fixed else ocs[place[place_at[sender, plane], OF_OCS], OCS_SPEED]
        take = min(there, room(min(end - now, -(-there // together)), speed))
        cell[which, LOAD] -= take * (fixed_load if fixed else 1)
        if first >= 0:
            take_chunk(which, take, state, cell, chunk)
        else:
            take_leg(which, sender, take, cell, leg, endpoint)
            retire(sender, place_at, ocs, place, bits, endpoint)
            op_start[leg_op[of_leg]] = min(op_start[leg_op[of_leg]], now)
        start_item(
            here, of_leg, take, speed, ARRIVES, which, now, n_pairs, times, numbers, state, ocs, place, cell, plane_busy
        )
        look(sender, now, leg_amount, leg_weight, leg_injection, place_at, place, leg, endpoint)
    mark = np.int64(1) << ocs[o, OCS_PLANE]
    if now == begin and cell[which, CALENDAR] & mark:
        if cell[which, CHUNK_HEAD] >= 0:
            again = slot_begin(ocs, o, slot, turn + ocs[o, OCS_ROUNDS])
            state[HEAP] = push_event(times, numbers, state[HEAP], again, (DIRECT << KIND_SHIFT) + 2 * here + 1)
        else:
            cell[which, CALENDAR] ^= mark


@kernel
def pick_indirect(
    here, now, slot, n_pairs, fixed_load, leg_op, leg_amount, leg_fixed, leg_weight, leg_injection, place_at,
    times, numbers, state, ocs, place, bits, cell, table, leg, endpoint, op_start, plane_busy,
):  # numpydoc ignore=PR01  # fmt: skip
    """Let an idle place whose circuit is up send own units for others, oldest first, as its receiver accepts them."""
    if place[here, TARGET] != IDLE or place[here, TRIED] == now:
        return
    place[here, TRIED] = now
    o = place[here, OF_OCS]
    turn = now // slot
    end = turn * slot + ocs[o, OCS_CLOSE]
    if now < slot_begin(ocs, o, slot, turn) or now >= end:
        return
    rank = receiver(ocs, o, place[here, RANK], turn)
    if rank < 0:
        return
    sender, between = place[here, ENDPOINT], place[ocs[o, OCS_FIRST] + rank, ENDPOINT]
    plane = ocs[o, OCS_PLANE]
    which = endpoint[sender, OWN_FIRST]
    while which >= 0:
        to = cell[which, RX]
        at = place_at[to, plane]
        if to != between and at >= 0 and place[at, OF_OCS] == o:
            of_leg = cell[which, LEG_HEAD]
            fixed = leg_fixed[of_leg]
            load = fixed_load if fixed else np.int64(1)
            speed = np.int64(1) if fixed else ocs[o, OCS_SPEED]
            there = find(between, to, cell, table)
            if there >= 0:
                limit = cell[there, CAPACITY]
                accepted = limit - cell[there, LOAD]
            else:
                limit = relay_limit(between, to, place_at, ocs, place)
                accepted = limit
            take = min(leg[of_leg, LEFT], room(end - now, speed), accepted // load)
            if take > 0:
                if there < 0:
                    there = add_cell(between, to, limit, state, cell, table)
                cell[there, LOAD] += take * load
                cell[which, LOAD] -= take * load
                take_leg(which, sender, take, cell, leg, endpoint)
                retire(sender, place_at, ocs, place, bits, endpoint)
                op_start[leg_op[of_leg]] = min(op_start[leg_op[of_leg]], now)
                state[RELAYED] += 1
                hop = find(sender, between, cell, table)
                start_item(
                    here, of_leg, take, speed, there, hop, now, n_pairs, times, numbers, state, ocs, place, cell,
                    plane_busy,
                )  # fmt: skip
                look(sender, now, leg_amount, leg_weight, leg_injection, place_at, place, leg, endpoint)
                return
        which = cell[which, AFTER]
