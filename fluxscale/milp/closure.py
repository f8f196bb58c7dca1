"""Which op must come before which, and how early and how late each may start, as far as precedence alone tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError, UnsupportedError
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import DARK, Instance
from fluxscale.kernels.closure import longest_paths, reach_bits, topological_order

Ints = npt.NDArray[Any]

MAX_BYTES = 2 * 1024**3
"""Largest reachability table that is built (bytes)."""

UNLIMITED = 2**62
"""Limit that no path length reaches."""


@dataclass(frozen=True, eq=False)
class Closure:
    """Transitive closure of precedence and device order, seen from the ops that have legs.

    Attributes
    ----------
    src, dst
        int64 ``[A]``: all direct arcs (predecessors and device order), sorted by the topological position of ``src``.
    order
        int64 ``[n]``: the ops in topological order.
    column
        int64 ``[n]``: bit number of an op with legs, -1 for the others.
    bits
        uint64 ``[n, words]``: the ops with legs that come after each op.
    """

    src: Ints
    dst: Ints
    order: Ints
    column: Ints
    bits: Ints

    def precedes(self, first: Ints, second: Ints) -> Ints:
        """Tell, pair by pair, whether op ``first`` must end before op ``second`` starts (``second`` has legs)."""
        bit = self.column[second]
        word = self.bits[first, bit >> 6]
        return (word >> (bit & 63).astype(np.uint64)) & np.uint64(1) != 0


def precedence_arcs(instance: Instance) -> tuple[Ints, Ints, Ints]:
    """List every precedence and device-order arc in an order in which one pass computes longest paths.

    Returns
    -------
    src, dst, order
        int64 ``[A]``, int64 ``[A]``: the arcs; int64 ``[n]``: the ops in topological order.

    Raises
    ------
    InputError
        If precedence and device order together contain a cycle.
    """
    derived, n = derive(instance), instance.n_ops
    after_on_device = np.flatnonzero(derived.next_on_device >= 0)
    src = np.concatenate([instance.pred_index.astype(np.int64), after_on_device])
    heads = np.repeat(np.arange(n, dtype=np.int64), np.diff(instance.pred_indptr))
    dst = np.concatenate([heads, derived.next_on_device[after_on_device].astype(np.int64)])
    by_src = np.argsort(src, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(src, minlength=n))]).astype(np.int64)
    order = topological_order(n, indptr, dst[by_src])
    if len(order) < n:
        stuck = int(np.setdiff1d(np.arange(n), order)[0])
        raise InputError(
            "precedence and device order form a cycle through or before this op",
            field="ops",
            value=instance.names.op(stuck),
            maybe="check the predecessors of this op and the order on its device.",
        )
    position = np.empty(n, dtype=np.int64)
    position[order] = np.arange(n)
    sort = np.argsort(position[src], kind="stable")
    return src[sort], dst[sort], order


def close(instance: Instance) -> Closure:
    """Compute the precedence closure among the ops that have legs.

    Raises
    ------
    UnsupportedError
        If the table would need more than ``MAX_BYTES``.
    InputError
        If the graph has a cycle.
    """
    src, dst, order = precedence_arcs(instance)
    n = instance.n_ops
    with_legs = np.flatnonzero(np.diff(instance.leg_indptr) > 0)
    words = max(1, -(-len(with_legs) // 64))
    if n * words * 8 > MAX_BYTES:
        raise UnsupportedError(
            f"a model of {n} ops and {len(with_legs)} transfers needs a table of {n * words * 8 / 2**30:.1f} GiB",
            maybe="use --solver list.",
        )
    column = np.full(n, -1, dtype=np.int64)
    column[with_legs] = np.arange(len(with_legs))
    by_src = np.argsort(src, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(src, minlength=n))]).astype(np.int64)
    return Closure(src, dst, order, column, reach_bits(order, indptr, dst[by_src], column, words))


def releases(instance: Instance) -> Ints:
    """Earliest start that the boundary alone allows: the least delay of each leg's planes where time 0 is dark, else 0.

    Returns
    -------
    release
        int64 ``[n]``.
    """
    release = np.zeros(instance.n_ops, dtype=np.int64)
    if instance.boundary != DARK or instance.n_legs == 0:
        return release
    derived = derive(instance)
    has_plane = np.flatnonzero(np.diff(derived.leg_plane_indptr) > 0)
    delay = instance.plane_delay_ticks[derived.leg_planes]
    if len(has_plane):
        least = np.minimum.reduceat(delay, derived.leg_plane_indptr[has_plane])
        np.maximum.at(release, derived.leg_op[has_plane], least)
    return release


def heads_and_tails(
    instance: Instance,
    closure: Closure,
    src: Ints | None = None,
    dst: Ints | None = None,
    lag: Ints | None = None,
    *,
    release: Ints | None = None,
    behind: Ints | None = None,
) -> tuple[Ints, Ints] | None:
    """Earliest start of each op, and least time from its start to the end of the iteration.

    Parameters
    ----------
    instance, closure
        The instance and its closure.
    src, dst, lag
        Extra arcs: ``start[dst] >= start[src] + duration[src] + lag``.
    release, behind
        int64 ``[n]``: earliest starts beyond those of the boundary, and time from each op's end to the end of the
        iteration; zeros where not given.

    Returns
    -------
    heads, tails
        int64 ``[n]`` each (a tail includes the op's own duration), or None where the extra arcs close a cycle.
    """
    ticks = derive(instance).min_ticks
    tails = ticks.copy() if behind is None else ticks + behind
    heads = releases(instance) if release is None else np.maximum(releases(instance), release)
    weight = ticks[closure.src]
    all_src, all_dst = closure.src, closure.dst
    if src is not None and dst is not None and lag is not None:
        all_src, all_dst = np.concatenate([all_src, src]), np.concatenate([all_dst, dst])
        weight = np.concatenate([weight, ticks[src] + lag])
        longest_paths(closure.src, closure.dst, ticks[closure.src], heads, UNLIMITED)
        sort = np.argsort(heads[all_src], kind="stable")
        all_src, all_dst, weight = all_src[sort], all_dst[sort], weight[sort]
    limit = int(max(heads.max(initial=0), tails.max(initial=0)) + weight.sum() + ticks.max(initial=0))
    if not longest_paths(all_src, all_dst, weight, heads, limit):
        return None
    if not longest_paths(all_dst[::-1].copy(), all_src[::-1].copy(), weight[::-1].copy(), tails, limit):
        return None
    return heads, tails
