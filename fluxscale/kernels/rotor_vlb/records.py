"""Records of the rotor simulation: what the columns of its int64 tables mean.

A record per thing keeps what belongs together in one or two cache lines. Tables with a ``next`` column are linked
lists, -1 ends them.
"""

from __future__ import annotations

HEAP, CELLS, CHUNKS, FREE, SEQUENCE, EVENTS, ELSEWHERE, ITEMS, RELAYED = range(9)
"""``state``: events in the heap, cells and chunks made, first free chunk, legs released so far, events worked off,
units sent between endpoints that are no pair of the instance, items sent, and those of them that went to a relay."""

N_STATE = 9

OCS_PLANE, OCS_FIRST, OCS_SIZE, OCS_ROUNDS, OCS_AHEAD, OCS_OPEN, OCS_CLOSE, OCS_FLOOR = range(8)
OCS_LATENCY, OCS_SPEED, OCS_TWO_WAY, OCS_WORD, OCS_OWN, OCS_ARMED = range(8, 14)
"""``ocs``: plane, first place, endpoints, rounds, rounds that it is ahead, when the circuits of a slot come up and go
down after its begin, earliest time of all, latency, speed, whether ports are two-way, first word of its bits in
``bits``, endpoints with traffic of their own, whether an event for its next slot is in the heap."""

N_OCS = 14

OF_OCS, ENDPOINT, RANK, LEG, AMOUNT, START, SPEED, TARGET = range(8)
TRANSIT_HEAD, TRANSIT_TAIL, PICKED, TRIED = range(8, 12)
"""``place``, one endpoint on one OCS: its OCS, endpoint and rank there; the item that it sends: leg, units, since when,
how fast, where to (a cell, or ARRIVES, or nothing: IDLE); chunks under way to relays; when it was last told to look for
an item, and when it last looked for an indirect one."""

N_PLACE = 12
IDLE, ARRIVES = -2, -1

TX, RX, LOAD, CAPACITY, LEG_HEAD, LEG_TAIL, CHUNK_HEAD, CHUNK_TAIL, BEFORE, AFTER, SENT, CALENDAR = range(12)
"""``cell``, all that waits at one endpoint for another: the two; load (own and relayed, on its way included) and its
limit for relays; lists of own legs and of relayed chunks; neighbours among the cells of the endpoint with own legs;
units sent over this circuit; planes (one bit each) for which an event at its next circuit is in the heap."""

N_CELL = 12

CHUNK_LEG, CHUNK_AMOUNT, CHUNK_NEXT, CHUNK_CELL = range(4)
"""``chunk``, relayed units: leg, how many, the next of its list, where they are stored."""

N_CHUNK = 4

LEFT, DUE, NEXT, ORDER, RELEASED, HANDING, LOOKED = range(7)
"""``leg``: units that nobody has taken, that have not arrived; the next one of its cell, its number in order of
release, its release, the next one that is being handed over, whether the end of that has become an event."""

N_LEG = 7

OWN_FIRST, OWN_LAST, HANDED, QUEUED, PEAK = range(5)
"""``endpoint``: cells with own legs in order of release, legs being handed over, units (of buffer) of all that waits or
is being sent, and the largest level so far."""

N_ENDPOINT = 5

MOVE, OP_END, OP_BEGIN, DIRECT, INDIRECT, LOOK = range(6)
"""Kinds of events, in the order in which those of one moment are worked off."""

KIND_SHIFT = 40
