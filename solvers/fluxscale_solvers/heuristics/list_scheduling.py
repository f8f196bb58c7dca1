"""`list`: priority rules in Numba, then backfilling, then a local search on port orders along the critical path."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from fluxscale.errors import InputError, did_you_mean
from fluxscale.instance.instance import Instance
from fluxscale.seeds import child_seed
from fluxscale.solving.protocol import Capabilities, Outcome, Progress, ProgressCallback, SolveParams
from fluxscale.solving.status import Termination
from fluxscale_solvers.heuristics.candidates import Candidate, run_rule
from fluxscale_solvers.heuristics.improvement import anneal, backfill
from fluxscale_solvers.heuristics.inputs import Prepared, prepare
from fluxscale_solvers.heuristics.rules import FIXED_RULES, Rule, random_rule

Item = TypeVar("Item")
Made = TypeVar("Made")

DEFAULT_WORK = 100_000_000
"""Default work limit in op placements: some seconds of one core."""

DEFAULT_MOVES = 400_000
"""Most moves tried where no work limit is given, however small the instance."""

BACKFILL_STARTS, SEARCH_STARTS = 6, 2
"""How many schedules are backfilled, and how many of the results are searched."""

EVALUATION_SHARE = 4
"""A trial re-places about a quarter of the ops: it goes on from a saved state and stops as soon as it is too late
(measured)."""

LEAST_TRIALS = 1000
"""With fewer trials than this within the work limit, backfilling and search are left out: they would move nothing."""


class ListScheduling:
    """List scheduling, backfilling and annealing; any size, any fabric.

    Work limit: op placements (a rule places each op once, a trial counts as a quarter of that). Options: ``rules``
    (how many rules to try), ``moves`` (how many moves of the local search; 0: neither search nor backfilling).
    Workers run rules side by side; the answer does not depend on how many there are.
    """

    name = "list"
    capabilities = Capabilities(work_limit_unit="op placements", options=("rules", "moves"))

    def solve(self, instance: Instance, params: SolveParams, progress: ProgressCallback) -> Outcome:
        """Try rules, then improve the best; see :class:`fluxscale.solving.protocol.Solver`."""
        run = _Run(instance, params, progress)
        termination = Termination.FINISHED
        try:
            run.all_phases()
        except KeyboardInterrupt:
            termination = Termination.INTERRUPTED
        best = run.best
        if best is None or run.prepared is None:
            return Outcome(None, None, None, None, termination, run.stats)
        if best.value <= run.target:
            termination = Termination.OPTIMAL
        elif termination is Termination.FINISHED and run.good_enough():
            termination = Termination.GAP_REACHED
        elif termination is Termination.FINISHED and run.late():
            termination = Termination.TIME_LIMIT
        run.stats["best_rule"] = best.rule
        return Outcome(run.prepared.plan(best.start, best.leg_option), best.value, None, None, termination, run.stats)


class _Run:
    """One solve: limits, the best schedule so far, counted work."""

    def __init__(self, instance: Instance, params: SolveParams, progress: ProgressCallback) -> None:
        self.instance = instance
        self.params = params
        self.progress = progress
        self.began = time.perf_counter()
        self.deadline = self.began + params.time_limit_s if params.time_limit_s is not None else float("inf")
        self.target = params.lower_bound_ticks
        self.n_rules, self.moves = _options(params.options)
        self.work = params.work_limit if params.work_limit is not None else DEFAULT_WORK
        self.stats: dict[str, Any] = {"rules": 0, "backfill_trials": 0, "moves": 0, "moves_kept": 0}
        self.best: Candidate | None = None
        self.prepared: Prepared | None = None

    def late(self) -> bool:
        return time.perf_counter() > self.deadline

    def good_enough(self) -> bool:
        """Whether the bound, or the gap asked for, is reached."""
        best = self.best
        return best is not None and self.target > 0 and best.value - self.target <= self.params.rel_gap * best.value

    def take(self, found: Candidate) -> None:
        if self.best is None or found.value < self.best.value:
            self.best = found
            elapsed = time.perf_counter() - self.began
            self.progress(Progress(elapsed, found.value, self.target or None, f"rule {found.rule}"))

    def all_phases(self) -> None:
        """Rules, backfilling, search."""
        n = max(1, self.instance.n_ops)
        self.prepared = prepare(self.instance)
        # a quarter of the work for rules, within reason: improvement gains more on small instances
        n_rules = self.n_rules or int(np.clip(self.work // (4 * n), 2, 64))
        pool: list[Candidate] = []
        for found in self._run_rules(self.prepared, n_rules):
            self.stats["rules"] += 1
            pool.append(found)
            self.take(found)
            if self.good_enough() or self.late():
                return
        trials = (self.work - n * len(pool)) * EVALUATION_SHARE // n
        if self.moves == 0 or (trials < LEAST_TRIALS and self.moves is None):
            return
        pool = self._backfill(self.prepared, _distinct(pool)[:BACKFILL_STARTS], max(LEAST_TRIALS, trials // 2))
        left = max(0, trials - self.stats["backfill_trials"])
        cap = DEFAULT_MOVES if self.params.work_limit is None else left
        moves = self.moves if self.moves is not None else min(cap, left)
        for number, begin in enumerate(pool[:SEARCH_STARTS]):
            if self.good_enough() or self.late():
                return
            seed = child_seed(self.params.seed, "search", number)
            share = moves // min(SEARCH_STARTS, len(pool))
            found, tried, kept = anneal(self.instance, self.prepared, begin, share, self.target, seed, self.deadline)
            self.stats["moves"] += tried
            self.stats["moves_kept"] += kept
            self.take(found)

    def _run_rules(self, prepared: Prepared, count: int) -> Iterator[Candidate]:
        rules: list[Rule] = [*FIXED_RULES[:count], *(random_rule(k) for k in range(count - len(FIXED_RULES)))]
        return self._in_order(lambda rule: run_rule(self.instance, prepared, rule, self.params.seed), rules)

    def _backfill(self, prepared: Prepared, pool: list[Candidate], trials: int) -> list[Candidate]:
        """Backfill each with an equal share of the trials; best first, together with what they came from."""
        results = list(pool)
        share = max(1, trials // len(pool))
        for found, used in self._in_order(lambda begin: backfill(self.instance, prepared, begin, share), pool):
            self.stats["backfill_trials"] += used
            results.append(found)
            self.take(found)
            if self.good_enough() or self.late():
                break
        return _distinct(results)

    def _in_order(self, work: Callable[[Item], Made], items: Sequence[Item]) -> Iterator[Made]:
        """Yield ``work`` of each item in the items' order, whatever the number of threads: the kernels release the GIL.

        A consumer that stops early therefore stops at the same item with any number of workers.
        """
        workers = min(self.params.workers, len(items))
        if workers <= 1:
            yield from map(work, items)
            return
        with ThreadPoolExecutor(workers) as threads:
            for at in range(0, len(items), workers):
                yield from threads.map(work, items[at : at + workers])


def _distinct(pool: list[Candidate]) -> list[Candidate]:
    """Best first, one of each value."""
    by_value: dict[int, Candidate] = {}
    for candidate in pool:
        by_value.setdefault(candidate.value, candidate)
    return [by_value[value] for value in sorted(by_value)]


def _options(options: dict[str, Any]) -> tuple[int | None, int | None]:
    known = ListScheduling.capabilities.options
    for key, value in options.items():
        if key not in known:
            raise InputError(
                "list has no such option", field=f"solver.{key}", value=value, maybe=did_you_mean(key, known)
            )
        least = 1 if key == "rules" else 0
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InputError(f"must be a whole number, at least {least}", field=f"solver.{key}", value=value)
    return options.get("rules"), options.get("moves")
