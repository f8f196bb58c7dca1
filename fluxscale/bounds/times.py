"""What every bound starts from: least durations, release times, and the longest paths before and after each op."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import DARK, Instance
from fluxscale.kernels.longest_path import heads, tails, topological_order

Ints = npt.NDArray[Any]

NO_ARCS = (np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64))
"""No weighted arcs: CSR pointer, sources, gaps."""


@dataclass(frozen=True, eq=False)
class Times:
    """Least durations and longest paths of an instance, in ticks.

    Attributes
    ----------
    order
        int32 ``[n]``: a topological order of precedence and device order.
    ticks
        int64 ``[n]``: shortest duration on the planes that the op's legs may use.
    release
        int64 ``[n]``: least start that the boundary allows.
    head, tail
        int64 ``[n]``: longest path before the start and after the end of each op, circuits left aside.
    critical
        int32 ``[n]``: predecessor that decides ``head``, or -1.
    """

    order: Ints
    ticks: Ints
    release: Ints
    head: Ints
    tail: Ints
    critical: Ints


_CACHE: WeakKeyDictionary[Instance, Times] = WeakKeyDictionary()


def times(instance: Instance) -> Times:
    """Return the longest paths of an instance (computed on first use).

    Raises
    ------
    InputError
        If precedence and device order form a cycle.
    """
    found = _CACHE.get(instance)
    if found is None:
        found = _CACHE[instance] = _times(instance)
    return found


def _times(instance: Instance) -> Times:
    graph = (instance.pred_indptr, instance.pred_index, derive(instance).prev_on_device)
    order, count = topological_order(*graph, *NO_ARCS[:2])
    if count < instance.n_ops:
        raise InputError("precedence and device order form a cycle", field="ops", value=count)
    ticks, release = least_ticks(instance), release_ticks(instance)
    head, critical = heads(order, *graph, ticks, release, *NO_ARCS)
    tail = tails(order, *graph, ticks, np.zeros(instance.n_ops, dtype=np.int64), *NO_ARCS)
    return Times(order, ticks, release, head, tail, critical)


def least_ticks(instance: Instance) -> Ints:
    """Shortest duration of each op, int64 ``[n]``: its slowest leg, each leg on the fastest plane that it may use."""
    derived = derive(instance)
    if derived.op_ticks.shape[1] == 1:
        return np.ascontiguousarray(derived.op_ticks[:, 0])
    counts = np.diff(derived.leg_plane_indptr)
    leg = np.repeat(np.arange(instance.n_legs), counts)
    on_plane = derived.op_ticks[derived.leg_op[leg], derived.plane_class[derived.leg_planes]]
    return _over_legs(instance, _least_per_leg(instance, on_plane), instance.op_fixed_ticks)


def release_ticks(instance: Instance) -> Ints:
    """Least start of each op, int64 ``[n]``.

    With a dark boundary every leg starts at least the delay of its plane after 0; an op starts all its legs at once, so
    it waits for the slowest of them, each on the plane of least delay that it may use. Other boundaries: 0.
    """
    if instance.boundary != DARK:
        return np.zeros(instance.n_ops, dtype=np.int64)
    delay = instance.plane_delay_ticks[derive(instance).leg_planes]
    return _over_legs(instance, _least_per_leg(instance, delay), np.zeros(instance.n_ops, dtype=np.int64))


def _least_per_leg(instance: Instance, values: Ints) -> Ints:
    """Least value over the planes of each leg; 0 for a leg that no plane can carry."""
    indptr = derive(instance).leg_plane_indptr
    result = np.zeros(instance.n_legs, dtype=np.int64)
    some = indptr[1:] > indptr[:-1]
    if some.any():
        result[some] = np.minimum.reduceat(values, indptr[:-1][some])
    return result


def _over_legs(instance: Instance, per_leg: Ints, without_legs: Ints) -> Ints:
    """Largest value over the legs of each op; ops without legs take theirs from ``without_legs``."""
    result = np.maximum(without_legs, 0)
    some = instance.leg_indptr[1:] > instance.leg_indptr[:-1]
    if some.any():
        result[some] = np.maximum.reduceat(per_leg, instance.leg_indptr[:-1][some])
    return result
