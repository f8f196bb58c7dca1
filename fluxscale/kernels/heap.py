"""A binary heap of 64-bit keys in a plain array."""

from __future__ import annotations

from fluxscale._numba import kernel


@kernel
def heap_pop(keys, size):  # numpydoc ignore=PR01
    """Remove the root: walk the hole down to a leaf along the smaller children.

    Then lift the last key from there. Returns the new size.
    """
    last = keys[size - 1]
    size -= 1
    at = 0
    child = 1
    while child + 1 < size:
        if keys[child + 1] < keys[child]:
            child += 1
        keys[at] = keys[child]
        at = child
        child = 2 * at + 1
    if child < size:
        keys[at] = keys[child]
        at = child
    heap_lift(keys, at, last)
    return size


@kernel
def heap_lift(keys, at, key):  # numpydoc ignore=PR01
    """Put a key at a free place and lift it until its parent is smaller."""
    while at > 0:
        parent = (at - 1) >> 1
        if key >= keys[parent]:
            break
        keys[at] = keys[parent]
        at = parent
    keys[at] = key
