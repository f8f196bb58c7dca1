"""`ideal-packet`: the same iteration over a non-blocking electrical network of the same rate, the floor."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.bounds import best_bound
from fluxscale.decompose.symmetry import Reduction, reduce
from fluxscale.errors import BackendError, InfeasibleError
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import PRESET, Instance
from fluxscale.instance.pairs import pairs
from fluxscale.instance.work import work
from fluxscale.schedule.circuits import make_schedule, op_ends
from fluxscale.schedule.fluid_run import FluidRun
from fluxscale.simulate.buffers import peak_buffers
from fluxscale.solving.protocol import Capabilities, Outcome, Plan, Progress, ProgressCallback, SolveParams
from fluxscale.solving.registry import get_solver
from fluxscale.solving.status import Termination
from fluxscale.validate.checker import check
from fluxscale_solvers.baselines.on_demand import refuse_options

Ints = npt.NDArray[Any]

DEFAULT_WORK, DEFAULT_ROUNDS = 20_000_000, 10_000
"""Default work limit in op placements: about a second on one core, and no more than so many for each op."""

CUT_SHORT = (Termination.TIME_LIMIT, Termination.WORK_LIMIT, Termination.INTERRUPTED)


class IdealPacket:
    """A non-blocking packet network with the planes' ports and rates: no circuits, no delay, no matching to keep.

    The usual electrical reference of OCS papers (RotorNet, Opus, MixNet among others compare with a full-bisection
    packet fabric); how it is modelled here is our choice. Every OCS becomes an electrical switch: reconfiguration delay
    0, one-way ports, boundary preset, any radix, no buffer limit. Planes on which the same endpoints hang together
    become one of their summed rate and least latency; others (rails, say) stay apart. What remains is scheduling on
    ports, solved by the solver ``list`` on the symmetric part and checked by the independent checker. Transfers are
    still sent whole, one after the other on a port; packets that share a link would not end the last of them earlier.
    Where several planes were merged, they are also tried apart, and the better of the two counts: one fast link is not
    always better than two slow ones for transfers that cannot be cut, and the circuits of some gangs (two of one port)
    need planes of their own.

    It is a floor as far as ``list`` is optimal, which the notes say when it is proven. Work limit: op placements, as
    for ``list``.
    """

    name = "ideal-packet"
    capabilities = Capabilities(comparison=True, work_limit_unit="op placements")

    def solve(self, instance: Instance, params: SolveParams, progress: ProgressCallback) -> Outcome:
        """Schedule the instance without circuits; see :class:`fluxscale.solving.protocol.Solver`."""
        refuse_options(self.name, params.options)
        began = time.perf_counter()
        merged = ideal_network(instance, merge=True)
        several = len(merged.size) < instance.n_planes
        found: list[_Found] = []
        try:
            limit = params.time_limit_s
            if not several or _gangs_fit(merged.instance):
                try:
                    share = limit / 2 if several and limit is not None else limit
                    found.append(_schedule(merged, params, share, progress))
                except InfeasibleError:
                    # Without merged planes to blame it is the instance that is infeasible.
                    if not several:
                        raise
            if several and not (found and found[0].settled):
                left = None if limit is None else max(0.0, limit - (time.perf_counter() - began))
                found.append(_schedule(ideal_network(instance, merge=False), params, left, progress))
        except KeyboardInterrupt:
            if not found:
                return Outcome(None, None, None, None, Termination.INTERRUPTED)
            found[0].stopped = Termination.INTERRUPTED
        best = min(found, key=lambda one: one.value)
        stats = {"planes": len(best.network.size), "proven": best.value == best.bound, "list": best.stats}
        ended = [one.stopped for one in found if one.stopped in CUT_SHORT]
        run = _run(instance, best)
        return Outcome(None, best.value, None, None, ended[0] if ended else Termination.FINISHED, stats, run)


@dataclass(frozen=True, eq=False)
class Network:
    """An instance on electrical switches.

    Attributes
    ----------
    instance
        The same ops on merged planes without delay.
    group
        int64 ``[P]``: merged plane of each plane.
    size
        int64: planes in each merged plane.
    """

    instance: Instance
    group: Ints
    size: Ints


@dataclass(eq=False)
class _Found:
    network: Network
    plan: Plan
    value: int
    bound: int
    settled: bool
    stopped: Termination
    stats: dict[str, Any]


def ideal_network(instance: Instance, *, merge: bool) -> Network:
    """Put an instance on electrical switches.

    Transfers of a given duration take their share of it on merged planes, as they would if cut over them.

    Parameters
    ----------
    instance
        The problem.
    merge
        Whether planes on which the same endpoints hang together become one.
    """
    group, first = _groups(instance.attach, merge=merge)
    size = np.bincount(group, minlength=len(first))
    total: list[Ints] = []
    for column in (instance.plane_rate_bps, instance.injection_rate_bps):
        total.append(np.zeros(len(first), dtype=np.int64))
        np.add.at(total[-1], group, column)
    latency = np.full(len(first), np.iinfo(np.int64).max)
    np.minimum.at(latency, group, instance.plane_latency_ticks)
    none = np.zeros(len(first), dtype=np.int64)
    changed = replace(
        instance,
        op_fixed_ticks=_shared_durations(instance, size[group]),
        plane_rate_bps=total[0],
        plane_latency_ticks=latency,
        plane_delay_ticks=none,
        plane_radix=none,
        plane_all_stop=none,
        plane_duplex=none,
        attach=instance.attach[first],
        injection_rate_bps=total[1],
        boundary=PRESET,
        nic_buffer_bytes=0,
        names=replace(instance.names, planes=()),
    )
    return Network(changed, group, size)


def _groups(attach: Ints, *, merge: bool) -> tuple[Ints, Ints]:
    """Group of each plane, and each group's first plane; the names of its OCS do not count."""
    known: dict[bytes, int] = {}
    group, first = [], []
    for plane, row in enumerate(attach):
        # each OCS is called after its first endpoint
        _, at, ocs = np.unique(row, return_index=True, return_inverse=True)
        key = np.where(row >= 0, at[ocs.ravel()], -1).tobytes() if merge else str(plane).encode()
        if key not in known:
            known[key] = len(first)
            first.append(plane)
        group.append(known[key])
    return np.array(group, dtype=np.int64), np.array(first, dtype=np.int64)


