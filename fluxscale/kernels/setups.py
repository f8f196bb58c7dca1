"""Set-up arcs: orders on ports that precedence fixes."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import inlined, kernel


@inlined
def _reaches(bits, column, first, second):  # numpydoc ignore=PR01
    """Whether op ``first`` must end before op ``second`` starts."""
    bit = column[second]
    return (bits[first, bit >> 6] >> np.uint64(bit & 63)) & np.uint64(1) != 0


@kernel
def _grown(values, room):  # numpydoc ignore=PR01
    """Copy an array into a longer one."""
    longer = np.empty(room, dtype=values.dtype)
    longer[: len(values)] = values
    return longer


@kernel
def setup_arcs(indptr, member, leg_op, leg_tx, leg_rx, delay, position, bits, column):  # numpydoc ignore=PR01
    """List the set-ups that precedence fixes: pairs of legs on one port, with different circuits and ordered ops.

    Of the ops before a leg's op on its port only those are listed that precede no other listed one: the rest follows.

    Parameters
    ----------
    indptr, member, delay
        Legs and set-up time of each port (:func:`fluxscale.kernels.port_load.members_by_port`).
    position
        Place of each op in a topological order.
    bits, column
        Reachability (:func:`fluxscale.kernels.closure.reach_bits`).

    Returns
    -------
    source, target, gap
        int32, int32, int64: ``start[target] >= end[source] + gap``.
    """
    room, count = 1024, 0
    source, target, gap = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int64)
    longest = 0
    for port in range(len(indptr) - 1):
        longest = max(longest, indptr[port + 1] - indptr[port])
    listed = np.empty(longest, dtype=np.int32)
    for port in range(len(indptr) - 1):
        first, n = indptr[port], indptr[port + 1] - indptr[port]
        if n < 2 or delay[port] == 0:
            continue
        op = np.empty(n, dtype=np.int32)
        peer = np.empty(n, dtype=np.int32)
        for k in range(n):
            leg = member[first + k]
            op[k] = leg_op[leg if leg >= 0 else ~leg]
            peer[k] = leg_rx[leg] if leg >= 0 else leg_tx[~leg]
        by_order = np.argsort(position[op])
        for later in range(1, n):
            j = by_order[later]
            n_listed = 0
            for earlier in range(later - 1, -1, -1):
                i = by_order[earlier]
                if peer[i] == peer[j] or not _reaches(bits, column, op[i], op[j]):
                    continue
                covered = False
                for k in range(n_listed):
                    if op[i] == listed[k] or _reaches(bits, column, op[i], listed[k]):
                        covered = True
                        break
                if not covered:
                    listed[n_listed] = op[i]
                    n_listed += 1
                    if count == room:
                        room *= 2
                        source, target, gap = _grown(source, room), _grown(target, room), _grown(gap, room)
                    source[count], target[count], gap[count] = op[i], op[j], delay[port]
                    count += 1
    return source[:count], target[:count], gap[:count]
