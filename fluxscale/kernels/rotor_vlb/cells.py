"""Cells of the rotor simulation: a hash table from (sender, receiver) to what waits, and the lists that hang on it."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import inlined, kernel
from fluxscale.kernels.rotor_vlb.records import (
    AFTER,
    BEFORE,
    CALENDAR,
    CAPACITY,
    CELLS,
    CHUNK_AMOUNT,
    CHUNK_HEAD,
    CHUNK_LEG,
    CHUNK_NEXT,
    CHUNK_TAIL,
    CHUNKS,
    FREE,
    LEFT,
    LEG_HEAD,
    LEG_TAIL,
    LOAD,
    NEXT,
    ORDER,
    OWN_FIRST,
    OWN_LAST,
    RX,
    SENT,
    TX,
)

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@inlined
def slot_of(tx, rx, table):  # numpydoc ignore=PR01
    """Where the search for a cell begins; the length of the table is a power of two."""
    key = (np.uint64(tx) << np.uint64(32)) | np.uint64(rx)
    return np.int64((key * GOLDEN) >> np.uint64(32)) & (len(table) - 1)


@inlined
def find(tx, rx, cell, table):  # numpydoc ignore=PR01
    """Cell of a sender and a receiver, -1 if there is none."""
    at = slot_of(tx, rx, table)
    found = np.int64(table[at])
    while found >= 0 and (cell[found, TX] != tx or cell[found, RX] != rx):
        at = (at + 1) & (len(table) - 1)
        found = np.int64(table[at])
    return found


@kernel
def add_cell(tx, rx, capacity, state, cell, table):  # numpydoc ignore=PR01
    """Make a cell that is not there yet; there must be room. Returns it."""
    made = state[CELLS]
    state[CELLS] += 1
    cell[made, :] = -1
    cell[made, TX] = tx
    cell[made, RX] = rx
    cell[made, CAPACITY] = capacity
    cell[made, LOAD] = 0
    cell[made, SENT] = 0
    cell[made, CALENDAR] = 0
    enter(made, cell, table)
    return made


@inlined
def enter(which, cell, table):  # numpydoc ignore=PR01
    """Put a cell into the table."""
    at = slot_of(cell[which, TX], cell[which, RX], table)
    while table[at] >= 0:
        at = (at + 1) & (len(table) - 1)
    table[at] = which


@kernel
def filled_table(n_cells, room, cell):  # numpydoc ignore=PR01
    """Make a table for up to ``room`` cells, at most half full, and put the first ``n_cells`` in."""
    length = 16
    while length < 2 * room:
        length *= 2
    table = np.full(length, -1, dtype=np.int32)
    for which in range(n_cells):
        enter(which, cell, table)
    return table


@kernel
def longer_rows(rows, room):  # numpydoc ignore=PR01
    """Return the same rows in a table of twice the length and ``room`` more."""
    out = np.empty((2 * len(rows) + room, rows.shape[1]), dtype=np.int64)
    out[: len(rows)] = rows
    return out


@kernel
def longer(column, room):  # numpydoc ignore=PR01
    """Return the same values in a column of twice the length and ``room`` more."""
    out = np.empty(2 * len(column) + room, dtype=np.int64)
    out[: len(column)] = column
    return out


@inlined
def new_chunk(of_leg, amount, state, chunk):  # numpydoc ignore=PR01
    """Take a free chunk, or the next one; there must be room."""
    made = state[FREE]
    if made >= 0:
        state[FREE] = chunk[made, CHUNK_NEXT]
    else:
        made = state[CHUNKS]
        state[CHUNKS] += 1
    chunk[made, CHUNK_LEG] = of_leg
    chunk[made, CHUNK_AMOUNT] = amount
    chunk[made, CHUNK_NEXT] = -1
    return made


@inlined
def take_chunk(which, take, state, cell, chunk):  # numpydoc ignore=PR01
    """Take units of the first chunk of a cell."""
    first = cell[which, CHUNK_HEAD]
    chunk[first, CHUNK_AMOUNT] -= take
    if chunk[first, CHUNK_AMOUNT] == 0:
        cell[which, CHUNK_HEAD] = chunk[first, CHUNK_NEXT]
        if cell[which, CHUNK_HEAD] < 0:
            cell[which, CHUNK_TAIL] = -1
        chunk[first, CHUNK_NEXT] = state[FREE]
        state[FREE] = first


@inlined
def append_leg(which, tx, of_leg, cell, leg, endpoint):  # numpydoc ignore=PR01
    """Put a leg behind the others of its cell; a cell without any goes behind the others of its endpoint."""
    if cell[which, LEG_HEAD] >= 0:
        leg[cell[which, LEG_TAIL], NEXT] = of_leg
    else:
        cell[which, LEG_HEAD] = of_leg
        last = endpoint[tx, OWN_LAST]
        cell[which, BEFORE] = last
        cell[which, AFTER] = -1
        if last >= 0:
            cell[last, AFTER] = which
        else:
            endpoint[tx, OWN_FIRST] = which
        endpoint[tx, OWN_LAST] = which
    cell[which, LEG_TAIL] = of_leg


@kernel
def take_leg(which, tx, take, cell, leg, endpoint):  # numpydoc ignore=PR01
    """Take units of the first leg of a cell; once it has none left, the cell moves to where its next leg belongs."""
    first = cell[which, LEG_HEAD]
    leg[first, LEFT] -= take
    if leg[first, LEFT] > 0:
        return
    head = leg[first, NEXT]
    cell[which, LEG_HEAD] = head
    after = cell[which, AFTER]
    if head >= 0 and (after < 0 or leg[cell[after, LEG_HEAD], ORDER] > leg[head, ORDER]):
        return
    before = cell[which, BEFORE]
    if before >= 0:
        cell[before, AFTER] = after
    else:
        endpoint[tx, OWN_FIRST] = after
    if after >= 0:
        cell[after, BEFORE] = before
    else:
        endpoint[tx, OWN_LAST] = before
    if head < 0:
        cell[which, LEG_TAIL] = -1
        return
    while after >= 0 and leg[cell[after, LEG_HEAD], ORDER] < leg[head, ORDER]:
        before = after
        after = cell[after, AFTER]
    cell[which, BEFORE] = before
    cell[which, AFTER] = after
    cell[before, AFTER] = which
    if after >= 0:
        cell[after, BEFORE] = which
    else:
        endpoint[tx, OWN_LAST] = which
