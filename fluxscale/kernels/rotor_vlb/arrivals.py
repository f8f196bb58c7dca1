"""What comes to an endpoint of a rotor fabric: legs that are released there, chunks that it is to relay."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel
from fluxscale.kernels.event_heap import push_event
from fluxscale.kernels.rotor_vlb.buffer import look, look_later
from fluxscale.kernels.rotor_vlb.cells import append_leg
from fluxscale.kernels.rotor_vlb.items import tell
from fluxscale.kernels.rotor_vlb.records import (
    CALENDAR,
    CHUNK_AMOUNT,
    CHUNK_CELL,
    CHUNK_HEAD,
    CHUNK_LEG,
    CHUNK_NEXT,
    CHUNK_TAIL,
    DIRECT,
    DUE,
    HANDED,
    HANDING,
    HEAP,
    KIND_SHIFT,
    LEFT,
    LOAD,
    NEXT,
    OCS_ARMED,
    OCS_FIRST,
    OCS_OWN,
    OCS_PLANE,
    OCS_WORD,
    OF_OCS,
    ORDER,
    OWN_FIRST,
    QUEUED,
    RANK,
    RELEASED,
    RX,
    SEQUENCE,
    TX,
)
from fluxscale.kernels.rotor_vlb.turns import is_up, next_meeting, next_slot, receiver


@kernel
def release(
    of_leg, now, slot, fixed_load, leg_pair, leg_amount, leg_fixed, leg_weight, leg_injection, place_at, times, numbers,
    state, ocs, place, bits, cell, leg, endpoint,
):  # numpydoc ignore=PR01  # fmt: skip
    """Queue a leg at its sender, begin its hand-over, and wake the sender's circuits."""
    which, amount = np.int64(leg_pair[of_leg]), leg_amount[of_leg]
    sender = cell[which, TX]
    leg[of_leg, LEFT] = amount
    leg[of_leg, DUE] = amount
    leg[of_leg, NEXT] = -1
    leg[of_leg, ORDER] = state[SEQUENCE]
    leg[of_leg, RELEASED] = now
    state[SEQUENCE] += 1
    cell[which, LOAD] += amount * (fixed_load if leg_fixed[of_leg] else 1)
    idle = endpoint[sender, OWN_FIRST] < 0
    append_leg(which, sender, of_leg, cell, leg, endpoint)
    endpoint[sender, QUEUED] += amount * leg_weight[of_leg]
    leg[of_leg, HANDING] = endpoint[sender, HANDED]
    endpoint[sender, HANDED] = of_leg
    look_later(sender, now, leg_amount, leg_weight, leg_injection, times, numbers, state, leg, endpoint)
    for plane in range(place_at.shape[1]):
        here = np.int64(place_at[sender, plane])
        if here < 0:
            continue
        tell(here, now, slot, times, numbers, state, ocs, place)
        if idle:
            o = place[here, OF_OCS]
            rank = place[here, RANK]
            bits[ocs[o, OCS_WORD] + (rank >> 6)] |= np.uint64(1) << np.uint64(rank & 63)
            ocs[o, OCS_OWN] += 1
            if not ocs[o, OCS_ARMED]:
                ocs[o, OCS_ARMED] = 1
                begin = next_slot(ocs, o, slot, now)
                state[HEAP] = push_event(
                    times, numbers, state[HEAP], begin, (DIRECT << KIND_SHIFT) + 2 * ocs[o, OCS_FIRST]
                )


@kernel
def store(
    stored, now, slot, leg_amount, leg_weight, leg_injection, place_at, times, numbers, state, ocs, place, cell, chunk,
    leg, endpoint,
):  # numpydoc ignore=PR01  # fmt: skip
    """Put a chunk into the cell that it is meant for, and see that somebody fetches it."""
    which = chunk[stored, CHUNK_CELL]
    between = cell[which, TX]
    if cell[which, CHUNK_HEAD] < 0:
        cell[which, CHUNK_HEAD] = stored
    else:
        chunk[cell[which, CHUNK_TAIL], CHUNK_NEXT] = stored
    cell[which, CHUNK_TAIL] = stored
    endpoint[between, QUEUED] += chunk[stored, CHUNK_AMOUNT] * leg_weight[chunk[stored, CHUNK_LEG]]
    look_later(between, now, leg_amount, leg_weight, leg_injection, times, numbers, state, leg, endpoint)
    look(between, now, leg_amount, leg_weight, leg_injection, place_at, place, leg, endpoint)
    for plane in range(place_at.shape[1]):
        here, there = np.int64(place_at[between, plane]), np.int64(place_at[cell[which, RX], plane])
        if here < 0 or there < 0 or place[here, OF_OCS] != place[there, OF_OCS]:
            continue
        o = place[here, OF_OCS]
        mark = np.int64(1) << ocs[o, OCS_PLANE]
        if not cell[which, CALENDAR] & mark:
            cell[which, CALENDAR] |= mark
            begin = next_meeting(ocs, o, slot, place[here, RANK], place[there, RANK], now)
            state[HEAP] = push_event(times, numbers, state[HEAP], begin, (DIRECT << KIND_SHIFT) + 2 * here + 1)
        if is_up(ocs, o, slot, now) and receiver(ocs, o, place[here, RANK], now // slot) == place[there, RANK]:
            tell(here, now, slot, times, numbers, state, ocs, place)
