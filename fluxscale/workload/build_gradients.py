"""Data parallel step by step (one GPU a host): gradient buckets, optimizer steps, parameter gathers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError, UnsupportedError
from fluxscale.workload.batch import Batch
from fluxscale.workload.blocks import Blocks
from fluxscale.workload.collectives import Kind, choose, stepwise
from fluxscale.workload.costs import costs
from fluxscale.workload.dag import COMPUTE
from fluxscale.workload.flops import attention_parameters, embedding_parameters, mlp_parameters
from fluxscale.workload.parallelism import layout
from fluxscale.workload.roles import ALL_GATHER, ALL_REDUCE, OPTIMIZER, REDUCE_SCATTER
from fluxscale.workload.spec import JobSpec, ModelSpec

Ints = npt.NDArray[Any]

_ROLE = {"reduce-scatter": REDUCE_SCATTER, "all-gather": ALL_GATHER, "all-reduce": ALL_REDUCE}


class Gradients:
    """Adds what follows the backwards.

    A bucket holds a run of layers from the top (the first also the head, the last the embedding). It is reduced once
    the last micro-batch's backward has left its lowest layer, after the bucket before it; then comes the optimizer,
    then the gathers, lowest layers first.

    Parameters
    ----------
    blocks
        Where the ops go.
    spec, model
        The job.
    compute
        int32 ``[dp, tp, m, 2, phase]``: compute ops.
    last_received
        int32 ``[dp, tp, K]``: what every GPU receives in the last all-reduce of the last backward.
    duplex, planes
        Port kind, and planes of an endpoint.
    notes
        Sentences are added to it.
    """

    def __init__(
        self,
        blocks: Blocks,
        spec: JobSpec,
        model: ModelSpec,
        compute: Ints,
        last_received: Ints,
        duplex: bool,
        planes: int,
        notes: list[str],
    ) -> None:
        p = spec.parallel
        if p.buckets > model.layers:
            raise InputError(f"is more than the {model.layers} layers", field="parallel.buckets", value=p.buckets)
        if p.param_gather == "before-forward":
            raise UnsupportedError(
                "gathers before the forward are not built yet for hosts of one GPU",
                field="parallel.param_gather",
                value=p.param_gather,
                maybe='"after-step".',
            )
        self.blocks, self.spec, self.model = blocks, spec, model
        self.members = layout(spec).rank[:, 0].T
        self.compute, self.last_received = compute, last_received.transpose(1, 0, 2)
        self.duplex, self.planes, self.notes = duplex, planes, notes
        cuts = [model.layers * j // p.buckets for j in range(p.buckets + 1)]
        self.left = cuts[1:]
        each = attention_parameters(model) + mlp_parameters(model)
        self.parameters = [each * (b - a) for a, b in pairwise(cuts)]
        self.parameters[0] += embedding_parameters(model)
        self.parameters[-1] += embedding_parameters(model)

    def add(self) -> Ints:
        """Add the ops; returns every device's compute ops in order, int ``[dp tp, k]``."""
        p = self.spec.parallel
        dp, tp = self.compute.shape[:2]
        lists = self.compute.reshape(dp * tp, -1)
        waits = self.last_received
        if dp > 1:
            before = waits[..., :0]
            for j, done in enumerate(self.left):
                ready = self.compute[:, :, -1, 1, 2 * done].T[:, :, None]
                chain = waits if j == len(self.left) - 1 else waits[..., :0]
                start = np.concatenate([ready, chain, before], axis=2)
                before = self._collective("reduce-scatter" if p.zero1 else "all-reduce", j, start)
            waits = before
        optimizer_ns = int(costs(self.spec).optimizer_ns[0])
        if optimizer_ns:
            n = dp * tp
            d, t = np.divmod(np.arange(n), tp)
            ops = self.blocks.add(
                n,
                kind=COMPUTE,
                role=OPTIMIZER,
                preds=waits.transpose(1, 0, 2).reshape(n, -1),
                device=np.arange(n),
                fixed=optimizer_ns,
                replica=d,
                rail=t,
            )
            lists = np.concatenate([lists, ops[:, None]], axis=1)
            waits = ops.reshape(dp, tp).T[:, :, None]
        if dp > 1 and p.zero1:
            for j in reversed(range(p.buckets)):
                waits = self._collective("all-gather", j, waits)
        return lists

    def _collective(self, kind: Kind, bucket: int, start: Ints) -> Ints:
        p, n = self.spec.parallel, self.members.shape[1]
        algorithm = choose(p.dp_collective, n, duplex=self.duplex, planes=self.planes, field="parallel.dp_collective")
        steps = stepwise(kind, algorithm, n)
        note = f"data parallel: {kind} as {algorithm} over {n} GPUs, {len(steps.share)} step(s) a bucket"
        if note not in self.notes:
            self.notes.append(note)
        batch = Batch(steps, self.members, start, first=self.blocks.n_ops)
        element = p.param_bytes if kind == "all-gather" else p.grad_bytes
        size = -(-self.parameters[bucket] // p.tp) * element
        batch.add(self.blocks, _ROLE[kind], steps.bytes(size), chunk=bucket, stage=np.arange(len(self.members)))
        return batch.ends()
