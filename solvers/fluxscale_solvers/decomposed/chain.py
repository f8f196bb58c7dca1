"""One incumbent on its way: partitions of changing shape, windows that do not touch, results stitched back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fluxscale.decompose.extract import SubSettings
from fluxscale.decompose.incumbent import Incumbent
from fluxscale.decompose.partition import Window, cut_out, windows_of
from fluxscale.decompose.stages import group_of
from fluxscale.decompose.subproblem import Subproblem, SubResult
from fluxscale.decompose.timeline import Timeline, make_timeline
from fluxscale.instance.instance import Instance
from fluxscale.schedule.circuits import stopping_planes
from fluxscale.seeds import child_seed, generator
from fluxscale.stitch.merge import stitch
from fluxscale_solvers.decomposed.options import Options

FIRST_PAIRS = 60
"""Free pairs that a window aims at in the beginning: small windows gain most in a second."""

GROWTH = 1.5
"""Factor by which windows grow once no shape of partition gains anything."""

FEW_ENDPOINTS = 12
"""Up to so many endpoints, a window may span all of them."""

PAIRS_PER_FREE = 4.0
"""First guess of the pairs with a common port for each pair whose order is really open; adapted as windows are
solved."""

MOST_RATIO = 1e6
"""Where hardly an order is open, one window takes all of its group."""

BATCH, OPS_PER_WINDOW = 16, 2000
"""Windows of one chain in one batch: at least the first, and one for so many ops."""


@dataclass
class Shape:
    """A size of stage groups, and how many pairs with a common port make one that is free."""

    size: int
    ratio: float = PAIRS_PER_FREE


class Chain:
    """State of one incumbent's improvement.

    Parameters
    ----------
    instance
        The problem.
    incumbent
        Where to begin.
    row
        Endpoints as :func:`fluxscale.decompose.stages.endpoint_row` orders them.
    options
        Of the solver.
    seed, number
        Root seed, and the chain's number.
    lower_bound_ticks
        A proven bound.
    """

    def __init__(
        self,
        instance: Instance,
        incumbent: Incumbent,
        row: np.ndarray,
        options: Options,
        seed: int,
        number: int,
        lower_bound_ticks: int,
    ) -> None:
        self.instance, self.row, self.options, self.lower = instance, row, options, lower_bound_ticks
        self.number, self.seed = number, seed
        self.chance = generator(seed, "chain", number)
        self.timeline: Timeline = make_timeline(instance, incumbent)
        self.shapes = _shapes(instance)
        self.cap = max(BATCH, instance.n_ops // OPS_PER_WINDOW)
        self.first_pairs = min(FIRST_PAIRS, options.max_pairs)
        self.pairs = self.first_pairs
        self.rounds = self.stale = self.visit = self.windows = self.left_out = 0
        self.settled = False  # windows of full size, in every shape, brought nothing
        self._queue: list[Window] = []
        self._free_pairs: list[int] = []
        self._begun_at: int | None = None
        self._stamp = 1

    @property
    def incumbent(self) -> Incumbent:
        """The best schedule of this chain."""
        return self.timeline.incumbent

    @property
    def exhausted(self) -> bool:
        """Whether its rounds are used up."""
        return not self._queue and self.options.rounds is not None and self.rounds >= self.options.rounds

    def follow(self, incumbent: Incumbent) -> None:
        """Go on from another chain's schedule."""
        self.timeline = make_timeline(self.instance, incumbent)
        self._stamp = 1
        self._queue.clear()
        self._begun_at = None
        self.settled = False

    def next_batch(self, deadline: float | None = None) -> list[Subproblem]:
        """Cut out windows that do not touch: no op of one is in, or next to, another. Opens a round if none is left.

        Parameters
        ----------
        deadline
            ``time.monotonic()`` from which on no more are cut out, or None.
        """
        if not self._queue:
            self._close_round()
            if self.exhausted:
                return []
            self._open_round()
        taken = np.zeros(self.instance.n_ops, dtype=bool)
        batch: list[Subproblem] = []
        left: list[Window] = []
        settings = SubSettings(
            self.options.window_work, self.options.max_pairs, self.options.backend, self._sub_seed(), self.lower
        )
        for at, window in enumerate(self._queue):
            if len(batch) == self.cap or (deadline is not None and time.monotonic() >= deadline):
                left += self._queue[at:]
                break
            if taken[window.transfers].any():
                left.append(window)
                continue
            sub = cut_out(self.timeline, window, self._stamp, settings)
            self._stamp += 2
            if sub is None:
                self.left_out += 1
            elif taken[sub.ops].any():
                left.append(window)
            else:
                taken[sub.ops] = True
                batch.append(sub)
        self._queue = left
        self.windows += len(batch)
        return batch

    def absorb(self, solved: Sequence[tuple[Subproblem, SubResult]]) -> None:
        """Stitch results into the incumbent; it never gets worse."""
        self._free_pairs += [result.free_pairs for _, result in solved]
        changed = [(sub, result) for sub, result in solved if _differs(sub, result)]
        if changed:
            incumbent, taken = stitch(self.timeline, changed)
            if taken:
                self.timeline = make_timeline(self.instance, incumbent)
                self._stamp = 1

    def _sub_seed(self) -> int:
        return 0 if self.visit == 0 else child_seed(self.seed, "window", self.number, self.visit)

    def _open_round(self) -> None:
        shape = self.shapes[self.rounds % len(self.shapes)]
        budget = max(2, int(self.pairs * shape.ratio))
        group = group_of(self.row, shape.size, int(self.chance.integers(shape.size)))
        first = max(1, int(budget * self.chance.uniform(0.3, 1.0)))
        self._queue = windows_of(self.timeline, group, budget, first)
        self._begun_at = self.incumbent.value_ticks
        self._free_pairs = []
        self.rounds += 1

    def _close_round(self) -> None:
        """Adapt the windows to what the round found: their length to the pairs they had, their size to the gain."""
        if self._begun_at is None:
            return
        shape = self.shapes[(self.rounds - 1) % len(self.shapes)]
        if self._free_pairs:
            wanted = self.pairs / max(1.0, float(np.median(self._free_pairs)))
            shape.ratio = min(shape.ratio * float(np.clip(np.sqrt(wanted), 0.5, 2.0)), MOST_RATIO)
        if self.incumbent.value_ticks < self._begun_at:
            self.stale, self.settled = 0, False
            return
        self.stale += 1
        if self.stale < len(self.shapes):
            return
        if self.pairs < self.options.max_pairs:
            self.pairs = min(self.options.max_pairs, int(self.pairs * GROWTH) + 1)
        else:
            # another weighting of what is not critical moves the schedule along its plateau
            self.visit += 1
            self.settled = True
            self.pairs = min(2 * self.first_pairs, self.options.max_pairs)
        self.stale = 0


def _differs(sub: Subproblem, result: SubResult) -> bool:
    if result.start_ticks is None or result.leg_plane is None:
        return False
    return bool(np.any(result.start_ticks != sub.start_ticks) or np.any(result.leg_plane != sub.leg_plane))


def _shapes(instance: Instance) -> list[Shape]:
    """Sizes of stage groups, in turn. An all-stop plane ties its ports together, so windows are cut in time only."""
    n = max(1, instance.n_endpoints)
    if stopping_planes(instance).any():
        return [Shape(n)]
    sizes = [n, -(-n // 2), -(-n // 4)] if n <= FEW_ENDPOINTS else [8, 4, 2]
    return [Shape(size) for size in dict.fromkeys(sizes)]
