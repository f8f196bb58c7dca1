"""`on-demand` and `on-demand-ahead`: transfers are served in order of release, each keeps its circuits to its end.

In both, requests are reserved one after the other: an earlier request that waits for its receiver holds its idle sender
too (head-of-line waiting; on an all-stop plane a change that waits for silence holds the whole plane). That is what
"in order of arrival" says; :mod:`fluxscale_solvers.baselines.sunflow` lets later transfers pass.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.instance.instance import CYCLIC, Instance
from fluxscale.kernels.ports import new_ports
from fluxscale.kernels.reactive.on_demand import on_demand
from fluxscale.schedule.circuits import make_schedule
from fluxscale.solving.protocol import Capabilities, Outcome, Progress, ProgressCallback, SolveParams
from fluxscale.solving.status import Termination
from fluxscale_solvers.heuristics.inputs import Prepared, prepare

Ints = npt.NDArray[Any]

ROUNDS = 4
"""Most iterations in a row that are simulated until a cyclic one begins with the circuits that it leaves behind."""


class _InOrder:
    """What both have in common: one run of the kernel, and the plan that comes of it."""

    name = ""
    capabilities = Capabilities(comparison=True)
    ahead = False

    def solve(self, instance: Instance, params: SolveParams, progress: ProgressCallback) -> Outcome:
        """Serve every request once; see :class:`fluxscale.solving.protocol.Solver`.

        There is nothing to stop early: limits and the seed have no effect.
        """
        refuse_options(self.name, params.options)
        began = time.perf_counter()
        stats: dict[str, Any] = {"rounds": 0}
        try:
            prepared = prepare(instance)
            rank, op_of_rank = prepared.op_of, ranked(prepared)

            def play(held: Ints, start: Ints, leg_option: Ints) -> Ints:
                ports = new_ports(prepared.n_planes, prepared.n_endpoints)
                change = np.empty(prepared.n_planes, dtype=np.int64)
                on_demand(*prepared.problem, *ports, change, held, rank, op_of_rank, self.ahead, start, leg_option)
                return ports.peer

            return planned(instance, prepared, play, stats, progress, began, steady=not self.ahead)
        except KeyboardInterrupt:
            return Outcome(None, None, None, None, Termination.INTERRUPTED, stats)


class OnDemand(_InOrder):
    """A circuit is set when a transfer asks for it, in order of arrival, never ahead of time.

    What a switch with a reactive controller does (one request queue, as in the circuit managers that problem.md calls
    on-demand; our own choice in every detail, there is no one paper). A transfer asks at its release, the end of its
    last predecessor; ties go by op number. The change begins then at the earliest, and only when both ports are idle
    (all-stop: when the whole plane is; requests that are there when it falls silent share the change). The circuit
    still in place costs nothing. Of several planes the one with the earliest start is taken, then the first. A gang
    asks for all its circuits at once and starts when the last of them is up. With a cyclic boundary an iteration begins
    with the circuits that the one before left, simulated for up to four iterations; nothing is set between iterations.
    """

    name = "on-demand"


class OnDemandAhead(_InOrder):
    """The same order of service, but a circuit is set as soon as both its ports fall idle, even before the request.

    After Opus (Photonic Rails, arXiv 2602.12521), whose control plane provisions the circuits of the next parallelism
    phase once the present one is over. What it knows ahead is the order of requests: for every port, which transfer is
    the next one to be requested on it, and so which circuit to set. It does not reorder: transfers are served by
    release, ties by op number. Our choice: ports change one by one, where Opus switches a whole rail group at a phase
    boundary, which can only help it; and every transfer counts as a phase of its own. The port rule is that of list
    scheduling (:mod:`fluxscale.kernels.ports`), the boundary too.
    """

    name = "on-demand-ahead"
    ahead = True


def refuse_options(name: str, options: dict[str, Any]) -> None:
    """Refuse any option, for solvers that have none.

    Parameters
    ----------
    name
        Name of the solver.
    options
        What was given.

    Raises
    ------
    InputError
        Naming the first option.
    """
    for key, value in options.items():
        raise InputError(f"{name} has no options", field=f"solver.{key}", value=value, maybe="leave it out.")


def ranked(prepared: Prepared) -> Ints:
    """Op of each rank where ops rank by their number in the instance, int32 ``[n]``."""
    op_of_rank = np.empty_like(prepared.op_of)
    op_of_rank[prepared.op_of] = np.arange(len(op_of_rank), dtype=op_of_rank.dtype)
    return op_of_rank


def planned(
    instance: Instance,
    prepared: Prepared,
    play: Any,
    stats: dict[str, Any],
    progress: ProgressCallback,
    began: float,
    *,
    steady: bool,
) -> Outcome:
    """Play an instance and make a plan of it.

    Parameters
    ----------
    instance, prepared
        The problem.
    play
        Plays one iteration: from the port that each port's circuit leads to (-1: none) at the start to the same at the
        end, filling op starts and the option of each leg.
    stats
        Gets the number of iterations played.
    progress, began
        Whom to tell, and since when.
    steady
        Whether a cyclic boundary is played until an iteration begins with the circuits that it leaves behind.
    """
    start = np.empty(instance.n_ops, dtype=np.int64)
    leg_option = np.zeros(instance.n_legs, dtype=np.int32)
    held = np.full(prepared.n_planes * prepared.n_endpoints * 2, -1, dtype=np.int32)
    for _ in range(ROUNDS if steady and instance.boundary == CYCLIC else 1):
        left = play(held, start, leg_option)
        stats["rounds"] += 1
        if np.array_equal(left, held):
            break
        held = left
    plan = prepared.plan(start, leg_option)
    value = make_schedule(instance, plan.op_start_ticks, plan.leg_plane).iteration_time_ticks
    progress(Progress(time.perf_counter() - began, value, None, "all transfers served"))
    return Outcome(plan, value, None, None, Termination.FINISHED, stats)
