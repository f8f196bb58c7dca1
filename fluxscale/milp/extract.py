"""From decisions (planes, orders, epochs) to exact starts by longest paths: a solver's own times are never trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.derived import derive
from fluxscale.instance.instance import CYCLIC, DARK, Instance
from fluxscale.kernels.closure import longest_paths
from fluxscale.milp.closure import UNLIMITED
from fluxscale.milp.conflicts import Conflicts, wraps
from fluxscale.milp.leg_pairs import SERIAL, SWITCH, uses_epochs
from fluxscale.schedule.circuits import op_ends

Ints = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Decision:
    """All that a schedule leaves open once time is squeezed out of it.

    Attributes
    ----------
    leg_plane
        int16 ``[L]``: plane of each leg.
    order
        int8 ``[K]``: 1 where the first op of a conflict pair comes first, else -1.
    together
        bool ``[M]``: the two legs of a conflict row share an epoch (rows of all-stop planes; False elsewhere).
    """

    leg_plane: Ints
    order: Ints
    together: Ints


@dataclass(frozen=True, eq=False)
class Exact:
    """Earliest starts (int64 ``[n]``), planes (int16 ``[L]``) and iteration time (or period) of a decision."""

    op_start_ticks: Ints
    leg_plane: Ints
    iteration_time_ticks: int


def decide(instance: Instance, conflicts: Conflicts, op_start_ticks: Ints, leg_plane: Ints) -> Decision:
    """Read the decisions off a schedule: who comes first, and which legs share an epoch.

    Epochs are split wherever the plane was silent long enough, since a split never forbids anything.

    Parameters
    ----------
    instance, conflicts
        The instance and its conflicts.
    op_start_ticks, leg_plane
        int64 ``[n]``, int16 ``[L]``.
    """
    starts = np.asarray(op_start_ticks, dtype=np.int64)
    leg_plane = np.asarray(leg_plane, dtype=np.int16)
    ends = op_ends(instance, starts, leg_plane)
    position = np.empty(instance.n_ops, dtype=np.int64)
    # Ties (ops of no length) are broken by precedence.
    position[np.lexsort((_rank(conflicts.closure.order), ends, starts))] = np.arange(instance.n_ops)
    order = np.where(position[conflicts.first] < position[conflicts.second], 1, -1).astype(np.int8)
    order = np.where(conflicts.order != 0, conflicts.order, order).astype(np.int8)

    leg_op = derive(instance).leg_op
    epoch_of_leg = np.full(instance.n_legs, -1, dtype=np.int64)
    for plane in np.flatnonzero(uses_epochs(instance)):
        legs = np.flatnonzero(leg_plane == plane)
        legs = legs[np.lexsort((ends[leg_op[legs]], starts[leg_op[legs]]))]
        silent_from = np.maximum.accumulate(ends[leg_op[legs]])
        new = np.ones(len(legs), dtype=bool)
        new[1:] = starts[leg_op[legs]][1:] >= silent_from[:-1] + instance.plane_delay_ticks[plane]
        epoch_of_leg[legs] = np.cumsum(new)
    together = conflicts.epoch & _active(conflicts, leg_plane)
    together &= epoch_of_leg[conflicts.leg_a] == epoch_of_leg[conflicts.leg_b]
    return Decision(leg_plane, order, together)


def extract(instance: Instance, conflicts: Conflicts, decision: Decision) -> Exact | None:
    """Compute the exact starts of a decision; None where the decision contradicts itself (its orders form a cycle).

    With a cyclic boundary the least period of the decision is found by bisection, each step a longest-path test.
    """
    arcs = _Arcs(instance, conflicts, decision)
    value = arcs.solve(UNLIMITED, None)
    if value is None:
        return None
    n = instance.n_ops
    best = int((value[:n] + arcs.ticks + conflicts.behind).max(initial=0))
    if instance.boundary == CYCLIC and len(arcs.wrap_lag):
        late = value[arcs.wrap_src] + arcs.wrap_lag - value[arcs.wrap_dst]
        low, best = best, max(best, int(late.max()))
        while low < best:
            middle = (low + best) // 2
            tried = arcs.solve(middle, middle)
            if tried is None:
                low = middle + 1
            else:
                value, best = tried, middle
    return Exact(value[:n].copy(), decision.leg_plane, best)


def squeeze(instance: Instance, conflicts: Conflicts, op_start_ticks: Ints, leg_plane: Ints) -> Exact | None:
    """Keep a schedule's decisions and start everything as early as they allow."""
    return extract(instance, conflicts, decide(instance, conflicts, op_start_ticks, leg_plane))


def _rank(order: Ints) -> Ints:
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank


def _active(conflicts: Conflicts, leg_plane: Ints) -> Ints:
    return (leg_plane[conflicts.leg_a] == conflicts.plane) & (leg_plane[conflicts.leg_b] == conflicts.plane)


