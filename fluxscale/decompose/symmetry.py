"""Lossless symmetry reduction: identical replicas and rails are found in the instance, solved once, and copied."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from fluxscale.decompose.colours import Colours, colour
from fluxscale.decompose.restrict import restrict
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance
from fluxscale.kernels.section import grow, take_gangs, transpose

Ints = npt.NDArray[Any]
PlanLike = TypeVar("PlanLike")

LEAST_FACTOR = 1.5
"""Reductions that shrink the ops by less than this are not worth a detour."""


@dataclass(frozen=True, eq=False)
class Reduction:
    """A smaller instance and the way back.

    Attributes
    ----------
    instance
        The restriction of the full instance to one op and one endpoint of each colour.
    factor
        Ops of the full instance for each op of the reduced one.
    summary
        For people, e.g. ``16384 endpoints -> 48, 4456704 ops -> 7968 (x559)``.
    """

    instance: Instance
    factor: float
    summary: str
    _full: Instance = field(repr=False)
    _colours: Colours = field(repr=False)
    _ops: Ints = field(repr=False)
    _legs: Ints = field(repr=False)
    _reduced_op: Ints = field(repr=False)

    def lift(self, plan: PlanLike) -> PlanLike:
        """Copy a plan of the reduced instance to the full one.

        Every op starts when its colour's representative does. A leg that may choose takes the plane at the same place
        in its list of planes as the representative's leg of its colour; legs of a gang whose colour was cut away take
        their first plane.

        Parameters
        ----------
        plan
            A dataclass with ``op_start_ticks`` and ``leg_plane`` for the reduced instance.

        Returns
        -------
        plan
            The same for the full instance. It has yet to be checked: equal colours do not prove that the copy is
            feasible.
        """
        given: Any = plan
        start = np.asarray(given.op_start_ticks, dtype=np.int64)[self._reduced_op[self._colours.op]]
        return replace(given, op_start_ticks=start, leg_plane=self._lift_planes(np.asarray(given.leg_plane)))

    def _lift_planes(self, chosen: Ints) -> Ints:
        derived = derive(self._full)
        first = derived.leg_plane_indptr[:-1]
        counts = np.diff(derived.leg_plane_indptr)
        planes = derived.leg_planes[np.minimum(first, max(0, len(derived.leg_planes) - 1))].astype(np.int16)
        free = np.flatnonzero(counts > 1)
        if not len(free):
            return planes
        # Place of each chosen plane in its leg's list; lists keep their order under restriction.
        own = derive(self.instance)
        rank = np.zeros(len(chosen), dtype=np.int64)
        entry_leg = np.repeat(np.arange(len(chosen)), np.diff(own.leg_plane_indptr))
        np.add.at(rank, entry_leg, own.leg_planes < chosen[entry_leg])
        keys = _leg_keys(self._full, self._colours, derived.leg_op)
        known, at = np.unique(keys[self._legs], return_index=True)
        found = np.minimum(np.searchsorted(known, keys[free]), len(known) - 1)
        hit = known[found] == keys[free]
        free, found = free[hit], found[hit]
        planes[free] = derived.leg_planes[first[free] + rank[at[found]]]
        return planes


def reduce(instance: Instance) -> Reduction | None:
    """Find identical parts of an instance and keep one of each.

    Ops and endpoints are coloured until nothing tells two of the same colour apart
    (:func:`fluxscale.decompose.colours.colour`). A section that holds one op of each colour is then grown along the
    graph, so that its ops belong together; gangs are cut to the legs that touch an endpoint of the section, whose other
    ends stay as phantoms.

    **Why a bound of the reduced instance bounds the full one.** The reduced instance is a restriction: a subset of the
    ops, of their legs, of the precedence among them, and of the order on their devices, on the same planes. Take any
    schedule of the full instance and read it at what is kept. Every kept constraint (precedence, device order, gaps
    between legs on one port, epochs of a plane, the boundary) was there before, a kept op lasts no longer than it did,
    and the latest end is no later. So the optimum of the reduced instance is at most that of the full one, whatever the
    colours say. If moreover the lifted plan passes the checker on the full instance, both have the same optimum when
    the reduced plan is optimal: nothing is lost.

    Parameters
    ----------
    instance
        The full instance.

    Returns
    -------
    Reduction or None
        None where the ops shrink by less than 1.5, or a colour cannot be represented in a coherent section.

    Notes
    -----
    Colour refinement is the one-dimensional Weisfeiler-Leman algorithm on hashes; a hash collision or a graph that it
    cannot tell apart merely gives a plan that fails the check.
    """
    colours = colour(instance, limit=int(instance.n_ops / LEAST_FACTOR))
    if colours is None or not instance.n_ops:
        return None
    succ = transpose(instance.pred_indptr, instance.pred_index)
    legs = (instance.leg_indptr, instance.leg_tx, instance.leg_rx)
    op_rep, endpoint_rep = grow(
        colours.op,
        colours.n_op,
        colours.endpoint,
        colours.n_endpoint,
        instance.op_kind,
        instance.op_device,
        instance.pred_indptr,
        instance.pred_index,
        *succ,
        instance.device_indptr,
        instance.device_ops,
        *legs,
    )
    take_gangs(colours.op, colours.endpoint, instance.op_kind, *legs, op_rep, endpoint_rep)
    if (op_rep < 0).any():
        return None
    ops = np.sort(op_rep).astype(np.int64)
    in_section = np.zeros(instance.n_endpoints, dtype=np.bool_)
    in_section[endpoint_rep[endpoint_rep >= 0]] = True
    leg_kept = in_section[instance.leg_tx] | in_section[instance.leg_rx]
    reduced = restrict(instance, ops, leg_kept)
    kept = np.zeros(instance.n_ops, dtype=np.bool_)
    kept[ops] = True
    kept_legs = np.flatnonzero(leg_kept & np.repeat(kept, np.diff(instance.leg_indptr)))
    reduced_op = np.searchsorted(ops, op_rep)
    factor = instance.n_ops / len(ops)
    summary = (
        f"{instance.n_endpoints:,} endpoints -> {reduced.n_endpoints:,}, "
        f"{instance.n_ops:,} ops -> {reduced.n_ops:,} (x{factor:.{0 if factor >= 10 else 1}f})"
    )
    return Reduction(reduced, factor, summary, instance, colours, ops, kept_legs, reduced_op)


def _leg_keys(instance: Instance, colours: Colours, leg_op: Ints) -> Ints:
    """One number for each leg's colour: that of its op and of its two ends."""
    ends = colours.endpoint[instance.leg_tx].astype(np.int64) * colours.n_endpoint + colours.endpoint[instance.leg_rx]
    _, ends = np.unique(ends, return_inverse=True)
    return colours.op[leg_op].astype(np.int64) * (int(ends.max(initial=0)) + 1) + ends
