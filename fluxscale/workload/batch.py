"""Many collectives of one kind as single transfers, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.workload.blocks import Blocks
from fluxscale.workload.collectives import Steps
from fluxscale.workload.dag import TRANSFER

Ints = npt.NDArray[Any]


class Batch:
    """Collectives of equal steps; a member's step waits for all it received and sent before; the first for ``start``.

    Parameters
    ----------
    steps
        Who sends to whom.
    members
        int ``[batch, n]``: endpoints.
    start
        int ``[batch, n, q]``: ops that a member's first step waits for, -1: none.
    first
        Number of the first op.

    Attributes
    ----------
    ids
        int32 ``[batch, K, n]``: op of every member's step, -1 where it sits out.
    """

    def __init__(self, steps: Steps, members: Ints, start: Ints, first: int) -> None:
        self.steps, self.members, self.start = steps, members, start
        present = steps.target >= 0
        position = np.where(present, np.cumsum(present.ravel()).reshape(present.shape) - 1, -1)
        self.present, self.each = present, int(present.sum())
        base = first + np.arange(len(members), dtype=np.int64)[:, None, None] * self.each
        self.ids = np.where(position >= 0, base + position, -1).astype(np.int32)

    def received(self) -> Ints:
        """Ops by which every member receives, int32 ``[batch, n, K]``, -1: none in that step."""
        out = np.full_like(self.ids, -1)
        k, member = np.nonzero(self.present)
        out[:, k, self.steps.target[k, member]] = self.ids[:, k, member]
        return out.transpose(0, 2, 1)

    def sent(self) -> Ints:
        """Ops by which every member sends, int32 ``[batch, n, K]``."""
        return self.ids.transpose(0, 2, 1)

    def ends(self) -> Ints:
        """All sends and receipts of every member, int32 ``[batch, n, 2 K]``."""
        return np.concatenate([self.received(), self.sent()], axis=2)

    def add(self, blocks: Blocks, role: int, sizes: Ints, **labels: Ints | int) -> None:
        """Add the transfers; label arrays have one entry a collective."""
        received = self.received()
        batch, _, n = self.ids.shape
        width = max(2, self.start.shape[2])
        preds = np.full((*self.ids.shape, width), -1, dtype=np.int32)
        last_in = np.full((batch, n), -1, dtype=np.int32)
        last_out = last_in.copy()
        for k in range(len(sizes)):
            fresh = (last_in < 0) & (last_out < 0)
            preds[:, k, :, 0], preds[:, k, :, 1] = last_in, last_out
            preds[:, k, :, : self.start.shape[2]][fresh] = self.start[fresh]
            last_in = np.where(received[:, :, k] >= 0, received[:, :, k], last_in)
            last_out = np.where(self.ids[:, k] >= 0, self.ids[:, k], last_out)
        k, member = np.nonzero(self.present)
        rows = {
            name: np.repeat(value, self.each) if isinstance(value, np.ndarray) else value
            for name, value in labels.items()
        }
        blocks.add(
            batch * self.each,
            kind=TRANSFER,
            role=role,
            preds=preds[:, k, member].reshape(-1, width),
            tx=self.members[:, member].ravel(),
            rx=self.members[:, self.steps.target[k, member]].ravel(),
            bytes=np.tile(sizes[k], batch),
            rail=np.tile(member, batch),
            step=np.tile(k, batch),
            **rows,
        )
