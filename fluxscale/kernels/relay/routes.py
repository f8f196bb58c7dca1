"""Shortest paths over directed links, by breadth-first search from every endpoint that sends."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import inlined, kernel


@inlined
def spread(source, stamp, low, high, pair_rx, out_indptr, out_links, link_head, seen, level, queue, wanted):
    # numpydoc ignore=PR01
    """Label endpoints with their distance from ``source`` until all receivers of pairs ``[low, high)`` have one."""
    missing = 0
    for q in range(low, high):
        if wanted[pair_rx[q]] != stamp:
            wanted[pair_rx[q]] = stamp
            missing += 1
    seen[source] = stamp
    level[source] = 0
    if wanted[source] == stamp:
        missing -= 1
    queue[0] = source
    first, last = 0, 1
    while first < last and missing > 0:
        end = queue[first]
        first += 1
        for i in range(out_indptr[end], out_indptr[end + 1]):
            other = link_head[out_links[i]]
            if seen[other] != stamp:
                seen[other] = stamp
                level[other] = level[end] + 1
                queue[last] = other
                last += 1
                if wanted[other] == stamp:
                    missing -= 1


@kernel
def count_hops(pair_tx, pair_rx, out_indptr, out_links, link_head, hop_count):  # numpydoc ignore=PR01
    """Fewest links from sender to receiver of each pair, -1 where there is no way; pairs in ascending order."""
    n_ends = len(out_indptr) - 1
    seen, wanted = np.full(n_ends, -1, dtype=np.int64), np.full(n_ends, -1, dtype=np.int64)
    level, queue = np.empty(n_ends, dtype=np.int32), np.empty(n_ends, dtype=np.int32)
    low = 0
    while low < len(pair_tx):
        high = low
        while high < len(pair_tx) and pair_tx[high] == pair_tx[low]:
            high += 1
        spread(
            pair_tx[low], low, low, high, pair_rx, out_indptr, out_links, link_head, seen, level, queue, wanted
        )  # fmt: skip
        for q in range(low, high):
            hop_count[q] = level[pair_rx[q]] if seen[pair_rx[q]] == low else -1
        low = high


@kernel
def find_routes(
    pair_tx, pair_rx, pair_units, pair_ticks, out_indptr, out_links, in_indptr, in_links, link_tail, link_head,
    link_speed, link_planes, hop_indptr, hops, load,
):  # numpydoc ignore=PR01  # fmt: skip
    """Links of a shortest path of each pair, in order; all pairs must have one.

    Pairs are routed one after the other in ascending order and walked back from the receiver; where several links
    lead there on a shortest path, the one with the least send time of the pairs before is taken, then the first.
    ``pair_units`` and ``pair_ticks`` are what a pair's transfers by bytes and those of given duration add up to;
    ``load`` (zeros) is filled with the send time of each link.
    """
    n_ends = len(out_indptr) - 1
    seen, wanted = np.full(n_ends, -1, dtype=np.int64), np.full(n_ends, -1, dtype=np.int64)
    level, queue = np.empty(n_ends, dtype=np.int32), np.empty(n_ends, dtype=np.int32)
    low = 0
    while low < len(pair_tx):
        high = low
        while high < len(pair_tx) and pair_tx[high] == pair_tx[low]:
            high += 1
        spread(
            pair_tx[low], low, low, high, pair_rx, out_indptr, out_links, link_head, seen, level, queue, wanted
        )  # fmt: skip
        for q in range(low, high):
            end = pair_rx[q]
            at = hop_indptr[q + 1]
            while end != pair_tx[q]:
                best = np.int64(-1)
                for i in range(in_indptr[end], in_indptr[end + 1]):
                    link = np.int64(in_links[i])
                    tail = link_tail[link]
                    if seen[tail] == low and level[tail] == level[end] - 1 and (best < 0 or load[link] < load[best]):
                        best = link
                load[best] += -(-pair_units[q] // link_speed[best]) - (-pair_ticks[q] // link_planes[best])
                at -= 1
                hops[at] = best
                end = link_tail[best]
        low = high
