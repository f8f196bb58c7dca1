"""Whether a solver can honour an instance and settings: asked before it starts, so nothing is silently ignored."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluxscale.errors import InputError, UnsupportedError, did_you_mean
from fluxscale.instance.instance import CYCLIC, GANG, Instance
from fluxscale.solving.protocol import Solver


def missing(solver: Solver, instance: Instance) -> list[str]:
    """List what the instance asks for and the solver cannot do, in words.

    Parameters
    ----------
    solver
        The solver.
    instance
        The instance.
    """
    can = solver.capabilities
    asked = {
        "all-stop planes": (can.all_stop, bool(instance.plane_all_stop.any())),
        "duplex planes": (can.duplex, bool(instance.plane_duplex.any())),
        "more than one plane": (can.planes, instance.n_planes > 1),
        "gangs": (can.gangs, bool(np.any(instance.op_kind == GANG))),
        "a cyclic boundary": (can.cyclic, instance.boundary == CYCLIC),
    }
    return [feature for feature, (honoured, wanted) in asked.items() if wanted and not honoured]


def require(solver: Solver, instance: Instance) -> None:
    """Refuse an instance that the solver cannot honour.

    Raises
    ------
    UnsupportedError
        Naming every feature that is missing.
    """
    features = missing(solver, instance)
    if features:
        raise UnsupportedError(
            f"cannot honour {', '.join(features)}",
            field=f"solver {solver.name}",
            maybe="use another solver (--solver auto).",
        )


def require_settings(solvers: list[Solver], options: dict[str, Any], work_limit: int | None) -> None:
    """Refuse options and a work limit that none of the solvers knows.

    Raises
    ------
    InputError
        For an unknown option, with the nearest known one.
    UnsupportedError
        For a work limit that nobody counts.
    """
    known = {option for solver in solvers for option in solver.capabilities.options}
    names = " and ".join(solver.name for solver in solvers)
    for key, value in options.items():
        if key not in known:
            maybe = did_you_mean(key, known) if known else f"{names} has no options."
            raise InputError(f"{names} has no option {key!r}", field=f"solver.{key}", value=value, maybe=maybe)
    if work_limit is not None and all(solver.capabilities.work_limit_unit is None for solver in solvers):
        raise UnsupportedError(
            f"{names} counts no work", field="work_limit", value=work_limit, maybe="use a time limit."
        )


def require_executor(solvers: list[Solver], executor: str) -> None:
    """Refuse an executor that none of the solvers can use.

    Raises
    ------
    UnsupportedError
        Naming the executors that one of them can use.
    """
    known = {name for solver in solvers for name in solver.capabilities.executors}
    if executor not in known:
        names = " and ".join(solver.name for solver in solvers)
        raise UnsupportedError(
            f"{names} has no sub-solves to run there", field="executor", value=executor,
            maybe=f"--executor {' or '.join(sorted(known))}, or --solver stage-window.",
        )  # fmt: skip


def refuse_limit(instance: Instance, name: str) -> None:
    """Refuse a buffer limit for a scheduler that is there to be compared with.

    Raises
    ------
    UnsupportedError
        If the instance has one.
    """
    if instance.nic_buffer_bytes:
        raise UnsupportedError(
            f"{name} takes no account of a buffer limit, it is there to be compared with",
            field="nic_buffer",
            value=instance.nic_buffer_bytes,
            maybe="leave the limit out.",
        )


def options_of(solver: Solver, options: dict[str, Any]) -> dict[str, Any]:
    """Pick the options that belong to one solver."""
    return {key: value for key, value in options.items() if key in solver.capabilities.options}
