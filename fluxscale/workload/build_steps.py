"""DAG of a job with one GPU a host: tensor-parallel collectives cross the switches step by step; a device is a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.workload.batch import Batch
from fluxscale.workload.blocks import Blocks
from fluxscale.workload.build_gradients import Gradients
from fluxscale.workload.collectives import choose, stepwise
from fluxscale.workload.costs import ACTIVATION_BYTES, costs
from fluxscale.workload.dag import COMPUTE, CommDag
from fluxscale.workload.flops import attention_flops, backward_factor, compute_ns, head_flops, mlp_flops
from fluxscale.workload.notes import job_notes
from fluxscale.workload.parallelism import layout
from fluxscale.workload.roles import ALL_REDUCE, BACKWARD, FORWARD
from fluxscale.workload.spec import JobSpec, ModelSpec

Ints = npt.NDArray[Any]


def phases(layers: int) -> int:
    """Compute ops of one forward or backward: attention and feed-forward of every layer, and the output head."""
    return 2 * layers + 1


def build_steps(spec: JobSpec, model: ModelSpec, *, duplex: bool, planes: int) -> CommDag:
    """Build the DAG (see :func:`fluxscale.workload.build.build_dag`).

    A forward is attention, all-reduce, feed-forward, all-reduce for every layer, then the output head; a backward the
    same in reverse with twice the compute. Compute ops ``[dp, tp, m, 2, phase]`` come first, then the transfers of the
    all-reduces, then data parallel.
    """
    p, cost, place = spec.parallel, costs(spec), layout(spec)
    dp, tp, m, n_phases = p.dp, p.tp, p.micro_batch_count, phases(model.layers)
    shape = (dp, tp, m, 2, n_phases)
    compute = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    algorithm = choose(p.tp_collective, tp, duplex=duplex, planes=planes, field="parallel.tp_collective")
    steps = stepwise("all-reduce", algorithm, tp)
    sums = n_phases - 1

    # All-reduce a of a forward follows compute a, that of a backward compute a + 1: the head's backward sends nothing.
    source = np.stack([compute[..., 0, :-1], compute[..., 1, 1:]], axis=3)
    source = source.transpose(0, 2, 3, 4, 1)
    d, micro, turn, a = (np.broadcast_to(x, source.shape[:-1]).ravel() for x in np.ogrid[:dp, :m, :2, :sums])
    batch = Batch(steps, place.rank[d, 0], source.reshape(-1, tp, 1), first=compute.size)
    received = batch.received().reshape(dp, m, 2, sums, tp, -1)

    blocks = Blocks()
    _add_computes(blocks, spec, model, compute, received)
    size = p.micro_batch_size * model.seq_len * model.hidden * ACTIVATION_BYTES
    batch.add(blocks, ALL_REDUCE, steps.bytes(size), micro_batch=micro, replica=d, chunk=turn * sums + a)
    notes = [
        f"tensor parallel: all-reduces over {tp} GPUs as {algorithm}, {len(steps.share)} steps, across the switches",
        "collectives of the embedding and of the output head are left out",
    ]
    lists = Gradients(blocks, spec, model, compute, received[:, -1, 1, -1], duplex, planes, notes).add()
    return blocks.finish(
        lists,
        endpoint_rail=place.rail,
        device_names=tuple(f"t{t}.d{d}" for d in range(dp) for t in range(tp)),
        endpoint_names=tuple(f"h{r}" for r in range(place.gpus)),
        gpus=place.gpus,
        notes=job_notes(spec, cost, notes),
    )


def _add_computes(blocks: Blocks, spec: JobSpec, model: ModelSpec, compute: Ints, received: Ints) -> None:
    """Add the compute ops: each waits for the one before it and for all that its GPU received in between."""
    dp, tp, m, _, n_phases = compute.shape
    into = received.transpose(0, 4, 1, 2, 3, 5)
    preds = np.full((*compute.shape, 1 + into.shape[-1]), -1, dtype=np.int32)
    preds[..., 1:, 0] = compute[..., :-1]
    preds[..., 1, 0, 0] = compute[..., 0, -1]
    preds[..., 0, 1:, 1:] = into[..., 0, :, :]
    preds[..., 1, 2:, 1:] = into[..., 1, :-1, :]

    p, hardware = spec.parallel, spec.hardware
    attention, mlp = attention_flops(model, p.micro_batch_size), mlp_flops(model, p.micro_batch_size)
    forward = [attention, mlp] * model.layers + [head_flops(model, p.micro_batch_size)]
    factor = backward_factor(p.recompute)
    fixed = np.array(
        [
            [compute_ns(f, hardware, tp) for f in forward],
            [compute_ns(factor * f, hardware, tp) for f in reversed(forward)],
        ],
        dtype=np.int64,
    )
    d, t, micro, turn, phase = (
        np.broadcast_to(x, compute.shape).ravel() for x in np.ogrid[:dp, :tp, :m, :2, :n_phases]
    )
    blocks.add(
        compute.size,
        kind=COMPUTE,
        role=np.where(turn, BACKWARD, FORWARD),
        preds=preds.reshape(compute.size, -1),
        device=d * tp + t,
        fixed=fixed[turn, phase],
        micro_batch=micro,
        replica=d,
        step=phase,
        rail=t,
    )
