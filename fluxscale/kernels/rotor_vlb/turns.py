"""Where a rotor stands: whom a port reaches in a slot, and when it reaches a given one next."""

from __future__ import annotations

from fluxscale._numba import inlined
from fluxscale.kernels.rotor_vlb.records import (
    OCS_AHEAD,
    OCS_CLOSE,
    OCS_FLOOR,
    OCS_OPEN,
    OCS_ROUNDS,
    OCS_SIZE,
    OCS_TWO_WAY,
)


@inlined
def receiver(ocs, o, rank, turn):  # numpydoc ignore=PR01
    """Rank that ``rank`` sends to in slot number ``turn``, -1 if it idles: ``matchings.round_robin`` in closed form."""
    rounds = ocs[o, OCS_ROUNDS]
    number = (turn + ocs[o, OCS_AHEAD]) % rounds
    size = ocs[o, OCS_SIZE]
    to = rank + number + 1
    if ocs[o, OCS_TWO_WAY]:
        if rank == rounds:
            to = number
        else:
            to = (2 * number - rank + rounds) % rounds
            if to == rank:
                to = rounds if rounds < size else -1
    elif to >= size:
        to -= size
    return to


@inlined
def meeting(ocs, o, a, b):  # numpydoc ignore=PR01
    """Round in which rank ``a`` sends to rank ``b``."""
    rounds = ocs[o, OCS_ROUNDS]
    number = b - a - 1
    if ocs[o, OCS_TWO_WAY]:
        if a == rounds:
            number = b
        elif b == rounds:
            number = a
        else:
            number = (a + b) * ((rounds + 1) // 2) % rounds
    elif number < 0:
        number += ocs[o, OCS_SIZE]
    return number


@inlined
def slot_begin(ocs, o, slot, turn):  # numpydoc ignore=PR01
    """When the circuits of slot number ``turn`` come up."""
    return max(turn * slot + ocs[o, OCS_OPEN], ocs[o, OCS_FLOOR])


@inlined
def is_up(ocs, o, slot, now):  # numpydoc ignore=PR01
    """Whether the circuits of an OCS are up."""
    into = now % slot
    return ocs[o, OCS_OPEN] <= into < ocs[o, OCS_CLOSE] and now >= ocs[o, OCS_FLOOR]


@inlined
def next_slot(ocs, o, slot, now):  # numpydoc ignore=PR01
    """When circuits come up next, later than ``now``."""
    turn = now // slot
    begin = slot_begin(ocs, o, slot, turn)
    if begin <= now:
        begin = slot_begin(ocs, o, slot, turn + 1)
    return begin


@inlined
def next_meeting(ocs, o, slot, a, b, now):  # numpydoc ignore=PR01
    """When the circuit from rank ``a`` to rank ``b`` comes up next, later than ``now``."""
    rounds = ocs[o, OCS_ROUNDS]
    turn = now // slot
    turn += (meeting(ocs, o, a, b) - ocs[o, OCS_AHEAD] - turn) % rounds
    begin = slot_begin(ocs, o, slot, turn)
    if begin <= now:
        begin = slot_begin(ocs, o, slot, turn + rounds)
    return begin
