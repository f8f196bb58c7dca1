"""Pipeline orders: which forward and backward each stage runs when (GPipe, 1F1B, interleaved 1F1B)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError

Ints = npt.NDArray[Any]
Order = Literal["gpipe", "1f1b", "interleaved"]


@dataclass(frozen=True, eq=False)
class PipelineOrder:
    """Items of every stage in the order in which it runs them.

    Attributes
    ----------
    backward
        bool ``[P, 2 m v]``: whether an item is a backward.
    micro_batch, chunk
        int32 ``[P, 2 m v]``; chunk c of stage s is virtual stage ``c P + s``.
    """

    backward: Ints
    micro_batch: Ints
    chunk: Ints


def group_size(stages: int, micro_batches: int, group: int | None = None, *, file: object = None) -> int:
    """Micro-batches that pass one chunk in a row in the interleaved order.

    Given, or the pipeline depth where it divides the micro-batches (Megatron-LM), else PyTorch's rule
    (``torch/distributed/pipelining/schedules.py``): ``rounds = max(1, m // P)`` equal rounds, if they come out equal.

    Raises
    ------
    InputError
        If the micro-batches do not divide into equal rounds, or a given group is shorter than the pipeline.
    """
    if group is not None:
        if micro_batches % group:
            raise InputError(
                f"does not divide the {micro_batches} micro-batches",
                file=file,
                field="parallel.micro_batch_group",
                value=group,
            )
        if group < min(stages, micro_batches):
            raise InputError(
                f"is shorter than the pipeline of {stages} stages",
                file=file,
                field="parallel.micro_batch_group",
                value=group,
            )
        return group
    rounds = max(1, micro_batches // stages)
    if micro_batches % rounds:
        raise InputError(
            f"the interleaved order needs a multiple of the {stages} stages, or equal rounds (here {rounds} rounds)",
            file=file,
            field="parallel.micro_batches",
            value=micro_batches,
            maybe=f"{micro_batches // stages * stages} or {-(-micro_batches // stages) * stages} micro-batches.",
        )
    return micro_batches // rounds


def pipeline_order(
    order: Order, stages: int, micro_batches: int, chunks: int = 1, group: int | None = None
) -> PipelineOrder:
    """Write down an order for all stages (Megatron-LM ``pipeline_parallel/schedules.py``; GPipe: arXiv 1811.06965).

    Every order is: w warm-up forwards, then one forward and one backward in turn, then the last w backwards. 1F1B has
    ``w = P-1-r``, the interleaved order ``2(P-1-r) + (v-1) g`` over the table of (micro-batch, chunk), GPipe all.

    Parameters
    ----------
    order
        ``"gpipe"``, ``"1f1b"`` or ``"interleaved"``.
    stages, micro_batches, chunks
        P, m and v; only the interleaved order takes more than one chunk a stage.
    group
        Micro-batches in a row on one chunk; see :func:`group_size`.
    """
    if order != "interleaved" and chunks != 1:
        raise InputError(f"the order {order} runs one chunk a stage", value=chunks, maybe='the order "interleaved".')
    n = micro_batches * chunks
    k = np.arange(n, dtype=np.int64)
    g = group_size(stages, micro_batches, group) if order == "interleaved" else micro_batches
    turn, inside = np.divmod(k, g * chunks)
    chunk = (inside // g).astype(np.int32)
    micro_batch = (turn * g + inside % g).astype(np.int32)

    behind = np.arange(stages - 1, -1, -1, dtype=np.int64)
    if order == "gpipe":
        warm = np.full(stages, n, dtype=np.int64)
    elif order == "1f1b":
        warm = np.minimum(behind, n)
    else:
        warm = np.minimum(2 * behind + (chunks - 1) * g, n)
    w = warm[:, None]
    forward_at = np.where(k < w, k, 2 * k - w)
    backward_at = np.where(k < n - w, w + 2 * k + 1, n + k)

    rows = np.arange(stages)[:, None]
    backward = np.zeros((stages, 2 * n), dtype=bool)
    micro_batches_out = np.empty((stages, 2 * n), dtype=np.int32)
    chunks_out = np.empty((stages, 2 * n), dtype=np.int32)
    backward[rows, backward_at] = True
    for at, c in ((forward_at, chunk), (backward_at, chunks - 1 - chunk)):
        micro_batches_out[rows, at] = micro_batch
        chunks_out[rows, at] = c
    return PipelineOrder(backward, micro_batches_out, chunks_out)
