"""How far a pair's transfer gets in the windows in which its circuit is up.

The windows of a pair are disjoint and in order, ``[from, to)`` relative to the origin of the program, each with a speed
(units a tick), the number of planes that send in it and a latency. With ``cycle > 0`` they repeat, and whole cycles are
skipped by division, so a transfer costs its windows in one cycle and not its cycles.
"""

from __future__ import annotations

import numpy as np

from fluxscale._numba import inlined, kernel

NEVER = np.int64(2**62)


@inlined
def first_window(win_to, low, high, x):  # numpydoc ignore=PR01
    """First window in ``[low, high)`` that ends after ``x``."""
    while low < high:
        middle = (low + high) >> 1
        if win_to[middle] > x:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def walk(
    amount, now, limit, origin, cycle, low, high, fixed, units_a_cycle,
    win_from, win_to, win_speed, win_planes, win_latency, win_used,
):  # numpydoc ignore=PR01  # fmt: skip
    """Send ``amount`` from ``now`` on, but not beyond ``limit``, and count the used time of each window.

    Returns
    -------
    finish
        When the last unit leaves, NEVER if that is not by ``limit``.
    left
        What is left at ``limit``.
    first
        When the first unit leaves, NEVER if none does.
    arrival
        Largest end of a piece plus the latency of its window.
    steps
        Windows that were used, counted one by one.
    """
    first, arrival, steps = NEVER, np.int64(0), np.int64(0)
    if amount == 0:
        # Nothing to send needs no circuit, but takes its way.
        late = np.int64(0) if fixed or low == high else win_latency[low]
        return now, amount, now, now + late, steps
    if low == high:
        return NEVER, amount, first, arrival, steps
    base = np.int64(0)
    x = now - origin
    if cycle > 0:
        base = x // cycle * cycle
        x -= base
    end = limit - origin
    at = first_window(win_to, low, high, x)
    while True:
        while at < high:
            begin = max(x, win_from[at])
            if base + begin > end:
                return NEVER, amount, first, arrival, steps
            speed = win_planes[at] if fixed else win_speed[at]
            latency = 0 if fixed else win_latency[at]
            stop = min(win_to[at], end - base)
            if stop > begin:
                first = min(first, origin + base + begin)
                steps += 1
                need = -(-amount // speed)
                if need <= stop - begin:
                    win_used[at] += need
                    finish = origin + base + begin + need
                    return finish, np.int64(0), first, max(arrival, finish + latency), steps
                amount -= (stop - begin) * speed
                win_used[at] += stop - begin
                arrival = max(arrival, origin + base + stop + latency)
            if stop < win_to[at]:
                return NEVER, amount, first, arrival, steps
            at += 1
        if cycle == 0 or units_a_cycle == 0:
            return NEVER, amount, first, arrival, steps
        base += cycle
        whole = max(np.int64(0), min((amount - 1) // units_a_cycle, (end - base) // cycle))
        if whole > 0:
            amount -= whole * units_a_cycle
            for w in range(low, high):
                win_used[w] += whole * (win_to[w] - win_from[w])
                latency = 0 if fixed else win_latency[w]
                arrival = max(arrival, origin + base + (whole - 1) * cycle + win_to[w] + latency)
            first = min(first, origin + base + win_from[low])
            steps += whole * (high - low)
            base += whole * cycle
        x = np.int64(0)
        at = low


@kernel
def sent_by(
    amount, now, until, origin, cycle, low, high, fixed, units_a_cycle, win_from, win_to, win_speed, win_planes
):  # numpydoc ignore=PR01  # fmt: skip
    """Units of ``amount`` that leave in ``[now, until)``."""
    total = np.int64(0)
    base = np.int64(0)
    x = now - origin
    if low == high or until <= now:
        return total
    if cycle > 0:
        base = x // cycle * cycle
        x -= base
    end = until - origin
    at = first_window(win_to, low, high, x)
    while True:
        while at < high:
            begin, stop = max(x, win_from[at]), min(win_to[at], end - base)
            if stop > begin:
                total += (stop - begin) * (win_planes[at] if fixed else win_speed[at])
            if total >= amount:
                return amount
            if base + win_to[at] >= end:
                return total
            at += 1
        if cycle == 0 or units_a_cycle == 0:
            return total
        base += cycle
        if base >= end:
            return total
        whole = (end - base) // cycle
        total += whole * units_a_cycle
        if total >= amount or total < 0:
            return amount
        base += whole * cycle
        x = np.int64(0)
        at = low


@kernel
def trace_walk(
    leg, amount, now, limit, origin, cycle, low, high, fixed, win_from, win_to, win_speed, win_planes,
    piece_leg, piece_window, piece_from, piece_to, piece_amount, count,
):  # numpydoc ignore=PR01  # fmt: skip
    """Write down the pieces of a walk, one for each window; returns the new number of pieces."""
    if low == high:
        return count
    base = np.int64(0)
    x = now - origin
    if cycle > 0:
        base = x // cycle * cycle
        x -= base
    end = limit - origin
    at = first_window(win_to, low, high, x)
    while amount > 0:
        if at == high:
            if cycle == 0:
                return count
            base += cycle
            x = np.int64(0)
            at = low
            continue
        begin = max(x, win_from[at])
        if base + begin >= end or count >= len(piece_leg):
            return count
        speed = win_planes[at] if fixed else win_speed[at]
        span = min(min(win_to[at], end - base) - begin, -(-amount // speed))
        sent = min(amount, span * speed)
        if span > 0:
            piece_leg[count] = leg
            piece_window[count] = at
            piece_from[count] = origin + base + begin
            piece_to[count] = origin + base + begin + span
            piece_amount[count] = sent
            count += 1
        amount -= sent
        at += 1
    return count