def _shared_durations(instance: Instance, size: Ints) -> Ints:
    """Given durations, divided by the planes that each of an op's circuits has at once; ``size`` is one a plane."""
    derived = derive(instance)
    fixed = instance.op_fixed_ticks.copy()
    if not len(derived.leg_planes) or not np.diff(derived.leg_plane_indptr).all():
        return fixed
    of_leg = np.maximum.reduceat(size[derived.leg_planes], derived.leg_plane_indptr[:-1])
    with_legs = np.flatnonzero(np.diff(instance.leg_indptr))
    of_op = np.minimum.reduceat(of_leg, instance.leg_indptr[with_legs])
    given = fixed[with_legs] >= 0
    fixed[with_legs[given]] = -(-fixed[with_legs[given]] // of_op[given])
    return fixed


def _gangs_fit(instance: Instance) -> bool:
    """Whether no op asks for two circuits of a port where it has no choice of planes."""
    derived = derive(instance)
    alone = np.flatnonzero(np.diff(derived.leg_plane_indptr) == 1)
    plane = derived.leg_planes[derived.leg_plane_indptr[alone]].astype(np.int64)
    place = (derived.leg_op[alone].astype(np.int64) * instance.n_planes + plane) * instance.n_endpoints
    ports = (place + end[alone] for end in (instance.leg_tx, instance.leg_rx))
    return all(len(np.unique(port)) == len(port) for port in ports)


def _schedule(network: Network, params: SolveParams, limit_s: float | None, progress: ProgressCallback) -> _Found:
    """Let ``list`` schedule the symmetric part, or all of it where that does not carry over."""
    began = time.perf_counter()
    instance = network.instance
    reduction: Reduction | None = reduce(instance)
    part = instance if reduction is None else reduction.instance
    bound = best_bound(part)
    while True:
        left = None if limit_s is None else max(0.0, limit_s - (time.perf_counter() - began))
        work_limit = params.work_limit or min(DEFAULT_WORK, DEFAULT_ROUNDS * max(1, part.n_ops))
        mine = replace(params, time_limit_s=left, work_limit=work_limit, lower_bound_ticks=bound.ticks, warm_start=None)
        outcome = get_solver("list").solve(part, mine, progress)
        if outcome.plan is None:
            raise KeyboardInterrupt
        plan = outcome.plan if reduction is None else reduction.lift(outcome.plan)
        schedule = make_schedule(instance, plan.op_start_ticks, plan.leg_plane)
        if check(instance, schedule).ok:
            break
        if reduction is None:
            raise BackendError("ideal-packet: the check refuses a plan of the solver list")
        reduction, part = None, instance
    value = schedule.iteration_time_ticks
    progress(Progress(time.perf_counter() - began, value, None, f"{instance.n_planes} electrical planes"))
    # no cutting over planes beats the critical path; an interrupt ends the search too
    settled = (value == bound.ticks and bound.name == "critical-path") or outcome.termination is Termination.INTERRUPTED
    return _Found(network, plan, value, bound.ticks, settled, outcome.termination, outcome.stats)


def _run(instance: Instance, found: _Found) -> FluidRun:
    network, plan = found.network, found.plan
    start, ends = plan.op_start_ticks, op_ends(network.instance, plan.op_start_ticks, plan.leg_plane)
    busy = np.zeros(len(network.size), dtype=np.int64)
    np.add.at(busy, plan.leg_plane, (ends - start)[derive(instance).leg_op])
    amount = np.zeros(pairs(instance).count, dtype=np.int64)
    np.add.at(amount, pairs(instance).leg_pair, work(instance).leg_amount)
    peaks = peak_buffers(network.instance, start, ends, plan.leg_plane).eager_port_bytes
    notes = ["a non-blocking electrical network at the same rates: no circuits, no delay"]
    if len(network.size) < instance.n_planes:
        notes.append(f"{instance.n_planes} planes count as {len(network.size)} of their summed rate")
    proven = "no schedule of whole transfers on these ports is shorter (proven)"
    notes.append(proven if found.value == found.bound else "found by list scheduling, not proven to be the shortest")
    return FluidRun(
        op_start_ticks=start,
        op_end_ticks=ends,
        iteration_time_ticks=found.value,
        reconfigurations=0,
        circuit_up_ticks=busy[network.group],
        circuit_busy_ticks=busy[network.group],
        dark_ticks=np.zeros(instance.n_planes, dtype=np.int64),
        pair_amount=amount,
        port_peak_bytes=(-(-peaks // network.size[:, None])).max(axis=0, initial=0),
        events=instance.n_ops,
        notes=tuple(notes),
    )
