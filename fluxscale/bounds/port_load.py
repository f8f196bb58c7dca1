"""The port-load bound: a port is one machine, and its distinct peers force set-ups."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.bounds.bound import Bound
from fluxscale.bounds.ports import Ports, fixed_ports, shared_ports
from fluxscale.bounds.times import Times, times
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import CYCLIC, Instance
from fluxscale.kernels.port_load import best_port_load

Ints = npt.NDArray[Any]

BUDGET = 60_000_000
"""Leg visits that one call may spend (well under a second)."""


def port_load(instance: Instance) -> Bound:
    """One-machine bound of the most loaded port.

    Take a port and a set S of legs that must run on it: all with head >= a (longest path before their start) and tail
    >= b (longest path after their end). In any schedule

    * nothing of S runs before a, and the iteration ends at least b after the last of S has ended;
    * legs over different circuits do not overlap, and legs of one circuit and direction do not either. So the port
      carries S for at least the sum over its circuits of their legs' durations (duplex: of the busier direction, since
      the two directions run at once);
    * S needs c different circuits. The times at which the port carries different ones are apart by at least the delay
      d, and going through c circuits takes c - 1 changes, during which nothing of S runs.

    Hence a + busy time + (c - 1) d + b is a lower bound. It holds under the all-stop rule too, whose epochs are d
    apart. With a cyclic boundary and c >= 2: if the first and the last circuit differ, the change back adds d to the
    period, and if they are the same there were at least c changes. So busy time + c d bounds the period.

    Legs that may choose between planes count at their endpoint's k ports of one direction together, as on k machines: a
    + busy time / k + b, rounded up, without set-ups.

    Parameters
    ----------
    instance
        The instance.

    Returns
    -------
    Bound
        Named ``port-load``. Its proof gives plane, endpoint, side and the thresholds a and b that define S.

    Notes
    -----
    All thresholds of the legs' heads and tails are tried where the work allows (``BUDGET``); on long ports of large
    instances a spread of heads, and all tails for each. Fewer thresholds weaken the bound but never invalidate it.

    Raises
    ------
    InputError
        If precedence and device order form a cycle.
    """
    known = times(instance)
    counts = np.diff(derive(instance).leg_plane_indptr)
    bound = Bound("port-load", 0, {})
    if (counts == 1).any():
        bound = _fixed_planes(instance, known)
    if (counts > 1).any():
        bound = max(bound, _chosen_planes(instance, known), key=lambda b: b.ticks)
    return bound


def _fixed_planes(instance: Instance, known: Times) -> Bound:
    """Bound over the legs that have one plane."""
    ports = fixed_ports(instance)
    ticks, proof = load(instance, ports, known.head, known.ticks, known.tail)
    return Bound("port-load", ticks, proof)


def _chosen_planes(instance: Instance, known: Times) -> Bound:
    """Bound over each endpoint's planes taken together."""
    ticks, proof = load(instance, shared_ports(instance), known.head, known.ticks, known.tail)
    return Bound("port-load", ticks, proof)


def load(
    instance: Instance, ports: Ports, head: Ints, ticks: Ints, tail: Ints, budget: int = BUDGET
) -> tuple[int, dict[str, Any]]:
    """Largest one-machine bound over some ports, and the subset of legs that gives it.

    Parameters
    ----------
    instance, ports
        The instance and the ports to look at.
    head, ticks, tail
        int64 ``[n]``: least start, least duration, and least time after the end of each op.
    budget
        Leg visits to spend.

    Returns
    -------
    bound, proof
        Ticks (0 where there is nothing to carry), and where they come from.
    """
    value, port, least_head, least_tail, wraps = best_port_load(
        ports.indptr,
        ports.member,
        derive(instance).leg_op,
        instance.leg_tx,
        instance.leg_rx,
        head,
        ticks,
        tail,
        ports.delay,
        ports.machines,
        ports.both_ways,
        instance.boundary == CYCLIC,
        instance.n_endpoints,
        budget,
    )
    if port < 0:
        return 0, {}
    thresholds = {"least_head_ticks": int(least_head), "least_tail_ticks": int(least_tail), "wraps": bool(wraps)}
    return int(value), ports.describe(int(port)) | thresholds
