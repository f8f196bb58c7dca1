"""NIC buffers of the rotor simulation: own bytes handed over and not sent, and relayed bytes that are stored."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel
from fluxscale.kernels.event_heap import push_event
from fluxscale.kernels.rotor_vlb.records import (
    AMOUNT,
    HANDED,
    HANDING,
    HEAP,
    IDLE,
    KIND_SHIFT,
    LEG,
    LOOK,
    LOOKED,
    PEAK,
    QUEUED,
    RELEASED,
    SPEED,
    START,
    TARGET,
)


@kernel
def look(
    which, now, leg_amount, leg_weight, leg_injection, place_at, place, leg, endpoint
):  # numpydoc ignore=PR01  # fmt: skip
    """Note the level of an endpoint's buffer at ``now``, if it can be a peak at all.

    All that is queued, less what the running items have sent, less what is still to be handed over; legs whose
    hand-over has ended leave the endpoint's list here. Sending faster than hand-over is clipped at an empty buffer.
    """
    if endpoint[which, QUEUED] <= endpoint[which, PEAK]:
        return
    level = endpoint[which, QUEUED]
    for plane in range(place_at.shape[1]):
        here = place_at[which, plane]
        if here >= 0 and place[here, TARGET] != IDLE:
            sent = min(place[here, AMOUNT], place[here, SPEED] * (now - place[here, START]))
            level -= sent * leg_weight[place[here, LEG]]
    before = np.int64(-1)
    one = endpoint[which, HANDED]
    while one >= 0:
        after = leg[one, HANDING]
        size, elapsed = leg_amount[one] * leg_weight[one], now - leg[one, RELEASED]
        if elapsed < -(-size // leg_injection[one]):
            level -= max(np.int64(0), size - leg_injection[one] * elapsed)
            before = one
        elif before < 0:
            endpoint[which, HANDED] = after
        else:
            leg[before, HANDING] = after
        one = after
    endpoint[which, PEAK] = max(endpoint[which, PEAK], level)


@kernel
def look_later(
    which, now, leg_amount, leg_weight, leg_injection, times, numbers, state, leg, endpoint
):  # numpydoc ignore=PR01  # fmt: skip
    """Make an event of each hand-over end that an endpoint still has before it, once what is queued passes the peak.

    Below the peak nobody needs to look: the level cannot exceed what is queued.
    """
    if endpoint[which, QUEUED] <= endpoint[which, PEAK]:
        return
    before = np.int64(-1)
    one = endpoint[which, HANDED]
    while one >= 0:
        after = leg[one, HANDING]
        over = leg[one, RELEASED] + -(-(leg_amount[one] * leg_weight[one]) // leg_injection[one])
        if over >= now:
            before = one
            if not leg[one, LOOKED]:
                leg[one, LOOKED] = 1
                state[HEAP] = push_event(times, numbers, state[HEAP], over, (LOOK << KIND_SHIFT) + one)
        elif before < 0:
            endpoint[which, HANDED] = after
        else:
            leg[before, HANDING] = after
        one = after
