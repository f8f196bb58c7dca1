"""State of ports and planes while a schedule is built op by op, and the one rule that says how early an op can start.

Used by list scheduling and by the decoder of fixed orders, so that both speak of the same ports. Ops are only ever
appended: what is committed keeps its time. Numbering: lane = (plane x endpoints + endpoint) x 2 + side (0 transmit, 1
receive); a simplex port is its lane, a duplex port is the transmit lane's number.

The kernels take every array as an argument of its own: reading arrays out of a tuple inside compiled code counts
references at each access, which made list scheduling five times slower (measured).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fluxscale._numba import inlined

Ints = npt.NDArray[Any]
DARK = 0
NEVER = np.int64(2**62)


class Problem(NamedTuple):
    """What the kernels read of an instance; see ``Instance`` and ``Derived`` for shapes.

    An option is a leg on one of its planes: ``option_indptr`` int64 ``[L+1]``, and for each option its plane (int16)
    and its transmit and receive lanes (int32).
    """

    succ_indptr: Ints
    succ_index: Ints
    next_on_device: Ints
    in_degree: Ints
    op_ticks: Ints
    plane_class: Ints
    leg_indptr: Ints
    option_indptr: Ints
    option_plane: Ints
    option_tx_lane: Ints
    option_rx_lane: Ints
    delay: Ints
    all_stop: Ints
    duplex: Ints
    boundary: int


class Ports(NamedTuple):
    """State of all ports: free times of lanes.

    Peer port (the circuit), last op, earliest time at which the circuit can be up (only kept for duplex ports, where
    the other direction may still be free from before it); epochs of all-stop planes.
    """

    lane_free: Ints
    peer: Ints
    last_op: Ints
    port_open: Ints
    port_epoch: Ints
    plane_open: Ints
    plane_busy: Ints
    plane_epoch: Ints


def new_ports(n_planes: int, n_endpoints: int) -> Ports:
    """Allocate the state for a fabric; ``reset`` makes it fresh."""
    lanes = n_planes * n_endpoints * 2
    return Ports(
        np.zeros(lanes, dtype=np.int64),
        np.full(lanes, -1, dtype=np.int32),
        np.full(lanes, -1, dtype=np.int32),
        np.zeros(lanes, dtype=np.int64),
        np.full(lanes, -1, dtype=np.int32),
        np.zeros(n_planes, dtype=np.int64),
        np.zeros(n_planes, dtype=np.int64),
        np.zeros(n_planes, dtype=np.int32),
    )


@inlined
def reset(
    delay, boundary, lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch
):  # numpydoc ignore=PR01
    """Put all ports at time 0 with the boundary's circuits (none, or whatever comes first)."""
    lane_free[:] = 0
    peer[:] = -1
    last_op[:] = -1
    port_open[:] = 0
    port_epoch[:] = -1
    plane_busy[:] = 0
    plane_epoch[:] = 0
    for plane in range(len(delay)):
        plane_open[plane] = delay[plane] if boundary == DARK else 0


@inlined
def option_earliest(
    ready,
    plane,
    a,
    b,
    delay,
    all_stop,
    duplex,
    boundary,
    lane_free,
    peer,
    port_open,
    port_epoch,
    plane_open,
    plane_busy,
    plane_epoch,
):  # numpydoc ignore=PR01
    """Earliest start of a leg on the lanes ``a`` (transmit) and ``b`` (receive) of one plane.

    Given all that is committed.
    """
    port_b = b - 1 if duplex[plane] else b
    if all_stop[plane]:
        epoch = plane_epoch[plane]
        fits = (port_epoch[a] != epoch or peer[a] == port_b) and (port_epoch[port_b] != epoch or peer[port_b] == a)
        if fits:
            return max(ready, plane_open[plane], lane_free[a], lane_free[b])
        return max(ready, plane_busy[plane] + delay[plane])
    held_a, held_b = peer[a], peer[port_b]
    free_a, free_b = lane_free[a], lane_free[b]
    if held_a != port_b or held_b != a:
        if duplex[plane]:
            free_a = max(free_a, lane_free[a + 1])
            free_b = max(free_b, lane_free[b - 1])
        if held_a >= 0 and held_a != port_b:
            free_a += delay[plane]
        if held_b >= 0 and held_b != a:
            free_b += delay[plane]
        if boundary == DARK:
            ready = max(ready, delay[plane])
    elif duplex[plane]:
        ready = max(ready, port_open[a])
    return max(ready, free_a, free_b)


