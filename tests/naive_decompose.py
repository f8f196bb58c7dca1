"""Plain-Python twins of the kernels of decomposition: hulls, windows, stitched orders."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy.typing as npt

from fluxscale.instance.instance import Instance

Ints = npt.NDArray[Any]


def legs_of(instance: Instance, op: int) -> list[tuple[int, int]]:
    legs = range(instance.leg_indptr[op], instance.leg_indptr[op + 1])
    return [(int(instance.leg_tx[leg]), int(instance.leg_rx[leg])) for leg in legs]


def graph_of(instance: Instance) -> nx.DiGraph:
    """Precedence and device order."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(instance.n_ops))
    for op in range(instance.n_ops):
        preds = instance.pred_index[instance.pred_indptr[op] : instance.pred_indptr[op + 1]]
        graph.add_edges_from((pred, op) for pred in preds.tolist())
    for a, b in itertools.pairwise(instance.device_indptr.tolist()):
        nx.add_path(graph, instance.device_ops[a:b].tolist())
    return graph


def graph_with_ports(instance: Instance, leg_plane: Ints, rank: Ints) -> nx.DiGraph:
    """Precedence, device order, and on each port its ops by the rank of their leg ends."""
    ports: dict[Any, list[tuple[int, int, int]]] = {}
    end = 0
    for op in range(instance.n_ops):
        for tx, rx in legs_of(instance, op):
            plane = int(leg_plane[end // 2])
            for endpoint, side in ((tx, "out"), (rx, "in")):
                port = (plane, endpoint, "both" if instance.plane_duplex[plane] else side)
                ports.setdefault(port, []).append((int(rank[end]), end, op))
                end += 1
    graph = graph_of(instance)
    for ends in ports.values():
        ops = [op for _, _, op in sorted(ends)]
        graph.add_edges_from((a, b) for a, b in itertools.pairwise(ops) if a != b)
    return graph


def naive_met(graph: nx.DiGraph, position: Ints, seeds: Sequence[int], high: int) -> set[int]:
    """Seeds and what can be reached from them without leaving the positions below ``high``."""
    near = graph.subgraph([op for op in graph if position[op] < high])
    return set(seeds).union(*(nx.descendants(near, op) for op in seeds))


def naive_between(graph: nx.DiGraph, seeds: Sequence[int]) -> set[int]:
    """Ops on some path between two of the seeds."""
    pairs = itertools.permutations(seeds, 2)
    return set().union(*(nx.descendants(graph, a) & nx.ancestors(graph, b) for a, b in pairs))


def naive_pairs(instance: Instance, ops: Sequence[int]) -> int:
    """Pairs of legs of different ops that send from one endpoint, and pairs that receive at one."""
    pairs = 0
    for a, b in itertools.combinations(ops, 2):
        for one, two in itertools.product(legs_of(instance, a), legs_of(instance, b)):
            pairs += (one[0] == two[0]) + (one[1] == two[1])
    return pairs


def naive_cut_windows(instance: Instance, ops: Sequence[int], budget: int, first_budget: int) -> list[int]:
    """Take ops into a window as long as a count of all its pairs allows; one op is always allowed."""
    cuts, allowed = [0], first_budget
    while cuts[-1] < len(ops):
        end = cuts[-1] + 1
        while end < len(ops) and naive_pairs(instance, ops[cuts[-1] : end + 1]) <= allowed:
            end += 1
        cuts.append(end)
        allowed = budget
    return cuts


def naive_stitch_order(graph: nx.DiGraph, key: Ints, tie: Ints) -> list[int]:
    """Among the ops whose predecessors are all taken, take the lowest, until there is none."""
    order: list[int] = []
    while ready := [op for op in graph if op not in order and set(graph.predecessors(op)) <= set(order)]:
        order.append(min(ready, key=lambda op: (key[op], tie[op])))
    return order
