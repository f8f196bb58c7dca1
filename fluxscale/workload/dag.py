"""CommDag: the ops of one training iteration and what they wait for, as columns; no fabric yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

if TYPE_CHECKING:
    import networkx as nx

Ints = npt.NDArray[Any]

COMPUTE, TRANSFER, GANG, LOCAL = 0, 1, 2, 3
"""Op kinds (the same numbers as in the instance)."""


@dataclass(frozen=True, eq=False)
class CommDag:
    """Ops of one iteration. Columns as in :class:`fluxscale.instance.instance.Instance`.

    Attributes
    ----------
    op_kind, op_device, op_bytes, op_fixed_ns
        int8, int32, int64, int64 ``[n]``; ``op_fixed_ns`` is -1 where the duration follows from the bytes.
    pred_indptr, pred_index
        CSR of predecessors.
    device_indptr, device_ops
        CSR of each device's compute ops in order.
    leg_indptr, leg_tx, leg_rx
        CSR of each op's circuits, as endpoint numbers.
    endpoint_rail
        int16 ``[E]``: rail (local index in its host) of each endpoint; 0 where there are no rails.
    op_names, device_names, endpoint_names
        Given names, or empty.
    labels
        Columns from which op names are made (:class:`fluxscale.instance.names.OpLabels` columns by name), or empty.
    gpus
        GPUs that the job runs on, or None where unknown.
    notes
        Facts that the output must state (how layers are spread, what stays on NVLink, ...).
    """

    op_kind: Ints
    op_device: Ints
    op_bytes: Ints
    op_fixed_ns: Ints
    pred_indptr: Ints
    pred_index: Ints
    device_indptr: Ints
    device_ops: Ints
    leg_indptr: Ints
    leg_tx: Ints
    leg_rx: Ints
    endpoint_rail: Ints
    op_names: tuple[str, ...] = ()
    device_names: tuple[str, ...] = ()
    endpoint_names: tuple[str, ...] = ()
    labels: dict[str, Ints] = field(default_factory=dict)
    gpus: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def n_ops(self) -> int:
        """Number of ops."""
        return len(self.op_kind)

    def to_networkx(self) -> nx.DiGraph:
        """Build a networkx graph for people (small DAGs only): precedence and device-order edges."""
        import networkx as nx
        import numpy as np

        graph = nx.DiGraph()
        graph.add_nodes_from(range(self.n_ops))
        heads = np.repeat(np.arange(self.n_ops), np.diff(self.pred_indptr))
        graph.add_edges_from(zip(self.pred_index.tolist(), heads.tolist(), strict=True))
        for device in range(len(self.device_indptr) - 1):
            nx.add_path(graph, self.device_ops[self.device_indptr[device] : self.device_indptr[device + 1]].tolist())
        return graph
