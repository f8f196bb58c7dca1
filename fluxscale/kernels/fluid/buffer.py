"""Level of one NIC's buffer at one moment of a fluid run."""

from __future__ import annotations

import numpy as np

from fluxscale._numba import kernel
from fluxscale.kernels.fluid.walk import sent_by


@kernel
def buffer_level(
    endpoint, now, origin, leg_pair, leg_left, leg_fixed, leg_size, leg_size_speed, leg_released, handing_next,
    endpoint_handing, pair_head, pair_since, pair_floor, pair_queued, leg_injection, endpoint_indptr, endpoint_active,
    endpoint_count, win_indptr, win_from, win_to, win_speed, win_planes, pair_cycle, pair_units, pair_ticks,
):  # numpydoc ignore=PR01  # fmt: skip
    """Units that have been handed to an endpoint's NIC and not been sent, at ``now``.

    All that is queued, less what the heads have sent since they began, less what is still to be handed over. Legs whose
    hand-over has ended leave the endpoint's list here. Hand-over slower than sending is clipped at an empty buffer;
    where pairs of one endpoint use different planes, the peak may lie before a hand-over end and be missed by a little.
    """
    level = np.int64(0)
    first = endpoint_indptr[endpoint]
    for at in range(first, first + endpoint_count[endpoint]):
        pair = endpoint_active[at]
        leg = pair_head[pair]
        fixed = leg_fixed[leg]
        sent = sent_by(
            leg_left[leg], pair_since[pair], now, origin, pair_cycle[pair], win_indptr[pair], win_indptr[pair + 1],
            fixed, pair_ticks[pair] if fixed else pair_units[pair], win_from, win_to, win_speed, win_planes,
        )  # fmt: skip
        level += pair_queued[pair] - (sent * leg_size_speed[leg] if fixed else sent)
    before = np.int64(-1)
    leg = endpoint_handing[endpoint]
    while leg >= 0:
        after = handing_next[leg]
        # Compared in ticks first: the product of a long time and a high rate does not fit 64 bits.
        elapsed = min(now - leg_released[leg], leg_size[leg] // leg_injection[leg] + 1)
        missing = leg_size[leg] - leg_injection[leg] * elapsed
        if missing <= 0:
            if before < 0:
                endpoint_handing[endpoint] = after
            else:
                handing_next[before] = after
        else:
            level -= missing
            before = leg
        leg = after
    return max(level, np.int64(0))