class _Arcs:
    """Arcs of the longest-path system; nodes are the ops, then an opening for each op and plane with epochs."""

    def __init__(self, instance: Instance, conflicts: Conflicts, decision: Decision) -> None:
        n, leg_op = instance.n_ops, derive(instance).leg_op.astype(np.int64)
        leg_plane = decision.leg_plane.astype(np.int64)
        self.ticks = op_ends(instance, np.zeros(n, dtype=np.int64), decision.leg_plane)
        epochs = uses_epochs(instance)
        opening = n + leg_plane * n + leg_op
        in_epoch = epochs[leg_plane] if instance.n_legs else np.empty(0, dtype=bool)
        self.value = np.zeros(n * (1 + (instance.n_planes if epochs.any() else 0)), dtype=np.int64)
        self.value[:n] = conflicts.release
        if instance.boundary == DARK and instance.n_legs:
            np.maximum.at(self.value, np.where(in_epoch, opening, leg_op), instance.plane_delay_ticks[leg_plane])

        row = np.flatnonzero(_active(conflicts, decision.leg_plane))
        forward = decision.order[conflicts.pair[row]] > 0
        first, second = conflicts.first[conflicts.pair[row]], conflicts.second[conflicts.pair[row]]
        early, late = np.where(forward, first, second), np.where(forward, second, first)
        late_leg = np.where(forward, conflicts.leg_b[row], conflicts.leg_a[row])
        epoch, kind, gap = conflicts.epoch[row], conflicts.kind[row], conflicts.gap[row]
        together = decision.together[row]
        ordered = ~together | (kind == SERIAL)
        lag = self.ticks[early] + np.where(together, 0, gap)
        target = np.where(epoch & ~together, opening[late_leg] if instance.n_legs else late, late)
        a, b = opening[conflicts.leg_a[row[together]]], opening[conflicts.leg_b[row[together]]]
        zero = np.zeros(2 * len(a) + int(in_epoch.sum()), dtype=np.int64)
        closure = conflicts.closure
        self.src = np.concatenate([closure.src, early[ordered], opening[in_epoch], a, b])
        self.dst = np.concatenate([closure.dst, target[ordered], leg_op[in_epoch], b, a])
        self.weight = np.concatenate([self.ticks[closure.src], lag[ordered], zero])
        near = np.argsort(
            np.r_[conflicts.heads, np.zeros(len(self.value) - n, dtype=np.int64)][self.src], kind="stable"
        )
        self.src, self.dst, self.weight = self.src[near], self.dst[near], self.weight[near]

        # Wraps: start[dst] + T >= start[src] + lag.
        wrap_row, wrap_early, wrap_late = wraps(instance, conflicts)
        used = _active(conflicts, decision.leg_plane)[wrap_row]
        lags = self.ticks[wrap_late[used]] + conflicts.gap[wrap_row[used]]
        parts = [(wrap_late[used], wrap_early[used], lags)]
        if instance.boundary == CYCLIC:
            parts += [
                self._epoch_wrap(instance, int(p), row, early, late, together, conflicts, decision)
                for p in np.flatnonzero(epochs)
            ]
        self.wrap_src, self.wrap_dst, self.wrap_lag = (np.concatenate(c) for c in zip(*parts, strict=True))

    def _epoch_wrap(
        self,
        instance: Instance,
        plane: int,
        row: Ints,
        early: Ints,
        late: Ints,
        together: Ints,
        conflicts: Conflicts,
        decision: Decision,
    ) -> tuple[Ints, Ints, Ints]:
        here = conflicts.plane[row] == plane
        apart = here & ~together
        ops = np.unique(derive(instance).leg_op[decision.leg_plane == plane]).astype(np.int64)
        first, last = np.setdiff1d(ops, late[apart]), np.setdiff1d(ops, early[apart])
        clash = here & (conflicts.kind[row] == SWITCH)
        clash &= (np.isin(early, first) & np.isin(late, last)) | (np.isin(late, first) & np.isin(early, last))
        if not clash.any():
            empty = np.empty(0, dtype=np.int64)
            return empty, empty, empty
        src, dst = np.repeat(last, len(first)), np.tile(first, len(last))
        return src, dst, self.ticks[src] + int(instance.plane_delay_ticks[plane])

    def solve(self, limit: int, period: int | None) -> Ints | None:
        """Least values, or None; with a period the wraps hold too and every op ends within it."""
        value, n = self.value.copy(), len(self.ticks)
        if period is None:
            return value if longest_paths(self.src, self.dst, self.weight, value, limit) else None
        src = np.concatenate([self.src, self.wrap_src])
        dst = np.concatenate([self.dst, self.wrap_dst])
        weight = np.concatenate([self.weight, self.wrap_lag - period])
        if not longest_paths(src, dst, weight, value, limit):
            return None
        return value if int((value[:n] + self.ticks).max(initial=0)) <= period else None
