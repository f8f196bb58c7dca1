"""`periodic-*`: demand matrices decomposed into matchings, period by period, without a look at the compute timeline."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from fluxscale.errors import InputError
from fluxscale.instance.instance import Instance
from fluxscale.matchings.bvn import bvn
from fluxscale.matchings.decomposition import Decomposition
from fluxscale.matchings.duplex import bvn_duplex, eclipse_duplex, solstice_duplex, spectra_duplex
from fluxscale.matchings.eclipse import eclipse
from fluxscale.matchings.solstice import solstice
from fluxscale.matchings.spectra import spectra
from fluxscale.solving.protocol import Capabilities, Outcome, ProgressCallback, SolveParams
from fluxscale.solving.status import Termination
from fluxscale.units import parse_time
from fluxscale_solvers.baselines.options import typical_transfer_ticks, word_option
from fluxscale_solvers.baselines.periodic_aggregate import run_aggregate
from fluxscale_solvers.baselines.periodic_queued import run_queued
from fluxscale_solvers.baselines.switches import groups

DEMANDS = ("queued", "aggregate")
AUTO_PERIOD = "auto"
DEFAULT_DUTY = 0.9


class Periodic(ABC):
    """What the periodic schedulers share; the subclasses bring the decomposition.

    Two readings of "periodic", both swept by a comparison. *queued*: at every period start the bytes that wait are
    decomposed and the matchings played until the period is over; with period ``auto`` the next period begins as soon as
    all is played. *aggregate*: the demand of the whole iteration is decomposed once and played over and over, as the
    Flux paper runs BvN; the durations are scaled so that the share ``duty`` of a turn is not dark (the paper: 0.9), or
    so that a turn takes ``period``, or (period ``auto``) not at all.

    Where we had to choose: circuits that a port still holds stay up under the per-port rule, and circuits without any
    demand are not set, which is better than the papers' all-stop switches; planes with the same members share the
    demand evenly and, played over and over, are staggered over the turn; a transfer that misses its turn waits.

    Options: ``demand``, ``period`` (time or "auto"), ``duty`` (with aggregate demand and without a period).
    """

    name = "periodic"
    capabilities = Capabilities(comparison=True, options=("demand", "period", "duty"))

    @abstractmethod
    def decompose(
        self, demand: Any, delay: int, window: int | None, n_planes: int, duplex: bool
    ) -> list[Decomposition]:
        """Decompose the demand on one of ``n_planes`` equal planes; one decomposition for each plane."""

    def sweep(self, instance: Instance) -> list[dict[str, Any]]:
        """Both readings, with several duty cycles and periods."""
        delay = int(instance.plane_delay_ticks.max(initial=0))
        typical = typical_transfer_ticks(instance)
        periods = {2 * delay + typical, 10 * delay, 50 * delay, 4 * typical}
        chosen = sorted(period * instance.tick_ns for period in periods if period > delay)
        return [
            {"demand": "queued", "period": AUTO_PERIOD},
            *({"demand": "queued", "period": period} for period in chosen),
            {"demand": "aggregate", "period": AUTO_PERIOD},
            *({"demand": "aggregate", "duty": duty} for duty in ((0.25, 0.5, 0.75, 0.9, 0.99) if delay else ())),
        ]

    def solve(self, instance: Instance, params: SolveParams, progress: ProgressCallback) -> Outcome:
        """Play period by period; see :class:`fluxscale.solving.protocol.Solver`."""
        demand = word_option(params.options, "demand", DEMANDS, DEMANDS[0])
        period = _read_period(instance, params.options)
        duty = _read_duty(params.options, demand, period)
        if demand == "queued":
            run = run_queued(instance, self.decompose, period, params.cutoff_ticks)
        else:
            run = run_aggregate(instance, self.decompose, period, duty, params.cutoff_ticks)
        if run is None:
            return Outcome(None, None, None, None, Termination.WORK_LIMIT, {})
        stats = {"events": run.events, "switches": len(groups(instance))}
        return Outcome(None, run.iteration_time_ticks, None, None, Termination.FINISHED, stats, run)


def _read_period(instance: Instance, options: dict[str, Any]) -> int | None:
    """Period in ticks, None: auto."""
    value = options.get("period", AUTO_PERIOD)
    if value == AUTO_PERIOD:
        return None
    ns = parse_time(value, allow_zero=False, field="solver.period")
    delay_ns = int(instance.plane_delay_ticks.max(initial=0)) * instance.tick_ns
    if ns <= delay_ns:
        raise InputError(
            f"a period of {ns} ns is not longer than the reconfiguration delay of {delay_ns} ns, so nothing could be "
            "sent in it",
            field="solver.period",
            value=value,
            maybe=f"use {10 * delay_ns} ns, or auto.",
        )
    return max(1, ns // instance.tick_ns)


def _read_duty(options: dict[str, Any], demand: str, period: int | None) -> float | None:
    """Share of a turn that is not dark, None where the period says how long a turn is."""
    if "duty" not in options:
        return DEFAULT_DUTY if demand == "aggregate" and "period" not in options else None
    value = options["duty"]
    if demand != "aggregate" or period is not None:
        raise InputError("holds for demand=aggregate without a period", field="solver.duty", value=value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
        raise InputError("must be a fraction between 0 and 1", field="solver.duty", value=value, maybe="90 % is 0.9.")
    return float(value)


class PeriodicBvn(Periodic):
    """Birkhoff-von Neumann decomposition (Birkhoff 1946; Chang, Chen, Huang, INFOCOM 2000), played periodically."""

    name = "periodic-bvn"

    def decompose(
        self, demand: Any, delay: int, window: int | None, n_planes: int, duplex: bool
    ) -> list[Decomposition]:
        """Matchings of ``fluxscale.matchings.bvn``."""
        return [bvn_duplex(demand) if duplex else bvn(demand)] * n_planes


class PeriodicSolstice(Periodic):
    """Solstice (Liu et al., "Scheduling techniques for hybrid circuit/packet networks", CoNEXT 2015).

    Without its packet network: all demand goes over circuits.
    """

    name = "periodic-solstice"

    def decompose(
        self, demand: Any, delay: int, window: int | None, n_planes: int, duplex: bool
    ) -> list[Decomposition]:
        """Matchings of ``fluxscale.matchings.solstice``."""
        return [solstice_duplex(demand, delay) if duplex else solstice(demand, delay)] * n_planes


class PeriodicEclipse(Periodic):
    """Eclipse (Bojja Venkatakrishnan et al., "Costly circuits, submodular schedules", SIGMETRICS 2016).

    Its window is the period; in what does not fit one, demand stays for the next.
    """

    name = "periodic-eclipse"

    def decompose(
        self, demand: Any, delay: int, window: int | None, n_planes: int, duplex: bool
    ) -> list[Decomposition]:
        """Matchings of ``fluxscale.matchings.eclipse``."""
        return [eclipse_duplex(demand, delay, window) if duplex else eclipse(demand, delay, window)] * n_planes


class PeriodicSpectra(Periodic):
    """Spectra (arXiv 2603.07373): decompose, assign to parallel planes by load, equalise."""

    name = "periodic-spectra"

    def decompose(
        self, demand: Any, delay: int, window: int | None, n_planes: int, duplex: bool
    ) -> list[Decomposition]:
        """Matchings of ``fluxscale.matchings.spectra``, one list for each plane."""
        # The demand on one plane is a part of the whole, which Spectra spreads itself.
        whole = demand * n_planes
        return spectra_duplex(whole, delay, n_planes) if duplex else spectra(whole, delay, n_planes)
