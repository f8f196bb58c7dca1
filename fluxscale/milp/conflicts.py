"""Conflict pairs: which ops need an order between them, which orders are known, and the gap each order costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InfeasibleError, UnsupportedError
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import CYCLIC, Instance
from fluxscale.milp.closure import Closure, close, heads_and_tails
from fluxscale.milp.leg_pairs import APART, SERIAL, SWITCH, LegPairs, leg_pairs, uses_epochs

Ints = npt.NDArray[Any]

MILP_PAIRS, CPSAT_PAIRS = 60_000, 400_000
"""Most free pairs that ``exact-milp`` and ``exact-cpsat`` take on."""


@dataclass(frozen=True, eq=False)
class Conflicts:
    """Pairs of ops that need an order, and the rows (pairs of their legs on a plane) that ask for it.

    Attributes
    ----------
    first, second
        int64 ``[K]``: the two ops of each pair, ``first < second``.
    order
        int8 ``[K]``: 1 where ``first`` must come first, -1 where ``second`` must, 0 where it is free.
    pair, plane, leg_a, leg_b
        int64 ``[M]``: pair, plane, leg of ``first`` and leg of ``second`` of each row.
    kind
        int8 ``[M]``: SERIAL, SWITCH or APART (see :mod:`fluxscale.milp.leg_pairs`).
    gap
        int64 ``[M]``: time between the end of the earlier and the start of the later op (APART: between epochs).
    sure
        bool ``[M]``: both legs have no other plane.
    epoch
        bool ``[M]``: the plane works in epochs (all-stop).
    never_plane, never_a, never_b
        int64: legs of one gang that cannot be on this plane together.
    closure, heads, tails
        Closure of precedence; earliest starts and tails under the orders known, int64 ``[n]``.
    release, behind
        int64 ``[n]``: earliest starts that are imposed from outside, and time that must follow each op's end.
    fixed_plane
        int16 ``[L]``: plane of each leg whose plane is decided, -1 elsewhere.
    """

    first: Ints
    second: Ints
    order: Ints
    pair: Ints
    plane: Ints
    leg_a: Ints
    leg_b: Ints
    kind: Ints
    gap: Ints
    sure: Ints
    epoch: Ints
    never_plane: Ints
    never_a: Ints
    never_b: Ints
    closure: Closure
    heads: Ints
    tails: Ints
    release: Ints
    behind: Ints
    fixed_plane: Ints

    @property
    def n_free(self) -> int:
        """Number of pairs whose order is still to be decided."""
        return int(np.count_nonzero(self.order == 0))

    def check_size(self, limit: int, solver: str) -> None:
        """Refuse a model that is too large for a solver.

        Raises
        ------
        UnsupportedError
            If there are more than ``limit`` free pairs.
        """
        if self.n_free > limit:
            raise UnsupportedError(
                f"{solver} takes at most {limit} pairs of transfers of free order, this instance has {self.n_free}",
                maybe="use --solver list.",
            )


def find_conflicts(
    instance: Instance,
    closure: Closure | None = None,
    *,
    release: Ints | None = None,
    behind: Ints | None = None,
    fixed_plane: Ints | None = None,
) -> Conflicts:
    """Find all conflict pairs of an instance and fix the orders that precedence implies.

    Parameters
    ----------
    instance
        The problem.
    closure
        Its precedence closure, where known.
    release, behind, fixed_plane
        What surrounds the instance where it is a piece of another; see :class:`Conflicts`. Default: nothing.

    Raises
    ------
    InfeasibleError
        If a leg has no plane, or two legs of one gang can only be on one plane and exclude each other there.
    UnsupportedError
        If the instance is far beyond any exact model.
    """
    derived = derive(instance)
    homeless = np.flatnonzero(np.diff(derived.leg_plane_indptr) == 0)
    if len(homeless):
        raise InfeasibleError(
            f"op {instance.names.op(int(derived.leg_op[homeless[0]]))}: its endpoints share no switch on any plane."
        )
    closure = closure or close(instance)
    release = np.zeros(instance.n_ops, dtype=np.int64) if release is None else release
    behind = np.zeros(instance.n_ops, dtype=np.int64) if behind is None else behind
    fixed = np.full(instance.n_legs, -1, dtype=np.int16) if fixed_plane is None else fixed_plane
    rows = leg_pairs(instance)
    used = [(fixed[leg] < 0) | (fixed[leg] == rows.plane) for leg in (rows.leg_a, rows.leg_b)]
    rows = LegPairs(**{name: column[used[0] & used[1]] for name, column in vars(rows).items()})
    op_a, op_b = derived.leg_op[rows.leg_a].astype(np.int64), derived.leg_op[rows.leg_b].astype(np.int64)
    single = (np.diff(derived.leg_plane_indptr) == 1) | (fixed >= 0)
    sure = single[rows.leg_a] & single[rows.leg_b]
    never = (op_a == op_b) & _excludes(instance, rows, op_a)
    if np.any(never & sure):
        gang = int(op_a[np.flatnonzero(never & sure)[0]])
        raise InfeasibleError(
            f"op {instance.names.op(gang)}: two of its circuits need one port of one plane at the same time."
        )

    # leg_a < leg_b and legs are stored op by op, so op_a <= op_b.
    known = closure.precedes(op_a, op_b).astype(np.int8) - closure.precedes(op_b, op_a).astype(np.int8)
    gap = np.where(rows.kind == SERIAL, 0, instance.plane_delay_ticks[rows.plane])
    epoch = uses_epochs(instance)[rows.plane]
    # Precedence alone does what a row without a gap asks for; in epochs every row matters.
    keep = (op_a != op_b) & ~((known != 0) & (gap == 0) & ~epoch)
    keep = np.flatnonzero(keep)
    keep = keep[_undominated(op_a[keep] * instance.n_ops + op_b[keep], rows, keep, gap[keep], sure[keep], epoch[keep])]
    keys, at, pair = np.unique(op_a[keep] * instance.n_ops + op_b[keep], return_index=True, return_inverse=True)
    heads_tails = heads_and_tails(instance, closure, release=release, behind=behind)
    assert heads_tails is not None
    base = Conflicts(
        first=keys // max(1, instance.n_ops),
        second=keys % max(1, instance.n_ops),
        order=known[keep][at],
        pair=pair.astype(np.int64),
        plane=rows.plane[keep],
        leg_a=rows.leg_a[keep],
        leg_b=rows.leg_b[keep],
        kind=rows.kind[keep],
        gap=gap[keep].astype(np.int64),
        sure=sure[keep],
        epoch=epoch[keep],
        never_plane=rows.plane[never],
        never_a=rows.leg_a[never],
        never_b=rows.leg_b[never],
        closure=closure,
        heads=heads_tails[0],
        tails=heads_tails[1],
        release=release,
        behind=behind,
        fixed_plane=fixed,
    )
    return _with_paths(instance, base) or base


def _excludes(instance: Instance, rows: LegPairs, op: Ints) -> Ints:
    """Whether two legs of one gang exclude each other (no time at all may be shared, unless there is none)."""
    longest = derive(instance).op_ticks.max(axis=1)[op]
    delay = instance.plane_delay_ticks[rows.plane]
    return ((rows.kind == SERIAL) & (longest > 0)) | ((rows.kind == SWITCH) & ((longest > 0) | (delay > 0)))


def _undominated(key: Ints, rows: LegPairs, keep: Ints, gap: Ints, sure: Ints, epoch: Ints) -> Ints:
    """Of several unconditional rows that ask for the same order, keep the one with the largest gap."""
    kind = rows.kind[keep]
    # Epoch rows of different kinds ask for different things, so each kind and plane stands for itself.
    group = np.where(epoch, 1 + rows.plane[keep] * 3 + kind, 0)
    first_of = np.zeros(len(key), dtype=bool)
    certain = np.flatnonzero(sure)
    if len(certain):
        # A row of different circuits outranks one of the same circuit at equal gap: the cyclic boundary needs it.
        rank = np.lexsort((kind[certain] == SERIAL, -gap[certain], group[certain], key[certain]))
        ranked_key, ranked_group = key[certain][rank], group[certain][rank]
        best = np.ones(len(rank), dtype=bool)
        best[1:] = (ranked_key[1:] != ranked_key[:-1]) | (ranked_group[1:] != ranked_group[:-1])
        first_of[certain[rank[best]]] = True
    return np.flatnonzero(first_of | ~sure)


def _with_paths(instance: Instance, conflicts: Conflicts) -> Conflicts | None:
    """Recompute heads and tails with the fixed orders as arcs; None where these contradict each other."""
    side = conflicts.order[conflicts.pair]
    arc = np.flatnonzero((side != 0) & conflicts.sure & (conflicts.kind != APART))
    first, second = conflicts.first[conflicts.pair[arc]], conflicts.second[conflicts.pair[arc]]
    lag = np.where(conflicts.kind[arc] == SERIAL, 0, conflicts.gap[arc])
    src, dst = np.where(side[arc] > 0, first, second), np.where(side[arc] > 0, second, first)
    paths = heads_and_tails(
        instance, conflicts.closure, src, dst, lag, release=conflicts.release, behind=conflicts.behind
    )
    return None if paths is None else replace(conflicts, heads=paths[0], tails=paths[1])


def fix_orders(instance: Instance, conflicts: Conflicts, pair: Ints, order: Ints) -> Conflicts | None:
    """Decide the order of some pairs whose order is free, and what follows for heads and tails.

    Parameters
    ----------
    instance, conflicts
        The instance and its conflicts.
    pair
        Indices of the pairs.
    order
        int8: 1 where the pair's first op comes first, -1 where its second does.

    Returns
    -------
    fixed
        None where the orders contradict each other.
    """
    merged = conflicts.order.copy()
    merged[pair] = np.where(merged[pair] == 0, order, merged[pair])
    return _with_paths(instance, replace(conflicts, order=merged))


def select(instance: Instance, conflicts: Conflicts, upper_bound: int) -> Conflicts | None:
    """Fix every order whose reverse would exceed an upper bound, until nothing changes.

    Immediate selection after Carlier and Pinson.

    If ``second`` before ``first`` would give a path longer than the upper bound, ``first`` comes first in every
    schedule that is at least as good as the bound.

    Parameters
    ----------
    instance, conflicts
        The instance and its conflicts.
    upper_bound
        Iteration time (ticks) that must not be exceeded; schedules equal to it are kept.

    Returns
    -------
    fixed
        Conflicts with more orders fixed, or None where no schedule reaches the bound.
    """
    ticks = derive(instance).min_ticks
    least = np.full(len(conflicts.first), np.iinfo(np.int64).max)
    np.minimum.at(least, conflicts.pair, conflicts.gap)
    # Pairs that could share an epoch need no order: that both orders fail proves nothing for them.
    binding = np.zeros(len(conflicts.first), dtype=bool)
    binding[conflicts.pair[conflicts.sure & ((conflicts.kind == SWITCH) | ~conflicts.epoch)]] = True
    first, second = conflicts.first, conflicts.second
    while True:
        if bool(np.any(conflicts.heads + conflicts.tails > upper_bound)):
            return None
        free = conflicts.order == 0
        no_forward = free & (conflicts.heads[first] + ticks[first] + least + conflicts.tails[second] > upper_bound)
        no_backward = free & (conflicts.heads[second] + ticks[second] + least + conflicts.tails[first] > upper_bound)
        if bool(np.any(no_forward & no_backward & binding)):
            return None
        change = no_backward.astype(np.int8) - no_forward.astype(np.int8)
        if not np.any(change):
            return conflicts
        narrowed = _with_paths(instance, replace(conflicts, order=(conflicts.order + change).astype(np.int8)))
        if narrowed is None:
            return None
        conflicts = narrowed


def wraps(instance: Instance, conflicts: Conflicts) -> tuple[Ints, Ints, Ints]:
    """Rows whose circuits differ on a port, as the cyclic boundary needs them (per-port planes only).

    Returns
    -------
    row, early, late
        int64: row; op that is first in the next iteration; op whose end in this one it waits for:
        ``start[early] + T >= end[late] + gap``. Directions that a fixed order implies are left out.
    """
    if instance.boundary != CYCLIC:
        empty = np.empty(0, dtype=np.int64)
        return empty, empty, empty
    row = np.flatnonzero((conflicts.kind == SWITCH) & ~conflicts.epoch & (conflicts.gap > 0))
    first, second = conflicts.first[conflicts.pair[row]], conflicts.second[conflicts.pair[row]]
    side = conflicts.order[conflicts.pair[row]]
    # "first" before "second" makes start[second] >= end[first] + gap, so only the other direction is news.
    forward, backward = side >= 0, side <= 0
    return (
        np.concatenate([row[forward], row[backward]]),
        np.concatenate([first[forward], second[backward]]),
        np.concatenate([second[forward], first[backward]]),
    )
