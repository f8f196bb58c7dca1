"""`sunflow`: whenever ports fall idle, waiting transfers start on them in order of release."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.instance import TRANSFER, Instance
from fluxscale.kernels.ports import new_ports
from fluxscale.kernels.reactive.sunflow import sunflow
from fluxscale.solving.protocol import Capabilities, Outcome, ProgressCallback, SolveParams
from fluxscale.solving.status import Termination
from fluxscale_solvers.baselines.on_demand import planned, ranked, refuse_options
from fluxscale_solvers.heuristics.inputs import Prepared, prepare

Ints = npt.NDArray[Any]


class Sunflow:
    """Sunflow (Huang, Sun and Ng, CoNEXT 2016): one circuit per transfer, per-port reservations, never preempted.

    Work-conserving and not-all-stop: whenever ports fall idle, all waiting transfers are gone through in order of
    release, and each whose two ports are idle takes them at once, for the delay and its own duration. For one coflow
    (all transfers released together) this ends within twice the circuit lower bound, the largest sum of delay and
    duration over a port's peers (the paper's theorem, which holds for any order).

    Our choices: between coflows the order is that of release, ties by op number (the paper leaves it to the operator
    and measures shortest coflow first, which nobody knows here). A circuit that is still in place costs no delay. Of
    several planes with idle ports the one with the earliest start is taken, then the first. A gang needs all its ports
    at once. On a duplex plane the other direction of a circuit that is up may be used meanwhile. On an all-stop plane,
    for which the paper has no rule, circuits are set when the whole plane is silent: then all that can start by the
    rule above do so together. A cyclic boundary is played as by ``on-demand``: until an iteration begins with the
    circuits that it leaves behind.
    """

    name = "sunflow"
    capabilities = Capabilities(comparison=True)

    def solve(self, instance: Instance, params: SolveParams, progress: ProgressCallback) -> Outcome:
        """Play the instance; see :class:`fluxscale.solving.protocol.Solver`.

        There is nothing to stop early: limits and the seed have no effect.
        """
        refuse_options(self.name, params.options)
        began = time.perf_counter()
        stats: dict[str, Any] = {"rounds": 0}
        try:
            prepared = prepare(instance)
            rank, op_of_rank = prepared.op_of, ranked(prepared)
            shape, n_shapes = _shapes(instance, prepared)

            def play(held: Ints, start: Ints, leg_option: Ints) -> Ints:
                ports = new_ports(prepared.n_planes, prepared.n_endpoints)
                change = np.empty(prepared.n_planes, dtype=np.int64)
                sunflow(
                    *prepared.problem, *ports, change, held, rank, op_of_rank, shape, n_shapes, start, leg_option
                )  # fmt: skip
                return ports.peer

            return planned(instance, prepared, play, stats, progress, began, steady=True)
        except KeyboardInterrupt:
            return Outcome(None, None, None, None, Termination.INTERRUPTED, stats)


def _shapes(instance: Instance, prepared: Prepared) -> tuple[Ints, int]:
    """Number of each op's shape: transfers of one pair share it, a gang has its own."""
    old = prepared.op_of
    shape = np.arange(len(old), dtype=np.int64)
    transfers = np.flatnonzero(instance.op_kind[old] == TRANSFER)
    leg = instance.leg_indptr[old[transfers]]
    pair = instance.leg_tx[leg].astype(np.int64) * instance.n_endpoints + instance.leg_rx[leg]
    distinct, of_transfer = np.unique(pair, return_inverse=True)
    shape[transfers] = of_transfer.ravel() + len(old)
    return _dense(shape, len(old) + len(distinct))


def _dense(shape: Ints, limit: int) -> tuple[Ints, int]:
    """Renumber shapes below ``limit`` so that none is missing."""
    used = np.zeros(limit, dtype=np.bool_)
    used[shape] = True
    return (np.cumsum(used) - 1)[shape].astype(np.int32), int(np.count_nonzero(used))
