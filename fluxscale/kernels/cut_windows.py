"""Kernel that cuts the transfers of a stage group into time windows of about equally many order pairs."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel


@kernel
def cut_windows(ops, leg_indptr, leg_tx, leg_rx, budget, first_budget, counts):  # numpydoc ignore=PR01
    """First places of windows in ``ops`` (a group's transfers in the order of their starts), int64, ``len(ops)`` last.

    A window ends before the transfer with which the pairs of legs that share a sending or a receiving endpoint (both:
    counted twice) would exceed ``budget``; ``first_budget`` for the first window, which shifts all others. ``counts``
    int64 ``[2 E]`` is scratch, all zero before and after.
    """
    cuts = np.empty(len(ops) + 2, dtype=np.int64)
    cuts[0] = 0
    n_cuts = 1
    pairs = np.int64(0)
    allowed = first_budget
    begin = 0
    half = len(counts) // 2
    for at in range(len(ops)):
        op = ops[at]
        added = np.int64(0)
        for leg in range(leg_indptr[op], leg_indptr[op + 1]):
            added += counts[leg_tx[leg]] + counts[half + leg_rx[leg]]
        if pairs + added > allowed and at > begin:
            for done in range(begin, at):
                for leg in range(leg_indptr[ops[done]], leg_indptr[ops[done] + 1]):
                    counts[leg_tx[leg]] = 0
                    counts[half + leg_rx[leg]] = 0
            cuts[n_cuts] = at
            n_cuts += 1
            begin, pairs, added, allowed = at, np.int64(0), np.int64(0), budget
        pairs += added
        for leg in range(leg_indptr[op], leg_indptr[op + 1]):
            counts[leg_tx[leg]] += 1
            counts[half + leg_rx[leg]] += 1
    for done in range(begin, len(ops)):
        for leg in range(leg_indptr[ops[done]], leg_indptr[ops[done] + 1]):
            counts[leg_tx[leg]] = 0
            counts[half + leg_rx[leg]] = 0
    cuts[n_cuts] = len(ops)
    return cuts[: n_cuts + 1]
