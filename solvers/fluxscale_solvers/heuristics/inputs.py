"""What the list kernels need of an instance, made once for all rules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.bounds.times import times
from fluxscale.errors import InfeasibleError
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import DARK, Instance
from fluxscale.kernels.ports import Problem
from fluxscale.schedule.circuits import stopping_planes
from fluxscale.solving.protocol import Plan
from fluxscale_solvers.heuristics.gangs import fixed_gang_planes

Ints = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Prepared:
    """An instance as the kernels read it, its ops renumbered by their earliest start.

    The event loop then walks through memory in order: replicas that run in lock-step would otherwise send it across
    the whole instance at every step.

    Attributes
    ----------
    problem
        Arrays in the new numbering.
    op_of, leg_of
        int32 ``[n]`` and int64 ``[L]``: old number of each new op and leg.
    head, tail
        int64 ``[n]``: longest paths before and after each op (new numbering).
    n_planes, n_endpoints
        Size of the fabric.
    simple
        Whether :func:`fluxscale.kernels.list_simple.list_schedule_simple` applies.
    """

    problem: Problem
    op_of: Ints
    leg_of: Ints
    head: Ints
    tail: Ints
    n_planes: int
    n_endpoints: int
    simple: bool

    @cached_property
    def ranks(self) -> tuple[Ints, Ints]:
        """Rank of each op by the longest path behind it, longest first, and the op of each rank: int32 ``[n]`` each."""
        op_of_rank = np.argsort(-self.tail, kind="stable").astype(np.int32)
        rank = np.empty_like(op_of_rank)
        rank[op_of_rank] = np.arange(len(rank), dtype=np.int32)
        return rank, op_of_rank

    @cached_property
    def horizon(self) -> int:
        """Serial time of everything, which bounds every time that can occur, in ticks."""
        legs = len(self.problem.option_indptr) - 1
        delay = int(self.problem.delay.max(initial=0))
        return int(self.problem.op_ticks.max(axis=1).sum()) + (legs + 1) * delay

    @cached_property
    def simple_arguments(self) -> tuple[Ints, ...]:
        """Arguments of the simple kernel up to ``first_free``."""
        problem = self.problem
        leg_delay = problem.delay[problem.option_plane]
        first_free = leg_delay if problem.boundary == DARK else np.zeros_like(leg_delay)
        return (
            problem.succ_indptr, problem.succ_index, problem.next_on_device, problem.in_degree,
            np.ascontiguousarray(problem.op_ticks[:, 0]), problem.leg_indptr, problem.option_tx_lane,
            problem.option_rx_lane, leg_delay, first_free,
        )  # fmt: skip

    def plan(self, start: Ints, leg_option: Ints) -> Plan:
        """Turn kernel results into a plan of the instance."""
        op_start = np.empty_like(start)
        op_start[self.op_of] = start
        leg_plane = np.empty(len(leg_option), dtype=np.int16)
        leg_plane[self.leg_of] = self.problem.option_plane[leg_option]
        return Plan(op_start, leg_plane)


def prepare(instance: Instance) -> Prepared:
    """Collect and renumber the arrays that the kernels read.

    A gang whose legs would compete for a port of one plane gets its planes fixed here (see ``gangs``), so that the
    kernels may choose each leg's plane without looking at the others.

    Parameters
    ----------
    instance
        The problem.

    Raises
    ------
    InfeasibleError
        A gang fits on no choice of planes.
    """
    derived = derive(instance)
    paths = times(instance)
    op_of = np.argsort(paths.head, kind="stable").astype(np.int32)
    new_of = np.empty(instance.n_ops, dtype=np.int32)
    new_of[op_of] = np.arange(instance.n_ops, dtype=np.int32)
    in_degree = np.diff(instance.pred_indptr).astype(np.int32) + (derived.prev_on_device >= 0)
    succ_indptr, succ_at = take_rows(derived.succ_indptr, op_of)
    leg_indptr, leg_of = take_rows(instance.leg_indptr, op_of)
    option_indptr, option_of = take_rows(derived.leg_plane_indptr, leg_of)
    planes = derived.leg_planes[option_of]
    fixed = fixed_gang_planes(instance)
    if fixed is not None:
        wanted = np.repeat(fixed[leg_of], np.diff(option_indptr))
        keep = (wanted < 0) | (wanted == planes)
        option_indptr = np.concatenate([[0], np.cumsum(keep)])[option_indptr]
        planes = planes[keep]
    counts = np.diff(option_indptr)
    if not counts.all():
        leg = int(leg_of[np.flatnonzero(counts == 0)[0]])
        raise InfeasibleError(f"{instance.names.op(int(derived.leg_op[leg]))}: its endpoints are on no common OCS.")
    leg = np.repeat(leg_of, counts)
    base = planes.astype(np.int64) * instance.n_endpoints
    following = derived.next_on_device[op_of]
    problem = Problem(
        succ_indptr=succ_indptr,
        succ_index=new_of[derived.succ_index[succ_at]],
        next_on_device=np.where(following >= 0, new_of[following], -1).astype(np.int32),
        in_degree=in_degree[op_of].astype(np.int32),
        op_ticks=np.ascontiguousarray(derived.op_ticks[op_of]),
        plane_class=derived.plane_class,
        leg_indptr=leg_indptr,
        option_indptr=option_indptr,
        option_plane=planes,
        option_tx_lane=((base + instance.leg_tx[leg]) * 2).astype(np.int32),
        option_rx_lane=((base + instance.leg_rx[leg]) * 2 + 1).astype(np.int32),
        delay=instance.plane_delay_ticks,
        all_stop=stopping_planes(instance),
        duplex=instance.plane_duplex,
        boundary=instance.boundary,
    )
    simple = bool(
        (counts == 1).all()
        and not instance.plane_duplex.any()
        and not problem.all_stop.any()
        and problem.op_ticks.shape[1] == 1
    )
    return Prepared(
        problem, op_of, leg_of, paths.head[op_of], paths.tail[op_of], instance.n_planes, instance.n_endpoints, simple
    )


def take_rows(indptr: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Row pointer and element positions of a CSR array whose rows are taken in another order."""
    counts = np.diff(indptr)[rows]
    new_indptr = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(counts, out=new_indptr[1:])
    return new_indptr, np.arange(new_indptr[-1]) + np.repeat(indptr[rows] - new_indptr[:-1], counts)
