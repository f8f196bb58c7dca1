"""Peak NIC buffers: what hosts have handed to their NICs and the circuits have not yet taken.

A transfer is released when its last predecessor ends (at 0 without any). Each of its legs hands its bytes to the
transmit port at the plane's injection rate, from the release on (*eager*) or from its planned start on (*paced*). The
port sends them at line rate from the planned start on; the plane's latency comes after that, on the fibre. Every leg
is handed over on its own, whatever waits before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance
from fluxscale.kernels.buffers import group_by_port, last_pred_end, port_peaks
from fluxscale.schedule.handover import MILLIBITS, handing_rates, leg_amounts, leg_ports, sending_rates

Ints = npt.NDArray[Any]


@dataclass(frozen=True)
class Peak:
    """The largest buffer of any port, where, and the first tick at which it is reached (plane -1: all are empty)."""

    bytes: int
    plane: int
    endpoint: int
    at_ticks: int


@dataclass(frozen=True, eq=False)
class Buffers:
    """Peak NIC buffers under both ways of handing over. Never mix the two in one ratio.

    Attributes
    ----------
    eager_port_bytes, paced_port_bytes
        int64 ``[P, E]``: peak of each transmit port, rounded up to bytes.
    eager, paced
        The largest of them, with its port and time.
    """

    eager_port_bytes: Ints
    paced_port_bytes: Ints
    eager: Peak
    paced: Peak

    @property
    def eager_bytes(self) -> int:
        """Largest peak of any port when hand-over starts at the release."""
        return self.eager.bytes

    @property
    def paced_bytes(self) -> int:
        """Largest peak of any port when hand-over starts with the planned transfer."""
        return self.paced.bytes


def peak_buffers(instance: Instance, op_start_ticks: Ints, op_end_ticks: Ints, leg_plane: Ints) -> Buffers:
    """Measure the NIC buffers of a schedule or of a replay, at integer ticks, exactly.

    Rates count in whole Mbit/s, rounded down. A transfer with a given duration and no bytes carries what its
    plane can send in that time.

    Parameters
    ----------
    instance
        The problem.
    op_start_ticks, op_end_ticks
        int64 ``[n]``: when each op runs.
    leg_plane
        int16 ``[L]``: plane of each leg.

    Raises
    ------
    InputError
        A port carries more than 2**62 millibits in one iteration.
    """
    derived = derive(instance)
    n_ports = instance.n_planes * instance.n_endpoints
    per_tick, handing = sending_rates(instance), handing_rates(instance)
    leg_op = derived.leg_op
    leg_port = leg_ports(instance, leg_plane)
    amount = leg_amounts(instance, op_end_ticks - op_start_ticks, leg_plane)

    with_legs = np.flatnonzero(np.diff(instance.leg_indptr))
    release = np.zeros(instance.n_ops, dtype=np.int64)
    of_ops = np.empty(len(with_legs), dtype=np.int64)
    last_pred_end(with_legs, instance.pred_indptr, instance.pred_index, op_end_ticks, of_ops)
    release[with_legs] = of_ops

    port_indptr = np.zeros(n_ports + 1, dtype=np.int64)
    np.cumsum(np.bincount(leg_port, minlength=n_ports), out=port_indptr[1:])
    port_legs = np.empty(len(leg_port), dtype=np.int32)
    group_by_port(leg_port, port_indptr, port_legs)
    leg_start = op_start_ticks[leg_op]
    results: list[tuple[Ints, Peak]] = []
    for begin in (release[leg_op], leg_start):
        peak, at = np.zeros(n_ports, dtype=np.int64), np.zeros(n_ports, dtype=np.int64)
        port_peaks(
            port_indptr, port_legs, begin, leg_start, amount, np.repeat(handing, instance.n_endpoints),
            np.repeat(per_tick, instance.n_endpoints), peak, at,
        )  # fmt: skip
        size = (-(-peak // MILLIBITS)).reshape(instance.n_planes, instance.n_endpoints)
        results.append((size, _largest(size, at)))
    return Buffers(results[0][0], results[1][0], results[0][1], results[1][1])


def _largest(size: Ints, at: Ints) -> Peak:
    if size.size == 0 or size.max() == 0:
        return Peak(0, -1, -1, 0)
    port = int(size.argmax())
    plane, endpoint = divmod(port, size.shape[1])
    return Peak(int(size.flat[port]), plane, endpoint, int(at[port]))
