"""What follows the rules: backfilling, then annealing on port orders."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.instance import Instance
from fluxscale.kernels.order_decode import decode
from fluxscale.kernels.order_search import search
from fluxscale.kernels.order_settle import settle
from fluxscale.kernels.ports import new_ports
from fluxscale.seeds import child_seed
from fluxscale_solvers.heuristics.candidates import Candidate, iteration_time
from fluxscale_solvers.heuristics.inputs import Prepared

Ints = npt.NDArray[Any]

CHECKPOINTS = 32
"""States kept of a decoded order, so that a trial is evaluated from just before where it changes something."""

TRIES = 64
"""Places that backfilling tries for one op."""

HOT, COLD = 0.4, 0.02
"""Temperature of the annealing at its start and end, in reconfiguration delays."""

SLICE_WORK = 5_000_000
"""Op placements between two looks at the clock."""


def saved_states(n_ops: int, prepared: Prepared, rows: int) -> tuple[int, Ints, Ints, Ints, Ints]:
    """Room for ``rows`` states of a decoding (0: none), with the distance in ops between two of them."""
    every = -(-n_ops // rows) if rows else 0
    rows = -(-n_ops // every) if every else 0
    lanes = prepared.n_planes * prepared.n_endpoints * 2
    return (
        every,
        np.empty((rows, n_ops), dtype=np.int64),
        np.empty((rows, 2, lanes), dtype=np.int64),
        np.empty((rows, 3, lanes), dtype=np.int32),
        np.empty((rows, 3, prepared.n_planes), dtype=np.int64),
    )


def backfill(instance: Instance, prepared: Prepared, begin: Candidate, evaluations: int) -> tuple[Candidate, int]:
    """Move ops that wait into earlier gaps; returns the better schedule and the evaluations used.

    Parameters
    ----------
    instance, prepared
        The problem.
    begin
        Schedule to start from.
    evaluations
        Most places to evaluate.
    """
    ports = new_ports(prepared.n_planes, prepared.n_endpoints)
    order = begin.order.copy()
    saved = saved_states(instance.n_ops, prepared, CHECKPOINTS)
    _, used, _ = settle(*prepared.problem, *ports, order, prepared.tail, evaluations, TRIES, *saved)
    return _better(instance, prepared, begin, order, "backfill"), int(used)


def anneal(
    instance: Instance, prepared: Prepared, begin: Candidate, moves: int, target: int, seed: int, deadline: float
) -> tuple[Candidate, int, int]:
    """Anneal port orders along the critical path, in slices so that a deadline or Ctrl-C can end it.

    Parameters
    ----------
    instance, prepared
        The problem.
    begin
        Schedule to start from.
    moves
        Moves to try.
    target
        Value at which to stop (a proven bound).
    seed
        Seed of this search.
    deadline
        ``time.perf_counter()`` at which to stop.

    Returns
    -------
    candidate, tried, kept
        The better schedule, and how many moves were tried and accepted.
    """
    if moves <= 0:
        return begin, 0, 0
    ports = new_ports(prepared.n_planes, prepared.n_endpoints)
    saved = saved_states(instance.n_ops, prepared, CHECKPOINTS)
    order = begin.order.copy()
    slack = max(1.0, float(prepared.problem.delay.max(initial=0)))
    per_slice = max(16, SLICE_WORK // max(1, instance.n_ops))
    cooling = (COLD / HOT) ** (1 / moves)
    done = tried_in_all = kept_in_all = 0
    while done < moves and time.perf_counter() < deadline:
        asked = min(per_slice, moves - done)
        value, tried, kept = search(
            *prepared.problem, *ports, order, prepared.tail, target, asked, child_seed(seed, done) >> 2,
            HOT * slack * cooling**done, cooling, *saved,
        )  # fmt: skip
        tried_in_all += int(tried)
        kept_in_all += int(kept)
        done += asked
        if value <= target or tried < asked:
            break
    return _better(instance, prepared, begin, order, "search"), tried_in_all, kept_in_all


def _better(instance: Instance, prepared: Prepared, begin: Candidate, order: Ints, how: str) -> Candidate:
    """Decode an order; the schedule that it came from where that is no worse."""
    ports = new_ports(prepared.n_planes, prepared.n_endpoints)
    n = instance.n_ops
    start, ready, binder = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int32)
    leg_option, binding = np.zeros(instance.n_legs, dtype=np.int32), np.empty(n, dtype=np.int8)
    decode(*prepared.problem, *ports, order, ready, start, leg_option, binder, binding, *saved_states(n, prepared, 0))
    value = iteration_time(instance, prepared, start, leg_option)
    if value >= begin.value:
        return begin
    return Candidate(value, f"{begin.rule}+{how}", start, leg_option, order)
