"""`list`: several priority rules in Numba, then a local search on port orders along the critical path."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError, did_you_mean
from fluxscale.instance.instance import CYCLIC, Instance
from fluxscale.kernels.list_schedule import list_schedule
from fluxscale.kernels.list_simple import list_schedule_simple
from fluxscale.kernels.order_decode import decode
from fluxscale.kernels.order_search import search
from fluxscale.kernels.ports import new_ports
from fluxscale.schedule.circuits import make_schedule
from fluxscale.seeds import child_seed
from fluxscale.solving.protocol import Capabilities, Outcome, Plan, Progress, ProgressCallback, SolveParams
from fluxscale.solving.status import Termination
from fluxscale_solvers.heuristics.inputs import Prepared, prepare, simple_arguments
from fluxscale_solvers.heuristics.rules import FIXED_RULES, Rule, random_rule, rank_and_offset

Ints = npt.NDArray[Any]

DEFAULT_WORK = 100_000_000
"""Default work limit in op placements (rules and moves alike): some five seconds of one core."""

CHECKPOINTS = 16
"""States kept of a decoded order, so that a move is evaluated from just before where it changes something."""

HOT, COLD = 0.4, 0.02
"""Temperature of the annealing at its start and end, in reconfiguration delays."""

SEARCH_STARTS = 3
"""How many of the best rules' schedules the local search starts from."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A schedule in the kernels' numbering, and what it is worth."""

    value: int
    rule: str
    start: Ints
    leg_option: Ints
    order: Ints


class ListScheduling:
    """List scheduling and local search; any size, any fabric.

    Work limit: op placements, i.e. ops times rules and moves tried. Options: ``rules`` (how many rules to try), ``moves`` (how many
    moves of the local search, 0: none). The answer does not depend on the number of workers.
    """

    name = "list"
    capabilities = Capabilities(work_limit_unit="op placements", options=("rules", "moves"))

    def solve(self, instance: Instance, params: SolveParams, progress: ProgressCallback) -> Outcome:
        """Try rules, then improve the best; see :class:`fluxscale.solving.protocol.Solver`."""
        began = time.perf_counter()
        deadline = began + params.time_limit_s if params.time_limit_s is not None else float("inf")
        n_rules, n_moves = _options(params.options)
        work_limit = params.work_limit if params.work_limit is not None else DEFAULT_WORK
        prepared = prepare(instance)
        n = max(1, instance.n_ops)
        if n_rules is None:
            # a quarter of the work for rules, within reason: the search gains more on small instances
            n_rules = int(np.clip(work_limit // (4 * n), 2, 64))
        if n_moves is None:
            n_moves = max(0, work_limit // n - n_rules)
        target = params.lower_bound_ticks
        stats: dict[str, Any] = {"rules": 0, "moves": 0, "moves_kept": 0}
        best: Candidate | None = None
        pool: list[Candidate] = []
        termination = Termination.FINISHED

        def report(message: str) -> None:
            value = None if best is None else best.value
            progress(Progress(time.perf_counter() - began, value, target or None, message))

        try:
            rules = [*FIXED_RULES[:n_rules], *(random_rule(k) for k in range(n_rules - len(FIXED_RULES)))]
            for found in _run_rules(instance, prepared, rules, params, deadline):
                stats["rules"] += 1
                pool.append(found)
                if best is None or found.value < best.value:
                    best = found
                    report(f"rule {found.rule}")
                if _good_enough(best.value, target, params.rel_gap) or time.perf_counter() > deadline:
                    break
            pool.sort(key=lambda c: c.value)
            for number, begin in enumerate(pool[:SEARCH_STARTS]):
                if best is None or _good_enough(best.value, target, params.rel_gap):
                    break
                share = n_moves // min(SEARCH_STARTS, len(pool))
                found = _improve(instance, prepared, begin, share, target, child_seed(params.seed, "search", number), deadline, stats)
                if found.value < best.value:
                    best = found
                    report(f"local search from {begin.rule}")
        except KeyboardInterrupt:
            termination = Termination.INTERRUPTED
        if termination is Termination.FINISHED and time.perf_counter() > deadline:
            termination = Termination.TIME_LIMIT
        if best is None:
            return Outcome(None, None, None, None, termination, stats)
        if best.value <= target:
            termination = Termination.OPTIMAL
        elif termination is Termination.FINISHED and _good_enough(best.value, target, params.rel_gap):
            termination = Termination.GAP_REACHED
        stats["best_rule"] = best.rule
        return Outcome(prepared.plan(best.start, best.leg_option), best.value, None, None, termination, stats)


def _good_enough(value: int, bound: int, rel_gap: float) -> bool:
    return bound > 0 and value - bound <= rel_gap * value


def _options(options: dict[str, Any]) -> tuple[int | None, int | None]:
    known = ListScheduling.capabilities.options
    for key, value in options.items():
        if key not in known:
            raise InputError("list has no such option", field=f"solver.{key}", value=value, maybe=did_you_mean(key, known))
        least = 1 if key == "rules" else 0
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InputError(f"must be a whole number, at least {least}", field=f"solver.{key}", value=value)
    return options.get("rules"), options.get("moves")


def _run_rules(instance: Instance, prepared: Prepared, rules: list[Rule], params: SolveParams, deadline: float):
    """Yield one candidate a rule, in the rules' order whatever the number of threads; the kernels release the GIL."""
    if params.workers <= 1 or len(rules) <= 1:
        for number, rule in enumerate(rules):
            if number and time.perf_counter() > deadline:
                return
            yield run_rule(instance, prepared, rule, params.seed)
        return
    with ThreadPoolExecutor(params.workers) as threads:
        for at in range(0, len(rules), params.workers):
            if at and time.perf_counter() > deadline:
                return
            batch = rules[at : at + params.workers]
            yield from threads.map(lambda rule: run_rule(instance, prepared, rule, params.seed), batch)


