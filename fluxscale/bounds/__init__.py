"""Lower bounds on the iteration time, each with a name and a proof that can be recomputed."""

from __future__ import annotations

from fluxscale.bounds.bound import Bound
from fluxscale.bounds.critical_path import critical_path
from fluxscale.bounds.port_load import port_load
from fluxscale.bounds.propagation import setup_path
from fluxscale.instance.instance import Instance

__all__ = ["Bound", "best_bound", "critical_path", "port_load", "setup_path"]


def best_bound(instance: Instance) -> Bound:
    """Return the largest of the known bounds; of equal ones the first of critical-path, port-load, setup-path.

    Parameters
    ----------
    instance
        The instance.

    Returns
    -------
    Bound
        With its name and proof.

    Raises
    ------
    InputError
        If precedence and device order form a cycle.
    """
    bounds = [critical_path(instance), port_load(instance)]
    setups = setup_path(instance)
    if setups is not None:
        bounds.append(setups)
    return max(bounds, key=lambda bound: bound.ticks)
