"""DAG of a job whose tensor-parallel groups stay in a host: a device is one group, its endpoints are its GPUs' NICs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.workload.blocks import Blocks
from fluxscale.workload.build_dp import Collective, collective
from fluxscale.workload.costs import Costs, costs, inside_ns
from fluxscale.workload.dag import COMPUTE, LOCAL, TRANSFER, CommDag
from fluxscale.workload.notes import job_notes
from fluxscale.workload.parallelism import Hops, Layout, hops, layout, rings
from fluxscale.workload.pipeline import pipeline_order
from fluxscale.workload.roles import ACTIVATION, BACKWARD, FORWARD, GRADIENT, OPTIMIZER
from fluxscale.workload.spec import JobSpec

Ints = npt.NDArray[Any]


def build_hosts(spec: JobSpec, *, duplex: bool, planes: int) -> CommDag:
    """Build the DAG (see :func:`fluxscale.workload.build.build_dag`).

    Ops lie in blocks: forwards ``[dp, V, m]``, backwards ``[dp, V, m]``, activations, gradients, optimizer steps, then
    the data-parallel collectives. What a block waits for is computed for the whole
    block, so the cost is a handful of array operations whatever the size.
    """
    return _HostsBuilder(spec, duplex, planes).build()


class _HostsBuilder:
    def __init__(self, spec: JobSpec, duplex: bool, planes: int) -> None:
        p = spec.parallel
        self.spec, self.costs, self.place = spec, costs(spec), layout(spec)
        self.dp, self.stages, self.chunks = p.dp, p.pp, p.virtual_stages
        self.virtual, self.m = p.pp * p.virtual_stages, p.micro_batch_count
        self.duplex, self.planes = duplex, planes
        self.blocks = Blocks()
        self.notes: list[str] = []
        self.order = pipeline_order(p.order, p.pp, self.m, p.virtual_stages, p.micro_batch_group)
        self.shape = (self.dp, self.virtual, self.m)
        n = int(np.prod(self.shape))
        self.forward = np.arange(n, dtype=np.int32).reshape(self.shape)
        self.backward = self.forward + np.int32(n)

    def build(self) -> CommDag:
        up, down = hops(self.place, 1), hops(self.place, -1)
        if self.stages > 1 and up.forwarded + down.forwarded:
            self.notes.append(
                "pipeline: neighbours on different rails send by the NIC on the receiver's rail "
                "(PXN; its NVLink hop is not timed)"
            )
        act = _Messages(self, up, np.arange(self.virtual - 1), 2 * self.forward.size)
        grad = _Messages(self, down, np.arange(self.virtual - 1, 0, -1), 2 * self.forward.size + act.n)
        computes = self.dp * self.stages if self.costs.optimizer_ns.any() else 0
        self.optimizer = np.arange(computes, dtype=np.int32).reshape(-1, self.stages) + np.int32(grad.first + grad.n)
        tail = Blocks(grad.first + grad.n + computes)
        optimizer_preds, gathered = self._data_parallel(tail)
        self._compute(act, grad, gathered)
        act.add(self.forward, ACTIVATION)
        grad.add(self.backward, GRADIENT)
        if computes:
            d, s = np.divmod(np.arange(computes), self.stages)
            self.blocks.add(
                computes,
                kind=COMPUTE,
                role=OPTIMIZER,
                preds=optimizer_preds[s],
                device=np.arange(computes),
                fixed=self.costs.optimizer_ns[s],
                stage=s,
                replica=d,
            )
        self.blocks.extend(tail)
        return self.blocks.finish(
            self._device_lists(),
            endpoint_rail=self.place.rail,
            device_names=tuple(f"s{s}.d{d}" for d in range(self.dp) for s in range(self.stages)),
            endpoint_names=endpoint_names(self.place),
            gpus=self.place.gpus,
            notes=job_notes(self.spec, self.costs, self.notes),
        )

    def _compute(self, act: _Messages, grad: _Messages, gathered: Ints) -> None:
        """Add forwards and backwards, after their messages; a chunk's first forward also after its gather."""
        d, vs, m = (np.broadcast_to(x, self.shape).ravel() for x in np.ogrid[: self.dp, : self.virtual, : self.m])
        chunk, stage = np.divmod(vs, self.stages)
        device = d * self.stages + stage
        n = len(d)
        extra = np.full((*self.shape, gathered.shape[1]), -1, dtype=np.int32)
        extra[:, :, 0, :] = gathered[None]
        into = act.into(self.forward, 1)
        common = {"kind": COMPUTE, "device": device, "stage": stage, "chunk": chunk, "micro_batch": m, "replica": d}
        preds = np.concatenate([into.reshape(n, -1), extra.reshape(n, -1)], axis=1)
        self.blocks.add(n, role=FORWARD, preds=preds, fixed=self.costs.forward_ns[vs], **common)
        into = grad.into(self.backward, -1)
        preds = np.concatenate([self.forward.reshape(n, 1), into.reshape(n, -1)], axis=1)
        self.blocks.add(n, role=BACKWARD, preds=preds, fixed=self.costs.backward_ns[vs], **common)

    def _device_lists(self) -> Ints:
        """Compute ops of every device in its pipeline order, and its optimizer step at the end."""
        order = self.order
        vs = order.chunk * self.stages + np.arange(self.stages)[:, None]
        one = np.where(order.backward, self.backward[0, vs, order.micro_batch], self.forward[0, vs, order.micro_batch])
        replica = np.arange(self.dp, dtype=np.int32)[:, None, None] * np.int32(self.virtual * self.m)
        lists = (one[None] + replica).reshape(self.dp * self.stages, -1)
        return np.concatenate([lists, self.optimizer.reshape(-1, 1)], axis=1) if self.optimizer.size else lists

    def _chunk_turns(self, stage: int, *, backward: bool) -> list[int]:
        """Virtual stages of a stage in the order in which their last backward (first forward) is due."""
        mine = np.flatnonzero(self.order.backward[stage] == backward)
        chunk = self.order.chunk[stage, mine]
        at = np.zeros(self.chunks, dtype=np.int64)
        if backward:
            np.maximum.at(at, chunk, mine)
        else:
            at[:] = len(self.order.chunk[stage])
            np.minimum.at(at, chunk, mine)
        return (np.argsort(at, kind="stable") * self.stages + stage).tolist()

    def _data_parallel(self, tail: Blocks) -> tuple[Ints, Ints]:
        """Add the collectives; returns what each stage's optimizer and each chunk's first forward wait for."""
        nothing = np.full((self.virtual, 0), -1, dtype=np.int32)
        if self.dp == 1:
            return np.full((self.stages, 0), -1, dtype=np.int32), nothing
        p, groups = self.spec.parallel, rings(self.place)
        options: dict[str, Any] = {"duplex": self.duplex, "planes": self.planes}
        reduce = collective(self.spec, self.costs, groups, "reduce-scatter" if p.zero1 else "all-reduce", **options)
        gather = collective(self.spec, self.costs, groups, "all-gather", **options) if p.zero1 else None
        self.notes.append(reduce.describe())
        ends = [self._reduce(tail, reduce, stage) for stage in range(self.stages)]
        if gather is None:
            return np.stack(ends), nothing
        before = p.param_gather == "before-forward"
        gathered: dict[int, Ints] = {}
        for stage in range(self.stages):
            done = self.optimizer[:, stage] if self.optimizer.size else ends[stage]
            chain = done[:0]
            for vs in self._chunk_turns(stage, backward=False):
                chain = gathered[vs] = gather.add(tail, vs, done[:0] if before else done, chain)
        return np.stack(ends), np.stack([gathered[vs] for vs in range(self.virtual)]) if before else nothing

    def _reduce(self, tail: Blocks, reduce: Collective, stage: int) -> Ints:
        chain = self.forward[0, 0, :0]
        for vs in self._chunk_turns(stage, backward=True):
            chain = reduce.add(tail, vs, self.backward[:, vs, -1], chain)
        return chain


