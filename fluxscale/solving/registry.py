"""Solvers by name: the built-in ones, and those of other packages (entry-point group ``fluxscale.solvers``).

Names map to ``module:attribute`` text, so listing them imports nothing and the framework knows no concrete solver.
"""

from __future__ import annotations

import functools
import importlib
from importlib.metadata import entry_points
from types import MappingProxyType

from fluxscale.errors import BackendError, InputError, did_you_mean
from fluxscale.solving.protocol import Solver

GROUP = "fluxscale.solvers"
"""Entry-point group for third-party solvers."""

BUILT_IN = MappingProxyType(
    {
        "exact-cpsat": "fluxscale_solvers.exact.cpsat:ExactCpSat",
        "exact-milp": "fluxscale_solvers.exact.milp:ExactMilp",
        "stage-window": "fluxscale_solvers.decomposed.stage_window:StageWindow",
        "list": "fluxscale_solvers.heuristics.list_scheduling:ListScheduling",
        "ideal-packet": "fluxscale_solvers.baselines.ideal_packet:IdealPacket",
        "static": "fluxscale_solvers.baselines.static:Static",
        "rotor": "fluxscale_solvers.baselines.rotor:Rotor",
        "rotor-vlb": "fluxscale_solvers.baselines.rotor_vlb:RotorVlb",
        "periodic-bvn": "fluxscale_solvers.baselines.periodic:PeriodicBvn",
        "periodic-solstice": "fluxscale_solvers.baselines.periodic:PeriodicSolstice",
        "periodic-eclipse": "fluxscale_solvers.baselines.periodic:PeriodicEclipse",
        "periodic-spectra": "fluxscale_solvers.baselines.periodic:PeriodicSpectra",
        "sunflow": "fluxscale_solvers.baselines.sunflow:Sunflow",
        "on-demand": "fluxscale_solvers.baselines.on_demand:OnDemand",
        "on-demand-ahead": "fluxscale_solvers.baselines.on_demand:OnDemandAhead",
    }
)
"""Solvers that ship with fluxscale; they need no entry point, so a checkout finds them too."""

COMPARISON = (
    "ideal-packet",
    "static",
    "rotor",
    "rotor-vlb",
    "periodic-bvn",
    "periodic-solstice",
    "periodic-eclipse",
    "periodic-spectra",
    "sunflow",
    "on-demand",
    "on-demand-ahead",
)
"""Schedulers to compare with, in the order of a comparison's rows."""


@functools.cache
def _table() -> dict[str, str]:
    added = {point.name: point.value for point in entry_points(group=GROUP)}
    return added | dict(BUILT_IN)


def solver_names() -> list[str]:
    """Names of all solvers that can be asked for (``auto`` is not a solver), in alphabetical order."""
    return sorted(_table())


def get_solver(name: str) -> Solver:
    """Build the solver of a name.

    Parameters
    ----------
    name
        As :func:`solver_names` lists it.

    Raises
    ------
    InputError
        If nobody knows the name.
    BackendError
        If the solver cannot be imported or built.
    """
    table = _table()
    if name not in table:
        raise InputError("unknown solver", field="solver", value=name, maybe=did_you_mean(name, [*table, "auto"]))
    module, _, attribute = table[name].partition(":")
    try:
        target = functools.reduce(getattr, attribute.split("."), importlib.import_module(module))
        return target()  # type: ignore[operator]
    except Exception as error:
        # A plug-in may fail in any way at all; whichever it is, the back end is not there.
        reason = f"{type(error).__name__}: {error}"
        raise BackendError(
            f"solver {name!r} cannot be loaded from {table[name]} ({reason}). Maybe: run fluxscale doctor."
        ) from error
