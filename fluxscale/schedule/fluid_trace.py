"""FluidTrace: the pieces and circuits of a fluid run as columns, for the independent check and for pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

Ints = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class FluidTrace:
    """Pieces of transfers and the circuits that carried them.

    Attributes
    ----------
    piece_leg, piece_plane
        int32, int16 ``[K]``: what was sent and over which plane.
    piece_from_ticks, piece_to_ticks
        int64 ``[K]``: when; the last tick may be used in part.
    piece_amount
        int64 ``[K]``: units sent (``fluxscale.instance.work``).
    circuit_plane, circuit_tx, circuit_rx
        int16, int32, int32 ``[C]``: circuits; on a two-way plane ``tx`` and ``rx`` are just the two ends.
    circuit_up_from_ticks, circuit_up_to_ticks
        int64 ``[C]``: the circuit carries light in ``[up_from, up_to)``.
    """

    piece_leg: Ints
    piece_plane: Ints
    piece_from_ticks: Ints
    piece_to_ticks: Ints
    piece_amount: Ints
    circuit_plane: Ints
    circuit_tx: Ints
    circuit_rx: Ints
    circuit_up_from_ticks: Ints
    circuit_up_to_ticks: Ints
