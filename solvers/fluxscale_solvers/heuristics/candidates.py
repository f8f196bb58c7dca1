"""A schedule as the kernels make it, by one rule, and what it is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.instance import CYCLIC, Instance
from fluxscale.kernels.list_schedule import list_schedule
from fluxscale.kernels.list_simple import list_schedule_simple
from fluxscale.kernels.ports import new_ports
from fluxscale.schedule.circuits import make_schedule
from fluxscale_solvers.heuristics.inputs import Prepared
from fluxscale_solvers.heuristics.rules import Rule, rank_and_offset

Ints = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A schedule in the kernels' numbering.

    Attributes
    ----------
    value
        Iteration time in ticks.
    rule
        How it was made.
    start, leg_option, order
        Op starts, option of each leg, and the order in which the ops were placed.
    """

    value: int
    rule: str
    start: Ints
    leg_option: Ints
    order: Ints


def run_rule(instance: Instance, prepared: Prepared, rule: Rule, seed: int = 0) -> Candidate:
    """Schedule an instance by one rule.

    Parameters
    ----------
    instance
        The problem.
    prepared
        What :func:`fluxscale_solvers.heuristics.inputs.prepare` made of it.
    rule
        Priority rule.
    seed
        Root seed of rules with chance.
    """
    n, legs = instance.n_ops, instance.n_legs
    start = np.empty(n, dtype=np.int64)
    order = np.empty(n, dtype=np.int32)
    rank, op_of_rank, offset, coarse = rank_and_offset(prepared, rule, seed)
    ports = new_ports(prepared.n_planes, prepared.n_endpoints)
    if prepared.simple:
        leg_option = np.arange(legs, dtype=np.int32)
        lanes = (ports.lane_free, ports.peer)
        arguments: tuple[Any, ...] = (
            *prepared.simple_arguments,
            *lanes,
            rank,
            op_of_rank,
            offset,
            coarse,
            start,
            order,
        )
        list_schedule_simple(*arguments)
    else:
        leg_option = np.zeros(legs, dtype=np.int32)
        list_schedule(*prepared.problem, *ports, rank, op_of_rank, offset, coarse, start, leg_option, order)
    return Candidate(iteration_time(instance, prepared, start, leg_option), rule.name, start, leg_option, order)


def iteration_time(instance: Instance, prepared: Prepared, start: Ints, leg_option: Ints) -> int:
    """Iteration time of a kernel result in ticks; only a cyclic boundary needs the circuits for it."""
    if instance.boundary == CYCLIC:
        plan = prepared.plan(start, leg_option)
        return make_schedule(instance, plan.op_start_ticks, plan.leg_plane).iteration_time_ticks
    problem = prepared.problem
    if problem.op_ticks.shape[1] == 1:
        return int((start + problem.op_ticks[:, 0]).max(initial=0))
    duration = problem.op_ticks[:, 0].copy()
    with_legs = np.flatnonzero(np.diff(problem.leg_indptr))
    if len(with_legs):
        op = np.repeat(np.arange(len(start)), np.diff(problem.leg_indptr))
        per_leg = problem.op_ticks[op, problem.plane_class[problem.option_plane[leg_option]]]
        duration[with_legs] = np.maximum.reduceat(per_leg, problem.leg_indptr[with_legs])
    return int((start + duration).max(initial=0))
