"""Rows of circuits per pair, possibly on several planes at once, made into disjoint windows with summed speeds."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel


@kernel
def merge_rows(
    row_indptr, row_from, row_to, row_plane, plane_speed, plane_latency,
    win_indptr, win_from, win_to, win_speed, win_planes, win_latency, win_mask,
):  # numpydoc ignore=PR01  # fmt: skip
    """Merge each pair's rows (CSR by pair, sorted by ``from`` within one) into windows; returns their number.

    Rows of one plane do not overlap. The window columns hold at most twice as many entries as there are rows.
    ``win_mask`` has one bit for each plane that is up.
    """
    count = 0
    for pair in range(len(row_indptr) - 1):
        win_indptr[pair] = count
        first, stop = row_indptr[pair], row_indptr[pair + 1]
        # Rows that are open, at most one a plane.
        at = first
        n_open = 0
        open_rows = np.empty(stop - first, dtype=np.int64)
        now = np.int64(0)
        while at < stop or n_open > 0:
            if n_open == 0:
                now = max(now, row_from[at])
            while at < stop and row_from[at] <= now:
                open_rows[n_open] = at
                n_open += 1
                at += 1
            until = row_from[at] if at < stop else np.int64(2**62)
            for k in range(n_open):
                until = min(until, row_to[open_rows[k]])
            if until > now and n_open > 0:
                speed, latency, mask = np.int64(0), np.int64(0), np.int64(0)
                for k in range(n_open):
                    plane = row_plane[open_rows[k]]
                    speed += plane_speed[plane]
                    latency = max(latency, plane_latency[plane])
                    mask |= np.int64(1) << plane
                previous = count - 1
                if previous >= win_indptr[pair] and win_to[previous] == now and win_mask[previous] == mask:
                    win_to[previous] = until
                else:
                    win_from[count], win_to[count] = now, until
                    win_speed[count], win_planes[count] = speed, n_open
                    win_latency[count], win_mask[count] = latency, mask
                    count += 1
                now = until
            kept = 0
            for k in range(n_open):
                if row_to[open_rows[k]] > now:
                    open_rows[kept] = open_rows[k]
                    kept += 1
            n_open = kept
    win_indptr[len(row_indptr) - 1] = count
    return count


@kernel
def cycle_units(win_indptr, win_from, win_to, win_speed, win_planes, units, ticks):  # numpydoc ignore=PR01
    """Units, and plane-ticks, that each pair can send in all its windows once."""
    for pair in range(len(win_indptr) - 1):
        for at in range(win_indptr[pair], win_indptr[pair + 1]):
            units[pair] += (win_to[at] - win_from[at]) * win_speed[at]
            ticks[pair] += (win_to[at] - win_from[at]) * win_planes[at]
