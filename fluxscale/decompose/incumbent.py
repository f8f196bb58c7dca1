"""The schedule that decomposition improves: starts, planes, and the linear order that gives every port its sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.decompose.fixed_planes import fixed_problem
from fluxscale.instance.instance import CYCLIC, Instance
from fluxscale.kernels.order_decode import decode
from fluxscale.kernels.ports import new_ports
from fluxscale.kernels.toposort import topological_order
from fluxscale.schedule.circuits import make_schedule, op_ends, stopping_planes

Ints = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Incumbent:
    """A feasible schedule with everything started as early as its order allows.

    Attributes
    ----------
    op_start_ticks
        int64 ``[n]``.
    leg_plane
        int16 ``[L]``.
    order
        int32 ``[n]``: ops in a topological order of precedence, device order and the sequences of all ports.
    value_ticks
        Iteration time; the period where the boundary is cyclic.
    """

    op_start_ticks: Ints
    leg_plane: Ints
    order: Ints
    value_ticks: int


def decode_order(instance: Instance, order: Ints, leg_plane: Ints) -> Incumbent:
    """Start every op as early as an order and fixed planes allow.

    Parameters
    ----------
    instance
        The problem.
    order
        int32 ``[n]``, topological for precedence and device order.
    leg_plane
        int16 ``[L]``.
    """
    starts = decode_starts(instance, order, leg_plane)
    return Incumbent(starts, leg_plane, order, value_of(instance, starts, leg_plane))


def decode_starts(instance: Instance, order: Ints, leg_plane: Ints, *, backwards: bool = False) -> Ints:
    """Earliest starts, int64 ``[n]``, of an order with fixed planes; backwards: longest path behind each op's end.

    Parameters
    ----------
    instance, order, leg_plane
        As in :func:`decode_order`; ``order`` always runs forwards.
    backwards
        Read the order from its end. On all-stop planes epochs are cut from the end then, which may differ from the
        cut of the schedule: the paths are those of some schedule of the same order.
    """
    n = instance.n_ops
    problem = fixed_problem(instance, leg_plane, backwards=backwards)
    ports = new_ports(instance.n_planes, instance.n_endpoints)
    start, ready, binder = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int32)
    binding, leg_option = np.empty(n, dtype=np.int8), np.zeros(instance.n_legs, dtype=np.int32)
    nothing = np.empty((0, 0), dtype=np.int64)
    cube, narrow = np.empty((0, 0, 0), dtype=np.int64), np.empty((0, 0, 0), dtype=np.int32)
    sequence = np.ascontiguousarray(order[::-1] if backwards else order, dtype=np.int32)
    decode(*problem, *ports, sequence, ready, start, leg_option, binder, binding, 0, nothing, cube, narrow, cube)
    return start


def settle(instance: Instance, order: Ints, leg_plane: Ints) -> Incumbent:
    """Start every op as early as an order allows, then order the ops by their starts, so that windows are times.

    Parameters
    ----------
    instance, order, leg_plane
        As in :func:`decode_order`; here the order must also be topological for port sequences (any order is).
    """
    starts = decode_starts(instance, order, leg_plane)
    rank = np.empty(instance.n_ops, dtype=np.int64)
    rank[order] = np.arange(instance.n_ops)
    by = np.lexsort((rank, op_ends(instance, starts, leg_plane), starts)).astype(np.int32)
    if stopping_planes(instance).any():
        # epochs are cut in the order of the ops, so another order may be another schedule
        again = decode_order(instance, by, leg_plane)
        kept = Incumbent(starts, leg_plane, order, value_of(instance, starts, leg_plane))
        return again if again.value_ticks <= kept.value_ticks else kept
    return Incumbent(starts, leg_plane, by, value_of(instance, starts, leg_plane))


def make_incumbent(instance: Instance, op_start_ticks: Ints, leg_plane: Ints) -> Incumbent:
    """Read the order off a feasible schedule and start everything as early as it allows.

    Parameters
    ----------
    instance
        The problem.
    op_start_ticks, leg_plane
        A feasible schedule: int64 ``[n]`` and int16 ``[L]``.

    Returns
    -------
    Incumbent
        At most as long as the schedule given.
    """
    starts = np.asarray(op_start_ticks, dtype=np.int64)
    leg_plane = np.ascontiguousarray(leg_plane, dtype=np.int16)
    ends = op_ends(instance, starts, leg_plane)
    rank = np.empty(instance.n_ops, dtype=np.int64)
    topological, _ = topological_order(
        instance.pred_indptr, instance.pred_index, instance.device_indptr, instance.device_ops
    )
    rank[topological] = np.arange(instance.n_ops)
    order = np.lexsort((rank, ends, starts)).astype(np.int32)
    return decode_order(instance, order, leg_plane)


def value_of(instance: Instance, op_start_ticks: Ints, leg_plane: Ints) -> int:
    """Iteration time of starts and planes in ticks; the period where the boundary is cyclic."""
    if instance.boundary == CYCLIC:
        return make_schedule(instance, op_start_ticks, leg_plane).iteration_time_ticks
    return int(op_ends(instance, op_start_ticks, leg_plane).max(initial=0))
