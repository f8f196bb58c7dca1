"""Buffers of endpoints that relay, without events of their own.

A link that is held without a gap until ``free`` has yet to send ``speed x (free - now)``; less what of that has not
come in yet, this is what its endpoint buffers. What has not come in falls linearly: for relayed transfers over one link
into the endpoint at a time, for own ones at the injection rate. So the level of an endpoint is a sum over its
links, and its peaks are where something has come in completely or begins to leave. Everything is counted in whole ticks
of a link, so a transfer that ends within a tick counts as if it filled it, and one of given duration as if it filled
its link.
"""

from __future__ import annotations

from fluxscale._numba import inlined


@inlined
def buffer_level(
    endpoint, now, own_missing, out_indptr, out_links, in_indptr, in_links, link_speed, link_open, link_free,
    in_end, in_rate,
):  # numpydoc ignore=PR01  # fmt: skip
    """Units that an endpoint holds: what its links have taken on and not sent, less what has not come in."""
    level = -own_missing
    for i in range(out_indptr[endpoint], out_indptr[endpoint + 1]):
        link = out_links[i]
        # Before the first circuit is up nothing leaves, though the link may have taken transfers on.
        held = link_free[link] - max(now, link_open[link])
        if held > 0:
            level += held * link_speed[link]
    for i in range(in_indptr[endpoint], in_indptr[endpoint + 1]):
        coming = in_end[in_links[i]] - now
        if coming > 0:
            level -= coming * in_rate[in_links[i]]
    return level


@inlined
def look(
    endpoint, now, own_since, own_missing, own_rate, peak, out_indptr, out_links, in_indptr, in_links, link_speed,
    link_open, link_free, in_end, in_rate,
):  # numpydoc ignore=PR01  # fmt: skip
    """Bring an endpoint to ``now``; look at its buffer where something has come in or a link has opened since."""
    since = own_since[endpoint]
    n_in = in_indptr[endpoint + 1] - in_indptr[endpoint]
    n_out = out_indptr[endpoint + 1] - out_indptr[endpoint]
    for i in range(n_in + n_out):
        if i < n_in:
            moment = in_end[in_links[in_indptr[endpoint] + i]]
        else:
            moment = link_open[out_links[out_indptr[endpoint] + i - n_in]]
        if since < moment <= now:
            missing = own_missing[endpoint] - own_rate[endpoint] * (moment - since)
            level = buffer_level(
                endpoint, moment, missing, out_indptr, out_links, in_indptr, in_links, link_speed, link_open,
                link_free, in_end, in_rate,
            )  # fmt: skip
            peak[endpoint] = max(peak[endpoint], level)
    own_missing[endpoint] -= own_rate[endpoint] * (now - since)
    own_since[endpoint] = now
