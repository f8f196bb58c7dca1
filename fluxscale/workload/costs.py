"""Integer times and sizes of a job's ops, from its [timing] where given, else from its [model]."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.units import MAX_TICKS
from fluxscale.workload.flops import backward_factor, chunk_flops, chunk_parameters, compute_ns, spread_layers
from fluxscale.workload.spec import JobSpec

Ints = npt.NDArray[Any]

OPTIMIZER_BYTES = 30
"""Memory traffic of Adam per parameter: FP32 weight and two moments read and written, gradient read, BF16 written."""

ACTIVATION_BYTES = 2
"""Activations travel in BF16."""


@dataclass(frozen=True, eq=False)
class Costs:
    """What every op of a job costs.

    Attributes
    ----------
    layers
        int64 ``[V]``: layers of each virtual stage (0 where there is no model).
    forward_ns, backward_ns
        int64 ``[V]``: compute of one micro-batch.
    slice_bytes, slice_ns
        Bytes of one GPU's pipeline message, and its given duration or -1.
    parameters
        int64 ``[V]``: parameters of a virtual stage on one of its tp GPUs (0 where there is no model).
    dp_bytes, dp_ns
        Given bytes through a circuit of one bucket's collective, or -1; its given duration, or -1.
    optimizer_ns
        int64 ``[pp]``: optimizer step of each stage; 0: no such op.
    """

    layers: Ints
    forward_ns: Ints
    backward_ns: Ints
    slice_bytes: int
    slice_ns: int
    parameters: Ints
    dp_bytes: int
    dp_ns: int
    optimizer_ns: Ints


def costs(spec: JobSpec) -> Costs:
    """Work out the costs of a job.

    Raises
    ------
    InputError
        If a size or a time does not fit 64 bits.
    """
    p, model, timing = spec.parallel, spec.model, spec.timing
    chunks = p.pp * p.virtual_stages
    layers_of = spread_layers(model.layers, chunks) if model else np.zeros(chunks, dtype=np.int64)
    parameters = [0] * chunks
    forward, backward = [timing.forward or 0] * chunks, [timing.backward or 0] * chunks
    message = timing.transfer_size or 0
    if model:
        parameters = [-(-n // p.tp) for n in chunk_parameters(model, layers_of)]
        whole = p.micro_batch_size * model.seq_len * model.hidden * ACTIVATION_BYTES
        message = timing.transfer_size or (-(-whole // p.tp) if p.sequence_parallel else whole)
        if timing.forward is None:
            flops = chunk_flops(model, layers_of, p.micro_batch_size)
            factor = backward_factor(p.recompute)
            forward = [compute_ns(f, spec.hardware, p.tp) for f in flops]
            backward = [compute_ns(factor * f, spec.hardware, p.tp) for f in flops]
    optimizer = [timing.optimizer or 0] * p.pp
    if timing.optimizer is None and model:
        share = p.dp if p.zero1 else 1
        held = [sum(parameters[s :: p.pp]) for s in range(p.pp)]
        rate = Fraction(spec.hardware.memory_bandwidth)
        optimizer = [-int(-(n * OPTIMIZER_BYTES * 10**9) // (rate * share)) for n in held]
    _refuse_overflow([*forward, *backward, *optimizer], MAX_TICKS // max(1, 4 * chunks * p.micro_batch_count), "a time")
    _refuse_overflow([message, *(n * max(p.grad_bytes, p.param_bytes) * 2 for n in parameters)], 2**59, "a size")
    return Costs(
        layers=layers_of,
        forward_ns=np.array(forward, dtype=np.int64),
        backward_ns=np.array(backward, dtype=np.int64),
        slice_bytes=message,
        slice_ns=-1 if timing.transfer is None else timing.transfer,
        parameters=np.array(parameters, dtype=np.int64),
        dp_bytes=-1 if timing.dp_size is None else timing.dp_size,
        dp_ns=-1 if timing.dp is None else timing.dp,
        optimizer_ns=np.array(optimizer, dtype=np.int64),
    )


def inside_ns(spec: JobSpec, size: int) -> int:
    """Time of bytes between two GPUs of one host: ceil(bytes / NVLink bandwidth), in ns."""
    return -((-size * 10**9) // spec.hardware.intra_host_bandwidth)


def _refuse_overflow(values: list[int], limit: int, what: str) -> None:
    largest = max(values)
    if largest > limit:
        raise InputError(
            f"{what} that follows from the model does not fit 64 bits",
            field="model",
            value=largest,
            maybe="a smaller model.",
        )
