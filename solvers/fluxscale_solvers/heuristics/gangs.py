"""Planes of gangs whose legs share ports: a small colouring, done before list scheduling.

A ring over n members on duplex planes cannot lie on one plane: neighbouring edges share an endpoint's only port, so
they must be on different planes (problem.md, "What is given"). Equal gangs get equal planes, so their circuits are
reused.
"""

from __future__ import annotations

import numpy as np

from fluxscale.errors import InfeasibleError
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance

MAX_STEPS = 1_000_000
"""Backtracking steps after which a gang counts as impossible to place; rings and exchanges need as many steps as
legs."""


def fixed_gang_planes(instance: Instance) -> np.ndarray | None:
    """Plane of each leg of every gang that needs its planes chosen together.

    Parameters
    ----------
    instance
        The problem.

    Returns
    -------
    int16 ``[L]`` or None
        Plane of each leg; -1: any of its planes. None where no gang needs it.

    Raises
    ------
    InfeasibleError
        Some gang's circuits cannot be up at the same time on any choice of planes.
    """
    derived = derive(instance)
    choice = np.diff(derived.leg_plane_indptr)
    gangs = np.flatnonzero(np.diff(instance.leg_indptr) > 1)
    if not len(gangs) or (choice.max(initial=1) <= 1 and not instance.plane_duplex.any()):
        return None
    fixed = np.full(instance.n_legs, -1, dtype=np.int16)
    known: dict[tuple[bytes, bytes], list[int]] = {}
    for gang in gangs:
        legs = np.arange(instance.leg_indptr[gang], instance.leg_indptr[gang + 1])
        key = (instance.leg_tx[legs].tobytes(), instance.leg_rx[legs].tobytes())
        if key not in known:
            known[key] = _colour(instance, legs)
        fixed[legs] = known[key]
    return fixed


def _colour(instance: Instance, legs: np.ndarray) -> list[int]:
    """Depth-first colouring of one gang's legs with planes; legs that share a port with another circuit differ."""
    derived = derive(instance)
    options = [
        derived.leg_planes[derived.leg_plane_indptr[leg] : derived.leg_plane_indptr[leg + 1]].tolist() for leg in legs
    ]
    held: dict[tuple[int, int, int], tuple[int, int]] = {}
    owned: list[list[tuple[int, int, int]]] = [[] for _ in legs]
    tried = [0] * len(legs)
    at = steps = 0
    while 0 <= at < len(legs):
        steps += 1
        for port in owned[at]:
            del held[port]
        owned[at] = []
        while tried[at] < len(options[at]):
            plane = options[at][tried[at]]
            tried[at] += 1
            ports, circuit = _ports(instance, int(legs[at]), plane)
            if all(held.get(port, circuit) == circuit for port in ports):
                owned[at] = [port for port in ports if port not in held]
                held.update(dict.fromkeys(owned[at], circuit))
                at += 1
                if at < len(legs):
                    tried[at] = 0
                break
        else:
            at -= 1
        if steps > MAX_STEPS:
            at = -1
    if at < 0:
        name = instance.names.op(int(derived.leg_op[legs[0]]))
        raise InfeasibleError(
            f"{name}: its {len(legs)} circuits cannot be up at once on the planes that its endpoints share. "
            "Maybe: one more plane, simplex ports, or collectives in pairs (halving-doubling, pairwise)."
        )
    return [options[i][tried[i] - 1] for i in range(len(legs))]


def _ports(instance: Instance, leg: int, plane: int) -> tuple[list[tuple[int, int, int]], tuple[int, int]]:
    tx, rx = int(instance.leg_tx[leg]), int(instance.leg_rx[leg])
    if instance.plane_duplex[plane]:
        return [(plane, tx, 0), (plane, rx, 0)], (min(tx, rx), max(tx, rx))
    return [(plane, tx, 0), (plane, rx, 1)], (tx, rx)
