"""``stage-window``: stage groups and time windows of an incumbent solved as small exact models, stitched, repeated."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from fluxscale.decompose.incumbent import Incumbent
from fluxscale.decompose.stages import endpoint_row
from fluxscale.decompose.subproblem import Subproblem, SubResult
from fluxscale.instance.instance import Instance
from fluxscale.runtime.executor import Executor, Lost, open_executor
from fluxscale.solving.protocol import Capabilities, Outcome, Plan, Progress, ProgressCallback, SolveParams
from fluxscale.solving.status import Termination
from fluxscale_solvers.decomposed.chain import Chain
from fluxscale_solvers.decomposed.options import DEFAULT_WORK, NAMES, OPS_PER_WORK, OVERHEAD_WORK, read_options
from fluxscale_solvers.decomposed.starts import starting_points

TARGET = "fluxscale_solvers.decomposed.sub_solve:solve_subproblem"

SEVERAL_CHAINS, CHAIN_OPS = 4, 4000
"""Chains of an instance of up to so many ops; a larger one has windows enough to keep all workers busy."""


class StageWindow:
    """Decomposition by stage group and time window; any size, any fabric.

    Several chains, each with an incumbent of its own, are improved in rounds. A round partitions the incumbent into
    windows, solves those that do not touch at the same time, and stitches what is better. Work limit: thousandths of
    CP-SAT's deterministic time in sub-solves (other back ends: nodes), 20 for each of them, and one for 2000 ops that
    are timed again. The answer depends on seed and
    work limit alone, not on the number of workers or the executor.
    """

    name = "stage-window"
    capabilities = Capabilities(
        work_limit_unit="units of sub-solves (thousandths of CP-SAT's deterministic time)",
        options=NAMES,
        improves=True,
        executors=("serial", "process"),
    )

    def solve(self, instance: Instance, params: SolveParams, progress: ProgressCallback) -> Outcome:
        """Improve a schedule until a limit; see :class:`fluxscale.solving.protocol.Solver`."""
        run = _Run(instance, params, progress)
        try:
            termination = run.all_rounds()
        except KeyboardInterrupt:
            termination = Termination.INTERRUPTED
        finally:
            run.executor.close()
        best = run.best
        if best is None:
            return Outcome(None, None, None, None, termination, run.stats())
        plan = Plan(best.op_start_ticks, best.leg_plane)
        bound = run.bound if run.bound > params.lower_bound_ticks else None
        name = None if bound is None else "whole-window"
        return Outcome(plan, best.value_ticks, bound, name, termination, run.stats(), notes=run.notes())


class _Run:
    """One solve: limits, chains, results known, counted work."""

    def __init__(self, instance: Instance, params: SolveParams, progress: ProgressCallback) -> None:
        self.instance, self.params, self.progress = instance, params, progress
        self.options = read_options(params.options, params.work_limit)
        self.began = time.monotonic()
        self.deadline = None if params.time_limit_s is None else self.began + params.time_limit_s
        unlimited = params.work_limit is None and params.time_limit_s is None
        self.work_limit = DEFAULT_WORK if unlimited else params.work_limit
        self.executor: Executor = open_executor(params.executor, TARGET, params.workers)
        self.chains: list[Chain] = []
        self.known: dict[str, SubResult] = {}
        self.best: Incumbent | None = None
        self.lost_why = ""
        self.bound = params.lower_bound_ticks
        self.work = self.solved = self.hits = self.unproven = self.infeasible = 0

    def all_rounds(self) -> Termination:
        """Make chains, then batches from all of them until a limit."""
        instance, options = self.instance, self.options
        n_chains = options.chains or (SEVERAL_CHAINS if instance.n_ops <= CHAIN_OPS else 1)
        row = endpoint_row(instance)
        for number, incumbent in enumerate(
            starting_points(instance, self.params.warm_start, n_chains, self.params.seed, self.deadline)
        ):
            self._take(incumbent)
            self.chains.append(
                Chain(instance, incumbent, row, options, self.params.seed, number, self.params.lower_bound_ticks)
            )
        while True:
            stopped = self._stopped()
            if stopped is not None:
                return stopped
            if not self._step():
                return Termination.FINISHED

    def _step(self) -> bool:
        """One batch of every chain; False where no chain has a window left."""
        batches = [chain.next_batch(self.deadline) for chain in self.chains]
        subs = [sub for batch in batches for sub in batch]
        if not subs:
            return not all(chain.exhausted for chain in self.chains) and self._idle()
        results = self._solve(subs)
        for chain, batch in zip(self.chains, batches, strict=True):
            self.work += self.instance.n_ops // OPS_PER_WORK
            chain.absorb([(sub, results[sub.key]) for sub in batch if sub.key in results])
            self._take(chain.incumbent)
        self._lead()
        return True

    def _idle(self) -> bool:
        """A round without a window costs something too, so that an instance without any comes to an end."""
        self.work += OVERHEAD_WORK
        return bool(self.instance.n_transfers) and max(chain.windows for chain in self.chains) > 0

    def _solve(self, subs: list[Subproblem]) -> dict[str, SubResult]:
        """Results of subproblems by key: each distinct one is solved once in the whole run."""
        fresh: dict[str, Subproblem] = {}
        for sub in subs:
            if sub.key in self.known or sub.key in fresh:
                self.hits += 1
                self.work += 1
            else:
                fresh[sub.key] = sub
        for sub, result in zip(fresh.values(), self.executor.run(list(fresh.values()), self.deadline), strict=True):
            if isinstance(result, Lost):
                self.lost_why = result.why
                continue
            if result is None:
                continue
            self.known[sub.key] = result
            if sub.is_whole and not result.capped:
                self.bound = max(self.bound, result.bound_ticks)
            self.solved += 1
            self.work += OVERHEAD_WORK + result.work
            self.unproven += not result.proven
            self.infeasible += result.start_ticks is None
        return {sub.key: self.known[sub.key] for sub in subs if sub.key in self.known}

    def _lead(self) -> None:
        """A chain that is settled, and behind all others, goes on from the best one."""
        values = [chain.incumbent.value_ticks for chain in self.chains]
        worst = int(np.argmax(values))
        if values[worst] > min(values) and self.chains[worst].settled:
            self.chains[worst].follow(self.chains[int(np.argmin(values))].incumbent)

    def _take(self, incumbent: Incumbent) -> None:
        if self.best is None or incumbent.value_ticks < self.best.value_ticks:
            self.best = incumbent
            text = f"{self.solved} windows solved" if self.solved else "starting schedule"
            self.progress(Progress(time.monotonic() - self.began, incumbent.value_ticks, self.bound or None, text))

    def _stopped(self) -> Termination | None:
        best, bound = self.best, self.bound
        assert best is not None
        if best.value_ticks <= bound:
            return Termination.OPTIMAL
        if best.value_ticks - bound <= self.params.rel_gap * best.value_ticks:
            return Termination.GAP_REACHED
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return Termination.TIME_LIMIT
        if self.work_limit is not None and self.work >= self.work_limit:
            return Termination.WORK_LIMIT if self.params.work_limit is not None else Termination.FINISHED
        return None

    def notes(self) -> tuple[str, ...]:
        """What went wrong on the way, and what was left alone."""
        counts, left_out = self.executor.counts, sum(chain.left_out for chain in self.chains)
        said = []
        if counts.retried or counts.lost:
            why = f" ({self.lost_why})" if self.lost_why else ""
            said.append(
                f"stage-window: {counts.retried} sub-solves failed and were run again, {counts.lost} failed twice{why} "
                "and kept the incumbent's piece"
            )
        if left_out:
            said.append(
                f"stage-window: {left_out} windows were left as they are: too many ops lie between their transfers"
            )
        if self.infeasible:
            said.append(
                f"stage-window: {self.infeasible} windows contradicted their surroundings and were left as they are"
            )
        return tuple(said)

    def stats(self) -> dict[str, Any]:
        """Counted work, for the provenance."""
        counts = self.executor.counts
        return {
            "chains": len(self.chains),
            "rounds": sum(chain.rounds for chain in self.chains),
            "sub_solves": self.solved,
            "isomorphic_hits": self.hits,
            "unproven": self.unproven,
            "infeasible": self.infeasible,
            "left_out": sum(chain.left_out for chain in self.chains),
            "retried": counts.retried,
            "lost": counts.lost,
            "work": self.work,
            "max_pairs": self.options.max_pairs,
            "backend": self.options.backend,
        }