@inlined
def op_earliest(
    op, ready, leg_indptr, option_indptr, option_plane, option_tx_lane, option_rx_lane, delay, all_stop, duplex,
    boundary,
    lane_free, peer, port_open, port_epoch, plane_open, plane_busy, plane_epoch, leg_option,
):  # numpydoc ignore=PR01  # fmt: skip
    """Earliest start of an op with legs; picks each leg's option (earliest start, then first) into ``leg_option``."""
    start = ready
    for leg in range(leg_indptr[op], leg_indptr[op + 1]):
        option = option_indptr[leg]
        best = option_earliest(
            ready, option_plane[option], option_tx_lane[option], option_rx_lane[option], delay, all_stop, duplex,
            boundary,
            lane_free, peer, port_open, port_epoch, plane_open, plane_busy, plane_epoch,
        )  # fmt: skip
        for other in range(option + 1, option_indptr[leg + 1]):
            time = option_earliest(
                ready, option_plane[other], option_tx_lane[other], option_rx_lane[other], delay, all_stop, duplex,
                boundary,
                lane_free, peer, port_open, port_epoch, plane_open, plane_busy, plane_epoch,
            )  # fmt: skip
            if time < best:
                best, option = time, other
        leg_option[leg] = option
        start = max(start, best)
    return start


@inlined
def op_duration(op, op_ticks, plane_class, leg_indptr, option_plane, leg_option):  # numpydoc ignore=PR01
    """Duration of an op on the planes of its legs: that of the slowest."""
    duration = op_ticks[op, 0]
    if op_ticks.shape[1] > 1:
        for leg in range(leg_indptr[op], leg_indptr[op + 1]):
            slowest = op_ticks[op, plane_class[option_plane[leg_option[leg]]]]
            duration = slowest if leg == leg_indptr[op] else max(duration, slowest)
    return duration


@inlined
def commit(
    op, end, leg_indptr, option_plane, option_tx_lane, option_rx_lane, delay, all_stop, duplex, boundary,
    lane_free, peer, last_op, port_open, port_epoch, plane_open, plane_busy, plane_epoch, leg_option,
):  # numpydoc ignore=PR01  # fmt: skip
    """Append an op's legs to their ports until ``end``."""
    first, stop = leg_indptr[op], leg_indptr[op + 1]
    for leg in range(first, stop):
        plane = option_plane[leg_option[leg]]
        if all_stop[plane]:
            a = option_tx_lane[leg_option[leg]]
            port_b = option_rx_lane[leg_option[leg]] - (1 if duplex[plane] else 0)
            epoch = plane_epoch[plane]
            fits = (port_epoch[a] != epoch or peer[a] == port_b) and (port_epoch[port_b] != epoch or peer[port_b] == a)
            if not fits:
                plane_epoch[plane] = epoch + 1
                plane_open[plane] = plane_busy[plane] + delay[plane]
    for leg in range(first, stop):
        option = leg_option[leg]
        plane = option_plane[option]
        a, b = option_tx_lane[option], option_rx_lane[option]
        port_b = b - 1 if duplex[plane] else b
        if duplex[plane] and not all_stop[plane] and (peer[a] != port_b or peer[port_b] != a):
            up = option_earliest(
                0, plane, a, b, delay, all_stop, duplex, boundary, lane_free, peer, port_open, port_epoch,
                plane_open, plane_busy, plane_epoch,
            )  # fmt: skip
            port_open[a] = up
            port_open[port_b] = up
        lane_free[a] = end
        lane_free[b] = end
        peer[a] = port_b
        peer[port_b] = a
        last_op[a] = op
        last_op[port_b] = op
        if all_stop[plane]:
            port_epoch[a] = plane_epoch[plane]
            port_epoch[port_b] = plane_epoch[plane]
            plane_busy[plane] = max(plane_busy[plane], end)
