"""Kernel that merges port sequences, precedence and device order into one order of all ops."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import inlined, kernel


@inlined
def _before(key, tie, a, b):  # numpydoc ignore=PR01
    """Whether op ``a`` is to be taken before op ``b``."""
    return key[a] < key[b] or (key[a] == key[b] and tie[a] < tie[b])


@inlined
def _push(heap, size, key, tie, op):  # numpydoc ignore=PR01
    """Add an op to the heap of ``size`` ops."""
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        if not _before(key, tie, op, heap[parent]):
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = op


@inlined
def _pop(heap, size, key, tie):  # numpydoc ignore=PR01
    """Take the first op of the heap of ``size`` ops."""
    top = heap[0]
    last = heap[size - 1]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size - 1:
            break
        if child + 1 < size - 1 and _before(key, tie, heap[child + 1], heap[child]):
            child += 1
        if not _before(key, tie, heap[child], last):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = last
    return top


@kernel
def stitch_order(
    succ_indptr, succ_index, next_on_device, in_degree, leg_indptr, leg_entry, entry_port, entry_op, key, tie
):  # numpydoc ignore=PR01
    """Order all ops by precedence, device order and port sequences; among ops that are ready, lowest key first.

    ``in_degree`` int32 ``[n]`` counts predecessors and device only; port sequences are counted here. ``leg_entry``
    int64 ``[2 L]``: place of each leg's sending and receiving end in the port sequences ``entry_port``, ``entry_op``
    (``[2 L]``, grouped by port). ``key`` int64, ``tie`` int32 ``[n]``. Returns the order, int32, and how many ops it
    holds: fewer than n where the sequences contradict each other.
    """
    n = len(key)
    waits = in_degree.copy()
    for entry in range(1, len(entry_op)):
        if entry_port[entry] == entry_port[entry - 1] and entry_op[entry] != entry_op[entry - 1]:
            waits[entry_op[entry]] += 1
    heap = np.empty(n, dtype=np.int32)
    size = 0
    for op in range(n):
        if waits[op] == 0:
            _push(heap, size, key, tie, op)
            size += 1
    order = np.empty(n, dtype=np.int32)
    count = 0
    while size > 0:
        op = _pop(heap, size, key, tie)
        size -= 1
        order[count] = op
        count += 1
        for i in range(succ_indptr[op], succ_indptr[op + 1]):
            other = succ_index[i]
            waits[other] -= 1
            if waits[other] == 0:
                _push(heap, size, key, tie, other)
                size += 1
        other = next_on_device[op]
        if other >= 0:
            waits[other] -= 1
            if waits[other] == 0:
                _push(heap, size, key, tie, other)
                size += 1
        for i in range(2 * leg_indptr[op], 2 * leg_indptr[op + 1]):
            entry = leg_entry[i] + 1
            if entry < len(entry_op) and entry_port[entry] == entry_port[entry - 1] and entry_op[entry] != op:
                other = entry_op[entry]
                waits[other] -= 1
                if waits[other] == 0:
                    _push(heap, size, key, tie, other)
                    size += 1
    return order, count
