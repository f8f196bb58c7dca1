"""FluidRun: what happened when a scheduler that cuts transfers ran; its answer in place of a schedule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.schedule.fluid_trace import FluidTrace

Ints = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class FluidRun:
    """One iteration under fluid rules: a transfer sends whenever its circuit is up and may be cut.

    Attributes
    ----------
    op_start_ticks, op_end_ticks
        int64 ``[n]``: a transfer starts with its first byte on the wire and ends when its last byte has arrived.
    iteration_time_ticks
        Largest end.
    reconfigurations
        Circuits set up within the iteration.
    circuit_up_ticks, circuit_busy_ticks
        int64 ``[P]``: time that circuits are up, and that they send, summed over circuits and directions.
    dark_ticks
        int64 ``[P]``: one delay for each circuit set up; all-stop: for each change of the whole plane.
    pair_amount
        int64 ``[Q]``: units (``instance.work``) that went over each pair's circuits; relayed ones at each hop.
    port_peak_bytes
        int64 ``[E]``: peak eager NIC buffer of the transmit ports of an endpoint. The bytes of one NIC are taken to
        spread evenly over the planes that it is attached to; relayed bytes count at the relay too.
    events
        Events that the simulator worked off.
    notes
        What a reader should know.
    trace
        Every piece that was sent and every circuit that was up, where they were recorded.
    """

    op_start_ticks: Ints
    op_end_ticks: Ints
    iteration_time_ticks: int
    reconfigurations: int
    circuit_up_ticks: Ints
    circuit_busy_ticks: Ints
    dark_ticks: Ints
    pair_amount: Ints
    port_peak_bytes: Ints
    events: int
    notes: tuple[str, ...] = ()
    trace: FluidTrace | None = field(default=None, repr=False)

    @property
    def circuit_utilisation(self) -> float | None:
        """Share of the circuits' up time in which data flows, or None without circuits."""
        up = int(np.sum(self.circuit_up_ticks))
        return int(np.sum(self.circuit_busy_ticks)) / up if up else None

    @property
    def eager_bytes(self) -> int:
        """Largest peak of any port."""
        return int(np.max(self.port_peak_bytes, initial=0))
