"""Data-parallel gangs of jobs whose tensor-parallel groups stay in a host (mode "hosts")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.workload.blocks import Blocks
from fluxscale.workload.collectives import Kind, Steps, as_gangs, choose
from fluxscale.workload.costs import Costs, inside_ns
from fluxscale.workload.dag import GANG, LOCAL
from fluxscale.workload.parallelism import Rings
from fluxscale.workload.roles import ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER
from fluxscale.workload.spec import JobSpec

Ints = npt.NDArray[Any]

_ROLE = {"reduce-scatter": REDUCE_SCATTER, "all-gather": ALL_GATHER, "all-reduce": ALL_REDUCE}


@dataclass(frozen=True, eq=False)
class Collective:
    """One kind of data-parallel collective of a job: its steps, and the bytes of each bucket.

    Attributes
    ----------
    spec, costs, rings
        The job, what its ops cost, and its data-parallel groups.
    kind
        What it does.
    steps
        Steps over the hosts of a ring, or None where a group lies in one host.
    algorithm
        Name of the algorithm.
    """

    spec: JobSpec
    costs: Costs
    rings: Rings
    kind: Kind
    steps: Steps | None
    algorithm: str = "NVLink"

    @property
    def per_bucket(self) -> int:
        """Ops that one bucket of one chunk takes on one stage."""
        gangs = self.rings.members.shape[1] * len(self.steps.share) if self.steps else 0
        return gangs + self._inside * (2 if self.kind == "all-reduce" and self.steps else 1)

    def describe(self) -> str:
        """One sentence on who takes part and how."""
        rings, dp = self.rings, self.spec.parallel.dp
        if self.steps is None:
            return f"data parallel: the {dp} members of a group share a host, so its {self.kind} stays on NVLink"
        inside = f", after {rings.per_host} members a host have reduced over NVLink" if self._inside else ""
        return (
            f"data parallel: {self.kind} as {self.algorithm} over {rings.hosts} hosts on each rail, "
            f"one gang a bucket and step{inside}"
        )

    @property
    def _inside(self) -> bool:
        return self.rings.per_host > 1

    @property
    def _element_bytes(self) -> int:
        return self.spec.parallel.param_bytes if self.kind == "all-gather" else self.spec.parallel.grad_bytes

    def add(self, blocks: Blocks, virtual_stage: int, first: Ints, chain: Ints) -> Ints:
        """Add the buckets of one virtual stage.

        Parameters
        ----------
        blocks
            Where the ops go.
        virtual_stage
            Number of the virtual stage.
        first
            int ``[k]``: ops that all buckets wait for.
        chain
            int ``[r]``: ends of what this stage's rails did before (one stream each), or empty.

        Returns
        -------
        int ``[rails]``: ends of the last bucket on every rail.
        """
        chunk, stage = divmod(virtual_stage, self.spec.parallel.pp)
        for bucket in range(self.spec.parallel.buckets):
            labels: dict[str, Any] = {"stage": stage, "chunk": chunk, "step": bucket}
            if self.kind == "all-gather":
                chain = self._gangs(blocks, virtual_stage, stage, first, chain, labels)
                chain = self._local(blocks, virtual_stage, ALL_GATHER, chain, labels)
            else:
                begun = self._local(blocks, virtual_stage, _ROLE[self.kind], np.concatenate([first, chain]), labels)
                ready, waits = (begun, chain[:0]) if self._inside else (first, chain)
                chain = self._gangs(blocks, virtual_stage, stage, ready, waits, labels) if self.steps else begun
                if self.kind == "all-reduce" and self.steps:
                    chain = self._local(blocks, virtual_stage, ALL_GATHER, chain, labels)
        return chain

    def _size(self, virtual_stage: int) -> int:
        return -(-int(self.costs.parameters[virtual_stage]) * self._element_bytes // self.spec.parallel.buckets)

    def _local(self, blocks: Blocks, virtual_stage: int, role: int, waits: Ints, labels: dict[str, Any]) -> Ints:
        """Add the part inside the hosts: (q-1)/q of the size over NVLink, twice for an all-reduce within one host."""
        if not self._inside:
            return waits
        q = self.rings.per_host
        turns = 2 if self.kind == "all-reduce" and not self.steps else 1
        fixed = inside_ns(self.spec, -(-self._size(virtual_stage) * turns * (q - 1) // q))
        if not self.steps and self.costs.dp_ns >= 0:
            fixed = self.costs.dp_ns
        return blocks.add(1, kind=LOCAL, role=role, preds=waits[None], fixed=fixed, **labels)

    def _gangs(
        self, blocks: Blocks, virtual_stage: int, stage: int, first: Ints, chain: Ints, labels: dict[str, Any]
    ) -> Ints:
        if self.steps is None:
            return np.concatenate([first, chain])
        members = self.rings.members[stage]
        rails = len(members)
        size = -(-self._size(virtual_stage) // self.rings.per_host)
        sizes = self.steps.bytes(size)
        if self.costs.dp_bytes >= 0:
            sizes = np.full(len(sizes), self.costs.dp_bytes)
        begin = np.broadcast_to(first, (rails, len(first)))
        # A chain of another length (it went through NVLink) is waited for as a whole; else every rail follows itself.
        follow = chain[:, None] if len(chain) == rails else np.broadcast_to(chain, (rails, len(chain)))
        preds = np.concatenate([begin, follow], axis=1)
        rail = members[:, 0] % self.spec.hardware.gpus_per_host
        steps = len(sizes)
        for k in range(steps):
            sending = self.steps.target[k] >= 0
            columns = labels | {"step": labels["step"] * steps + k}
            ends = blocks.add(
                rails,
                kind=GANG,
                role=_ROLE[self.kind],
                preds=preds,
                tx=members[:, sending],
                rx=members[:, self.steps.target[k][sending]],
                bytes=int(sizes[k]),
                fixed=self.costs.dp_ns,
                rail=rail,
                **columns,
            )
            preds = ends[:, None]
        return preds[:, 0]


def collective(spec: JobSpec, costs: Costs, rings: Rings, kind: Kind, *, duplex: bool, planes: int) -> Collective:
    """Choose the algorithm of a job's data-parallel collectives and prepare its steps.

    Gradients or parameters of S bytes on a GPU: the q members that share a host first reduce over NVLink, then each of
    q rails takes S/q around the hosts. An all-gather goes the other way round.
    """
    if rings.hosts == 1:
        return Collective(spec, costs, rings, kind, None)
    algorithm = choose(
        spec.parallel.dp_collective, rings.hosts, duplex=duplex, planes=planes, field="parallel.dp_collective"
    )
    return Collective(spec, costs, rings, kind, as_gangs(kind, algorithm, rings.hosts), algorithm)
