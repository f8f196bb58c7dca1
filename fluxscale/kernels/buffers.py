"""Peak of the bytes that have been handed to a NIC and not yet sent, port by port, in one sweep over integer ticks."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel

NEVER = np.int64(2**63 - 1)


@kernel
def last_pred_end(ops, pred_indptr, pred_index, op_end, release):  # numpydoc ignore=PR01
    """Release time of each op in ``ops``: the end of its last predecessor, 0 without any."""
    for i in range(len(ops)):
        latest = np.int64(0)
        for at in range(pred_indptr[ops[i]], pred_indptr[ops[i] + 1]):
            latest = max(latest, op_end[pred_index[at]])
        release[i] = latest


@kernel
def group_by_port(leg_port, port_indptr, port_legs):  # numpydoc ignore=PR01
    """Fill ``port_legs`` with the legs of each port (``port_indptr``: CSR offsets), in ascending order."""
    fill = port_indptr[:-1].copy()
    for leg in range(len(leg_port)):
        port_legs[fill[leg_port[leg]]] = leg
        fill[leg_port[leg]] += 1


@kernel
def port_peaks(
    port_indptr, port_legs, leg_release, leg_start, leg_amount, port_handing, port_sending, peak, peak_at
):  # numpydoc ignore=PR01
    """Largest buffer of each port at any tick, and the first tick at which it is reached.

    Amounts and rates share one unit (millibits, millibits per tick). A leg hands over ``amount`` at rate
    ``handing`` from its release and sends at rate ``sending`` from its start, but never more than was handed
    over. Between two events all rates are constant, so the peak is at a start, or at the last or last but one
    tick of a hand-over.
    """
    for port in range(len(peak)):
        first, stop = port_indptr[port], port_indptr[port + 1]
        count = stop - first
        if count == 0:
            continue
        handing, sending = port_handing[port], port_sending[port]
        begin, handed = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
        start, sent = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
        handed_fix, sent_fix = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
        for i in range(count):
            leg = port_legs[first + i]
            amount = leg_amount[leg]
            start[i] = leg_start[leg]
            begin[i] = min(leg_release[leg], start[i])
            wait = start[i] - begin[i]
            handing_ticks = -(-amount // handing)
            sending_ticks = -(-amount // sending)
            handed[i] = begin[i] + handing_ticks
            sent[i] = start[i] + sending_ticks
            handed_fix[i] = amount - handing * handing_ticks
            sent_fix[i] = amount - sending * sending_ticks
            if handing < sending and wait < handing_ticks:
                caught_up = -(-(handing * wait) // (sending - handing))
                if wait + caught_up <= amount // handing:
                    # Sending has caught up with the hand-over: from here on the leg buffers nothing.
                    handed[i] = sent[i] = start[i] + caught_up
                    handed_fix[i] = 0
                    sent_fix[i] = handing * (wait + caught_up) - sending * caught_up
        by_begin, by_handed = np.argsort(begin), np.argsort(handed)
        by_start, by_sent = np.argsort(start), np.argsort(sent)
        level, slope, time = np.int64(0), np.int64(0), np.int64(0)
        best, best_at = np.int64(0), np.int64(0)
        b = s = f = h = e = 0
        while h < count or e < count:
            next_begin = begin[by_begin[b]] if b < count else NEVER
            next_start = start[by_start[s]] if s < count else NEVER
            next_but_one = handed[by_handed[f]] - 1 if f < count else NEVER
            next_handed = handed[by_handed[h]] if h < count else NEVER
            next_sent = sent[by_sent[e]] if e < count else NEVER
            now = min(next_begin, next_start, next_but_one, next_handed, next_sent)
            if now > time:
                # Every event at `time` has been counted, so the level is that of the tick.
                if level > best:
                    best, best_at = level, time
                level += slope * (now - time)
                time = now
            if now == next_begin:
                slope += handing
                b += 1
            elif now == next_handed:
                level += handed_fix[by_handed[h]]
                slope -= handing
                h += 1
            elif now == next_sent:
                level -= sent_fix[by_sent[e]]
                slope += sending
                e += 1
            elif now == next_start:
                slope -= sending
                s += 1
            else:
                f += 1
        peak[port], peak_at[port] = best, best_at
