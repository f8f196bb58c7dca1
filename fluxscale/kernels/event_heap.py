"""A binary heap of events, smallest (time, number) first, in two plain arrays; the size is kept by the caller."""

from __future__ import annotations

from fluxscale._numba import inlined


@inlined
def push_event(times, numbers, size, time, number):  # numpydoc ignore=PR01
    """Add an event; returns the new size. The arrays must have room."""
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        if times[parent] < time or (times[parent] == time and numbers[parent] <= number):
            break
        times[at] = times[parent]
        numbers[at] = numbers[parent]
        at = parent
    times[at] = time
    numbers[at] = number
    return size + 1


@inlined
def replace_first(times, numbers, size, time, number):  # numpydoc ignore=PR01
    """Put another event in the place of the smallest one; the size stays."""
    at = 0
    child = 1
    while child < size:
        right = child + 1
        if right < size and (
            times[right] < times[child] or (times[right] == times[child] and numbers[right] < numbers[child])
        ):
            child = right
        if time < times[child] or (time == times[child] and number <= numbers[child]):
            break
        times[at] = times[child]
        numbers[at] = numbers[child]
        at = child
        child = 2 * at + 1
    times[at] = time
    numbers[at] = number


@inlined
def pop_event(times, numbers, size):  # numpydoc ignore=PR01
    """Remove the smallest event, which the caller has read at position 0; returns the new size."""
    size -= 1
    replace_first(times, numbers, size, times[size], numbers[size])
    return size
