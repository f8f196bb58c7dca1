"""Kernel that closes a set of ops under the paths between them, within a stretch of the incumbent's order."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel


@kernel
def hull(
    seeds, low, high, limit, base, stamp, position,
    succ_indptr, succ_index, next_on_device, pred_indptr, pred_index, prev_on_device,
    leg_indptr, leg_entry, entry_port, entry_op,
):  # numpydoc ignore=PR01  # fmt: skip
    """Ops of ``seeds`` and all that lie on a path between two of them: by precedence, device order or port sequence.

    All seeds are distinct and have positions in ``[low, high)``; so has every path between them. ``stamp`` int32
    ``[n]`` is scratch whose values are below ``base`` (at least 1); this call writes ``base`` and ``base + 1``. Returns
    int32 ops, seeds first; empty where the search forward meets more than ``limit`` ops.
    """
    queue = np.empty(limit, dtype=np.int32)
    count = 0
    for op in seeds:
        if count == limit:
            return queue[:0]
        queue[count] = op
        count += 1
        stamp[op] = base
    n_entries = len(entry_op)
    done = 0
    while done < count:
        op = queue[done]
        done += 1
        for step in range(succ_indptr[op], succ_indptr[op + 1] + 1 + 2 * (leg_indptr[op + 1] - leg_indptr[op])):
            if step < succ_indptr[op + 1]:
                other = succ_index[step]
            elif step == succ_indptr[op + 1]:
                other = next_on_device[op]
            else:
                entry = leg_entry[2 * leg_indptr[op] + step - succ_indptr[op + 1] - 1]
                inside = entry + 1 < n_entries and entry_port[entry + 1] == entry_port[entry]
                other = entry_op[entry + 1] if inside else -1
            if other >= 0 and position[other] < high and stamp[other] < base:
                if count == limit:
                    return queue[:0]
                stamp[other] = base
                queue[count] = other
                count += 1
    found = np.empty(count, dtype=np.int32)
    size = 0
    for op in seeds:
        stamp[op] = base + 1
        found[size] = op
        size += 1
    done = 0
    while done < size:
        op = found[done]
        done += 1
        for step in range(pred_indptr[op], pred_indptr[op + 1] + 1 + 2 * (leg_indptr[op + 1] - leg_indptr[op])):
            if step < pred_indptr[op + 1]:
                other = pred_index[step]
            elif step == pred_indptr[op + 1]:
                other = prev_on_device[op]
            else:
                entry = leg_entry[2 * leg_indptr[op] + step - pred_indptr[op + 1] - 1]
                other = entry_op[entry - 1] if entry > 0 and entry_port[entry - 1] == entry_port[entry] else -1
            # what the search forward did not meet is behind no seed, so no path to it ends in one
            if other >= 0 and position[other] >= low and stamp[other] == base:
                stamp[other] = base + 1
                found[size] = other
                size += 1
    return found[:size]