def run_rule(instance: Instance, prepared: Prepared, rule: Rule, seed: int = 0) -> Candidate:
    """Schedule an instance by one rule.

    Parameters
    ----------
    instance
        The problem.
    prepared
        What :func:`fluxscale_solvers.heuristics.inputs.prepare` made of it.
    rule
        Priority rule.
    seed
        Root seed of rules with chance.
    """
    n, legs = instance.n_ops, instance.n_legs
    start = np.empty(n, dtype=np.int64)
    order = np.empty(n, dtype=np.int32)
    rank, op_of_rank, offset, coarse = rank_and_offset(prepared, rule, seed)
    ports = new_ports(prepared.n_planes, prepared.n_endpoints)
    if prepared.simple:
        leg_option = np.arange(legs, dtype=np.int32)
        list_schedule_simple(
            *simple_arguments(prepared), ports.lane_free, ports.peer, rank, op_of_rank, offset, coarse, start, order
        )
    else:
        leg_option = np.zeros(legs, dtype=np.int32)
        list_schedule(*prepared.problem, *ports, rank, op_of_rank, offset, coarse, start, leg_option, order)
    return Candidate(_value(instance, prepared, start, leg_option), rule.name, start, leg_option, order)


def _value(instance: Instance, prepared: Prepared, start: Ints, leg_option: Ints) -> int:
    """Iteration time of a kernel result; only a cyclic boundary needs the circuits for it."""
    if instance.boundary == CYCLIC:
        plan = prepared.plan(start, leg_option)
        return make_schedule(instance, plan.op_start_ticks, plan.leg_plane).iteration_time_ticks
    problem = prepared.problem
    if problem.op_ticks.shape[1] == 1:
        return int((start + problem.op_ticks[:, 0]).max(initial=0))
    duration = problem.op_ticks[:, 0].copy()
    with_legs = np.flatnonzero(np.diff(problem.leg_indptr))
    if len(with_legs):
        op = np.repeat(np.arange(len(start)), np.diff(problem.leg_indptr))
        per_leg = problem.op_ticks[op, problem.plane_class[problem.option_plane[leg_option]]]
        duration[with_legs] = np.maximum.reduceat(per_leg, problem.leg_indptr[with_legs])
    return int((start + duration).max(initial=0))


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


def _improve(
    instance: Instance, prepared: Prepared, begin: Candidate, moves: int, target: int, seed: int, deadline: float, stats: dict[str, Any]
) -> Candidate:
    """Local search from one schedule, in slices so that a deadline or Ctrl-C can end it."""
    if moves <= 0:
        return begin
    ports = new_ports(prepared.n_planes, prepared.n_endpoints)
    saved = saved_states(instance.n_ops, prepared, CHECKPOINTS)
    order = begin.order.copy()
    slack = max(1.0, float(prepared.problem.delay.max(initial=0)))
    per_slice = max(16, 5_000_000 // max(1, instance.n_ops))
    cooling = (COLD / HOT) ** (1 / moves)
    done = 0
    while done < moves and time.perf_counter() < deadline:
        asked = min(per_slice, moves - done)
        value, tried, kept = search(
            *prepared.problem, *ports, order, prepared.tail, target, asked, child_seed(seed, done) >> 2,
            HOT * slack * cooling**done, cooling, *saved,
        )  # fmt: skip
        stats["moves"] += int(tried)
        stats["moves_kept"] += int(kept)
        done += asked
        if value <= target or tried < asked:
            break
    start = np.empty(instance.n_ops, dtype=np.int64)
    leg_option = np.zeros(instance.n_legs, dtype=np.int32)
    ready, binder = np.empty_like(start), np.empty(instance.n_ops, dtype=np.int32)
    decode(*prepared.problem, *ports, order, ready, start, leg_option, binder, np.empty(instance.n_ops, dtype=np.int8), *saved_states(instance.n_ops, prepared, 0))
    value = _value(instance, prepared, start, leg_option)
    if value >= begin.value:
        return begin
    return Candidate(value, f"{begin.rule}+search", start, leg_option, order)


__all__ = ["Candidate", "ListScheduling", "Plan", "run_rule"]