class _Messages:
    """Activations or gradients: for every replica and boundary tp slices over the OCS, or one op inside the host."""

    def __init__(self, build: _HostsBuilder, ways: Hops, sources: Ints, first: int) -> None:
        self.build, self.first = build, first
        spec, stages = build.spec, build.stages
        self.m = build.m
        crossing = stages > 1
        inside = ways.inside[:, sources % stages]
        slices = np.broadcast_to(np.arange(spec.parallel.tp), (*inside.shape, spec.parallel.tp))
        kept = crossing & (~inside[..., None] | (slices == 0))
        self.replica, boundary, self.slice = np.nonzero(kept)
        self.source = sources[boundary]
        self.inside = inside[self.replica, boundary]
        stage = self.source % stages
        self.tx, self.rx = ways.tx[self.replica, stage, self.slice], ways.rx[self.replica, stage, self.slice]
        self.n = len(self.replica) * self.m
        self.row = np.full((build.dp, build.virtual, spec.parallel.tp), -1, dtype=np.int32)
        self.row[self.replica, self.source, self.slice] = np.arange(len(self.replica))

    def into(self, computes: Ints, offset: int) -> Ints:
        """Messages that every compute op of the receiving kind waits for, int32 ``[dp, V, m, tp]``, -1: none.

        On a pipeline of one stage the next chunk follows on the same device and waits for the compute op itself.
        """
        build = self.build
        if build.stages == 1:
            out = np.full((*build.shape, 1), -1, dtype=np.int32)
            if offset > 0:
                out[:, 1:, :, 0] = computes[:, :-1]
            else:
                out[:, :-1, :, 0] = computes[:, 1:]
            return out
        row = np.full_like(self.row, -1)
        if offset > 0:
            row[:, 1:] = self.row[:, :-1]
        else:
            row[:, :-1] = self.row[:, 1:]
        m = np.arange(self.m, dtype=np.int32)[:, None]
        return np.where(
            row[:, :, None] >= 0, row[:, :, None] * np.int32(self.m) + m + np.int32(self.first), np.int32(-1)
        )

    def add(self, computes: Ints, role: int) -> None:
        """Add the messages, micro-batch fastest: first those of each row, in row order."""
        build, spec = self.build, self.build.spec
        cost: Costs = build.costs
        if not self.n:
            return
        # Rows inside a host and rows over the OCS lie mixed, so that op numbers follow from the row alone.
        rows = np.repeat(np.arange(len(self.replica)), self.m)
        m = np.tile(np.arange(self.m, dtype=np.int32), len(self.replica))
        chunk, stage = np.divmod(self.source, build.stages)
        local = self.inside[rows]
        nvlink = inside_ns(spec, cost.slice_bytes) if cost.slice_bytes else max(0, cost.slice_ns)
        rail = np.where(self.inside, -1, self.rx % build.place.gpus_per_host)
        build.blocks.add(
            self.n,
            kind=np.where(local, LOCAL, TRANSFER),
            role=role,
            preds=computes[self.replica, self.source].reshape(-1, 1),
            tx=np.where(local, -1, self.tx[rows]),
            rx=np.where(local, -1, self.rx[rows]),
            bytes=np.where(local, 0, cost.slice_bytes),
            fixed=np.where(local, nvlink, cost.slice_ns),
            stage=stage[rows],
            chunk=chunk[rows],
            micro_batch=m,
            replica=self.replica[rows],
            rail=rail[rows],
        )


def endpoint_names(place: Layout) -> tuple[str, ...]:
    """Names of the endpoints: host and local index."""
    return tuple(f"h{r // place.gpus_per_host}.g{r % place.gpus_per_host}" for r in range(place.gpus))
