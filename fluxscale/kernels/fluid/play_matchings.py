"""Matchings played one after the other: when each circuit is up, what changes and what that darkens."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel


@kernel
def play_matchings(
    matchings, durations, delay, all_stop, dark_start, held, held_by, up_from, up_to, is_setup
):  # numpydoc ignore=PR01
    """Play matchings ``[M, N]`` from time 0 on, each for its duration after the dark time that it needs.

    A circuit that both its ports still hold stays up under the per-port rule; on an all-stop plane everything goes dark
    when anything changes. Without a dark start, ports that never held a circuit need no dark time. ``held`` and
    ``held_by`` (int32 ``[N]``, -1: none yet) are what the ports hold, and are updated; two-way ports pass one array
    for both. Fills ``up_from`` and ``up_to`` int64 ``[M, N]`` and ``is_setup`` bool ``[M, N]``, by sender.

    Returns
    -------
    end
        When the last matching ends.
    dark_slots
        Number of matchings that needed dark time.
    """
    now = np.int64(0)
    dark_slots = 0
    for m in range(len(matchings)):
        changed = False
        for tx in range(matchings.shape[1]):
            rx = matchings[m, tx]
            is_setup[m, tx] = False
            if rx < 0:
                continue
            new_tx = held[tx] != rx and (held[tx] >= 0 or dark_start)
            new_rx = held_by[rx] != tx and (held_by[rx] >= 0 or dark_start)
            if new_tx or new_rx:
                is_setup[m, tx] = True
                changed = True
        up = now + (delay if changed else 0)
        dark_slots += changed
        end = up + durations[m]
        for tx in range(matchings.shape[1]):
            rx = matchings[m, tx]
            if rx < 0:
                continue
            up_from[m, tx] = up if is_setup[m, tx] or all_stop else now
            up_to[m, tx] = end
            held[tx] = rx
            held_by[rx] = tx
        now = end
    return now, dark_slots
