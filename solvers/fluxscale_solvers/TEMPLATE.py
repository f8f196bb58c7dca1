"""A commented skeleton for a new solver: copy this file, read it top to bottom, replace what is marked REPLACE.

It works as it stands: one op after the other, every circuit set anew. Slow, on any fabric, obviously right.
The steps around the code (registering, testing, documenting) are in ``solvers/README.md``.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError, UnsupportedError, did_you_mean
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance
from fluxscale.schedule.circuits import make_schedule
from fluxscale.solving.protocol import Capabilities, Outcome, Plan, Progress, ProgressCallback, SolveParams
from fluxscale.solving.status import Termination

Ints = npt.NDArray[Any]

TIES = ("first", "last")


class SerialTemplate:
    """One op at a time, in a topological order. REPLACE: what the method is, and who published it if it is not yours.

    Work limit: ops placed. Options: ``tie`` ("first" or "last": which of the ready ops goes next).
    """

    # 1. The name that users type after --solver: kebab-case, and it says what the solver does.
    name = "serial-template"

    # 2. What you honour. The framework refuses an instance that needs more before your code runs, so be honest here:
    #    False for a rule that you do not handle is fine, ignoring one is not. `work_limit_unit` names what --work-limit
    #    counts; None refuses the option.
    capabilities = Capabilities(work_limit_unit="ops placed", options=("tie",))

    def solve(self, instance: Instance, params: SolveParams, progress: ProgressCallback) -> Outcome:
        """Schedule an instance; see :class:`fluxscale.solving.protocol.Solver`."""
        # 3. Options first: refuse what you do not know before any work is done.
        tie = _read_options(params.options)
        began = time.perf_counter()
        deadline = float("inf") if params.time_limit_s is None else began + params.time_limit_s
        work_limit = instance.n_ops if params.work_limit is None else params.work_limit
        stats: dict[str, Any] = {"placed": 0}

        # 4. REPLACE: the method. Times are integer ticks. Chance comes from
        #    `fluxscale.seeds.generator(params.seed, name)`; the number of workers never changes the answer. Start from
        #    `params.warm_start` if you can use a plan, and stop once the value is within
        #    `params.rel_gap` of `params.lower_bound_ticks`.
        try:
            leg_plane = _choose_planes(instance)
            start = np.zeros(instance.n_ops, dtype=np.int64)
            now, gap = 0, int(instance.plane_delay_ticks.max(initial=0))
            for op in _topological_order(instance, last=tie == "last"):
                # 5. Limits: look at the clock now and then. A solver that has a plan by now returns it.
                if stats["placed"] >= work_limit:
                    return Outcome(None, None, None, None, Termination.WORK_LIMIT, stats)
                if time.perf_counter() > deadline:
                    return Outcome(None, None, None, None, Termination.TIME_LIMIT, stats)
                # All ports are silent for the largest delay before each transfer: any circuit may be set in that time.
                start[op] = now + (gap if _has_legs(instance, op) else 0)
                now = int(start[op]) + _duration(instance, op, leg_plane)
                stats["placed"] += 1
        except KeyboardInterrupt:
            # 6. Ctrl-C: return the best plan so far (here there is none before the last op is placed).
            return Outcome(None, None, None, None, Termination.INTERRUPTED, stats)

        # 7. Only op starts and planes leave a solver; `make_schedule` derives the circuits, and a cyclic period.
        value = make_schedule(instance, start, leg_plane).iteration_time_ticks
        progress(Progress(time.perf_counter() - began, value, params.lower_bound_ticks or None, "all ops placed"))

        # 8. The bound and its name only if you proved one; absent means None. OPTIMAL only with a proof.
        proven = 0 < params.lower_bound_ticks == value
        termination = Termination.OPTIMAL if proven else Termination.FINISHED
        return Outcome(Plan(start, leg_plane), value, None, None, termination, stats)


def _read_options(options: dict[str, Any]) -> str:
    known = SerialTemplate.capabilities.options
    for key, value in options.items():
        if key not in known:
            raise InputError(
                "serial-template has no such option", field=f"solver.{key}", value=value, maybe=did_you_mean(key, known)
            )
    tie = options.get("tie", "first")
    if tie not in TIES:
        raise InputError("must be first or last", field="solver.tie", value=tie, maybe=did_you_mean(str(tie), TIES))
    return tie


def _topological_order(instance: Instance, *, last: bool) -> list[int]:
    """Order in which every op comes after its predecessors and after the op before it on its device."""
    derived = derive(instance)
    # REPLACE: plain loops like this one are fine up to some ten thousand ops; beyond that write a kernel.
    waiting = np.diff(instance.pred_indptr) + (derived.prev_on_device >= 0)
    ready = [int(op) for op in np.flatnonzero(waiting == 0)]
    order = []
    while ready:
        op = ready.pop(-1 if last else 0)
        order.append(op)
        followers = derived.succ_index[derived.succ_indptr[op] : derived.succ_indptr[op + 1]].tolist()
        if derived.next_on_device[op] >= 0:
            followers.append(int(derived.next_on_device[op]))
        for follower in followers:
            waiting[follower] -= 1
            if waiting[follower] == 0:
                ready.append(follower)
    return order


def _choose_planes(instance: Instance) -> Ints:
    """First plane that both ends of a leg share and on which no other leg of its op is in the way."""
    derived = derive(instance)
    leg_plane = np.zeros(instance.n_legs, dtype=np.int16)
    for op in range(instance.n_ops):
        held: list[tuple[int, tuple[int, int]]] = []
        for leg in range(int(instance.leg_indptr[op]), int(instance.leg_indptr[op + 1])):
            circuit = int(instance.leg_tx[leg]), int(instance.leg_rx[leg])
            for plane in derived.leg_planes[derived.leg_plane_indptr[leg] : derived.leg_plane_indptr[leg + 1]].tolist():
                duplex = bool(instance.plane_duplex[plane])
                if not any(plane == other and _in_the_way(circuit, its, duplex) for other, its in held):
                    leg_plane[leg] = plane
                    held.append((plane, circuit))
                    break
            else:
                tx, rx = (instance.names.endpoint(end) for end in circuit)
                raise UnsupportedError(
                    "serial-template finds no plane for a circuit of this op",
                    field=instance.names.op(op),
                    value=f"{tx} -> {rx}",
                    maybe="use another solver, e.g. --solver list.",
                )
    return leg_plane


def _in_the_way(circuit: tuple[int, int], other: tuple[int, int], duplex: bool) -> bool:
    """Whether two legs on one plane share a port and are not the two directions of one duplex circuit."""
    if duplex:
        return bool({*circuit} & {*other}) and circuit != other[::-1]
    return circuit[0] == other[0] or circuit[1] == other[1]


def _has_legs(instance: Instance, op: int) -> bool:
    return bool(instance.leg_indptr[op] < instance.leg_indptr[op + 1])


def _duration(instance: Instance, op: int, leg_plane: Ints) -> int:
    """Ticks that an op takes: the slowest of its legs, or the given time."""
    derived = derive(instance)
    legs = slice(int(instance.leg_indptr[op]), int(instance.leg_indptr[op + 1]))
    classes = derived.plane_class[leg_plane[legs]] if _has_legs(instance, op) else [0]
    return int(derived.op_ticks[op, classes].max())
