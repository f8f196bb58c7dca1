"""Schedule: what a solver answers, as columns."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Schedule:
    """Op starts, the plane of each leg, and the circuits that carry them.

    Attributes
    ----------
    instance_sha256
        Hash of the instance that this schedule is for.
    op_start_ticks
        int64 ``[n]``.
    leg_plane
        int16 ``[L]``: plane on which each leg runs.
    circuit_plane, circuit_tx, circuit_rx
        int16, int32, int32 ``[C]``: circuit rows. On a duplex plane ``tx`` and ``rx`` are just the two ends.
    circuit_up_from_ticks, circuit_up_to_ticks
        int64 ``[C]``: the circuit carries light in ``[up_from, up_to)``; the dark time before ``up_from`` is not in it.
    iteration_time_ticks
        Largest end; with a cyclic boundary the period.
    """

    instance_sha256: str
    op_start_ticks: Ints
    leg_plane: Ints
    circuit_plane: Ints
    circuit_tx: Ints
    circuit_rx: Ints
    circuit_up_from_ticks: Ints
    circuit_up_to_ticks: Ints
    iteration_time_ticks: int

    def __post_init__(self) -> None:
        for name, dtype in COLUMNS.items():
            column = np.ascontiguousarray(getattr(self, name), dtype=dtype)
            column.flags.writeable = False
            object.__setattr__(self, name, column)

    @cached_property
    def sha256(self) -> str:
        """Content hash; equal schedules of one instance have equal hashes on every machine."""
        digest = hashlib.sha256(f"fluxscale-schedule-1;{self.instance_sha256};{self.iteration_time_ticks}".encode())
        for name, dtype in COLUMNS.items():
            digest.update(np.ascontiguousarray(getattr(self, name), dtype=np.dtype(dtype).newbyteorder("<")).data)
        return digest.hexdigest()

    def __repr__(self) -> str:
        ops, circuits = len(self.op_start_ticks), len(self.circuit_tx)
        return f"Schedule({ops} ops, {circuits} circuits, {self.iteration_time_ticks} ticks)"


COLUMNS: dict[str, str] = {
    "op_start_ticks": "i8",
    "leg_plane": "i2",
    "circuit_plane": "i2",
    "circuit_tx": "i4",
    "circuit_rx": "i4",
    "circuit_up_from_ticks": "i8",
    "circuit_up_to_ticks": "i8",
}
"""Array columns of a schedule and their types, in hash and file order."""
