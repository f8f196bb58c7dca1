"""`static`: one set of circuits for the whole iteration, never changed; what has no circuit goes over relays."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import BackendError, UnsupportedError
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import DARK, Instance
from fluxscale.instance.pairs import Pairs, pairs
from fluxscale.instance.work import Work, work
from fluxscale.kernels.relay.run import CUT, NEVER, relay
from fluxscale.schedule.fluid_run import FluidRun
from fluxscale.solving.protocol import Capabilities, Outcome, Progress, ProgressCallback, SolveParams
from fluxscale.solving.status import Termination
from fluxscale_solvers.baselines.static_links import Links
from fluxscale_solvers.baselines.static_network import Network, build_network

Ints = npt.NDArray[Any]


class Static:
    """One static topology per job, as TopoOpt (Wang et al., NSDI 2023) and DELTA (arXiv:2603.28096) choose one.

    TopoOpt takes matchings of maximum weight for what is not all-reduce, and permutations for it that keep everything
    reachable in few hops; hosts forward what has no circuit of its own. Our choices, for a workload that is given: on
    each plane in turn a matching of maximum weight over the aggregate demand (in send time) that no plane before
    serves, with spare ports doubling circuits; then, if some pair has no way, circuits are exchanged where that loses
    least (``static_patch``), which on one-way ports always suffices. Every pair takes a way of fewest hops. On two-way
    planes this is done twice, with the larger of the two directions' demands as weight and with their sum, and the
    network whose busiest link has less to send is taken.

    Relays forward virtual cut-through: a transfer goes on once its head has arrived and the next link is free; links
    take transfers in order of arrival. Circuits of two endpoints on several planes are one link of their summed speed,
    up once the last of them is. Bytes wait in the buffer of every endpoint that they pass. With a dark boundary all
    circuits cost one delay at the start, otherwise none. Gangs end with their last leg.

    Options: ``relays`` (true or false; default true): whether transfers may be forwarded.
    """

    name = "static"
    capabilities = Capabilities(comparison=True, options=("relays",))

    def solve(self, instance: Instance, params: SolveParams, progress: ProgressCallback) -> Outcome:
        """Choose circuits and run the iteration over them; see :class:`fluxscale.solving.protocol.Solver`.

        Of the limits only ``cutoff_ticks`` has an effect.
        """
        relays = _relays_option(params.options)
        began = time.perf_counter()
        stats: dict[str, Any] = {}
        try:
            amounts, asked = work(instance), pairs(instance)
            network = build_network(instance, asked, amounts, relays=relays)
            stats |= {"circuits": len(network.links.circuit_plane), "longest_way": network.longest_way}
            progress(Progress(time.perf_counter() - began, None, None, "circuits chosen"))
            run = run_network(instance, asked, amounts, network, params.cutoff_ticks)
        except KeyboardInterrupt:
            return Outcome(None, None, None, None, Termination.INTERRUPTED, stats)
        if run is None:
            return Outcome(None, None, None, None, Termination.WORK_LIMIT, stats)
        return Outcome(None, run.iteration_time_ticks, None, None, Termination.FINISHED, stats, run)


def run_network(
    instance: Instance, asked: Pairs, amounts: Work, network: Network, cutoff_ticks: int | None = None
) -> FluidRun | None:
    """Run an iteration over circuits that never change.

    Parameters
    ----------
    instance
        The problem.
    asked, amounts, network
        Its pairs, amounts and circuits.
    cutoff_ticks
        Give up, and return None, once the clock passes this.
    """
    derived, links = derive(instance), network.links
    n_links, n_ends = len(links.tail), instance.n_endpoints
    start = np.full(instance.n_ops, NEVER, dtype=np.int64)
    end = np.zeros(instance.n_ops, dtype=np.int64)
    link_busy, link_amount = np.zeros(n_links, dtype=np.int64), np.zeros(n_links, dtype=np.int64)
    peak = np.zeros(n_ends, dtype=np.int64)
    waiting = (np.diff(instance.pred_indptr) + (derived.prev_on_device >= 0)).astype(np.int64)
    status, ended, events = relay(
        NEVER if cutoff_ticks is None else np.int64(cutoff_ticks), derived.succ_indptr, derived.succ_index,
        derived.next_on_device, waiting, np.maximum(instance.op_fixed_ticks, 0), instance.leg_indptr, derived.leg_op,
        asked.leg_pair, amounts.leg_amount, amounts.leg_fixed, _injection(asked, amounts), network.hop_indptr,
        network.hops, links.tail, links.speed, links.planes, links.latency_ticks, links.open_ticks, links.out_indptr,
        links.out_links, links.in_indptr, links.in_links, start, end, link_busy, link_amount, peak,
    )  # fmt: skip
    if status == CUT:
        return None
    if ended != instance.n_ops:
        raise BackendError(f"{instance.n_ops - ended} ops never end: the order on a device contradicts the edges")
    total = int(end.max(initial=0))
    return FluidRun(
        start,
        end,
        total,
        **_circuit_figures(instance, links, link_busy, total),
        pair_amount=_pair_amounts(instance, asked, links, link_amount),
        port_peak_bytes=_port_peaks(instance, amounts, peak),
        events=int(events),
        notes=(f"longest way {network.longest_way} hops",) if network.longest_way > 1 else (),
    )


def _circuit_figures(instance: Instance, links: Links, link_busy: Ints, total: int) -> dict[str, Any]:
    """Set-ups and times of the circuits of each plane."""
    n = instance.n_planes
    directions = np.bincount(links.circuit_plane, minlength=n)
    circuits = directions // np.where(instance.plane_duplex, 2, 1)
    busy = np.zeros(n, dtype=np.int64)
    np.add.at(busy, links.circuit_plane, link_busy[links.circuit_link])
    dark = instance.boundary == DARK
    delay = instance.plane_delay_ticks if dark else np.zeros(n, dtype=np.int64)
    return {
        "reconfigurations": int(circuits.sum()) if dark else 0,
        "circuit_up_ticks": np.maximum(total - delay, 0) * directions,
        "circuit_busy_ticks": busy,
        "dark_ticks": delay * np.where(instance.plane_all_stop, np.minimum(circuits, 1), circuits),
    }


def _pair_amounts(instance: Instance, asked: Pairs, links: Links, link_amount: Ints) -> Ints:
    """Units that went over the link of each pair, 0 where it has none."""
    key = links.tail.astype(np.int64) * instance.n_endpoints + links.head
    wanted = asked.tx.astype(np.int64) * instance.n_endpoints + asked.rx
    at = np.searchsorted(key, wanted)
    known = at < len(key)
    known[known] = key[at[known]] == wanted[known]
    amount = np.zeros(asked.count, dtype=np.int64)
    amount[known] = link_amount[at[known]]
    return amount


def _port_peaks(instance: Instance, amounts: Work, peak: Ints) -> Ints:
    planes = np.maximum((instance.attach >= 0).sum(axis=0), 1)
    return -(-peak // (amounts.units_per_byte * planes))


def _injection(asked: Pairs, amounts: Work) -> Ints:
    """Units that a host hands over in a tick for each pair: over all planes of the pair at once."""
    sums = np.concatenate([[0], np.cumsum(amounts.plane_injection[asked.planes])])
    return np.maximum(sums[asked.plane_indptr[1:]] - sums[asked.plane_indptr[:-1]], 1)


def _relays_option(options: dict[str, Any]) -> bool:
    value = options.get("relays", True)
    if isinstance(value, str) and value in ("true", "false"):
        return value == "true"
    if not isinstance(value, bool):
        raise UnsupportedError("must be true or false", field="solver.relays", value=value)
    return value
