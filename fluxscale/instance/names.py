"""How the ops, devices and endpoints of an instance are called.

Names are made when asked for, not stored a million times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

ROLES = ("F", "B", "act", "grad", "rs", "ag", "ar", "opt", "host", "op")
"""Op roles of job-built instances: forward, backward, activation and gradient transfers, reduce-scatter, all-gather,
all-reduce, optimizer step, traffic inside a host, anything else."""


@dataclass(frozen=True)
class OpLabels:
    """Where in the training iteration each op belongs, as small columns of length n (-1: does not apply).

    Attributes
    ----------
    role
        int8: index into ``ROLES``.
    stage, chunk, micro_batch, replica, rail, step
        int16/int32: pipeline stage, virtual stage on it, micro-batch, data-parallel replica, rail, step of a
        collective or bucket.
    """

    role: npt.NDArray[Any]
    stage: npt.NDArray[Any]
    chunk: npt.NDArray[Any]
    micro_batch: npt.NDArray[Any]
    replica: npt.NDArray[Any]
    rail: npt.NDArray[Any]
    step: npt.NDArray[Any]

    def name(self, op: int) -> str:
        """Name of one op, e.g. ``F.m3.c1@s4.d17`` (micro-batch 3, chunk 1, stage 4, replica 17)."""
        parts = [ROLES[int(self.role[op])]]
        for letter, column in (("m", self.micro_batch), ("c", self.chunk), ("k", self.step)):
            if column[op] >= 0:
                parts.append(f"{letter}{int(column[op])}")
        place = [
            f"{letter}{int(column[op])}"
            for letter, column in (("s", self.stage), ("d", self.replica), ("r", self.rail))
            if column[op] >= 0
        ]
        return ".".join(parts) + ("@" + ".".join(place) if place else "")

    def take(self, ops: npt.NDArray[Any]) -> OpLabels:
        """Labels of some of the ops."""
        return OpLabels(*(np.asarray(getattr(self, name))[ops] for name in LABEL_COLUMNS))


LABEL_COLUMNS = ("role", "stage", "chunk", "micro_batch", "replica", "rail", "step")


@dataclass(frozen=True)
class Names:
    """Names of an instance's ops, devices, endpoints and planes; made up from the number where none were given.

    Attributes
    ----------
    ops, devices, endpoints, planes
        Given names, or an empty sequence.
    labels
        Columns from which op names are made when ``ops`` is empty.
    """

    ops: Sequence[str] = ()
    devices: Sequence[str] = ()
    endpoints: Sequence[str] = ()
    planes: Sequence[str] = ()
    labels: OpLabels | None = field(default=None, repr=False)

    def op(self, index: int) -> str:
        """Name of an op."""
        if len(self.ops):
            return str(self.ops[index])
        return self.labels.name(index) if self.labels is not None else f"op{index}"

    def device(self, index: int) -> str:
        """Name of a device."""
        return str(self.devices[index]) if len(self.devices) else f"dev{index}"

    def endpoint(self, index: int) -> str:
        """Name of an endpoint."""
        return str(self.endpoints[index]) if len(self.endpoints) else f"ep{index}"

    def plane(self, index: int) -> str:
        """Name of a plane."""
        return str(self.planes[index]) if len(self.planes) else f"plane{index}"
