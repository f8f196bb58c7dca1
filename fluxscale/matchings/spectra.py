"""Spectra: a demand matrix played by several switches side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.kernels.matching.spectra import fewest
from fluxscale.matchings.decomposition import Decomposition
from fluxscale.matchings.eclipse import demand_edges, eclipse

Ints = npt.NDArray[Any]

Plane = dict[int, int]
"""Duration of each matching that a plane plays, by number."""


def spectra(demand: Ints, delay: int, n_planes: int) -> list[Decomposition]:
    """Take a demand matrix apart for parallel switches so that the last one is done as early as can be.

    K. Liang, L. Qiao, I. Keslassy, B. Lin: Scheduling Parallel Optical Circuit Switches for AI Training,
    arXiv 2603.07373, 2026. Three steps: decompose into few weighted matchings, assign them to the planes by load, and
    equalise the loads by splitting matchings. There is no public code.

    Where we had to choose:

    - Decompose: two ways, of which the one with the smaller makespan at the end stays. `fewest_matchings` gives the
      fewest possible; `eclipse` gives more, but shorter ones, which is better at a small delay. In both each matching
      is shortened afterwards to what is needed.
    - Assign: longest first, each to the plane that is least loaded, durations and delays counted.
    - Equalise: `equalise`.

    Parameters
    ----------
    demand
        Time that each sender needs to each receiver on one plane, int64 ``[N, N]``, not negative.
    delay
        Reconfiguration delay, in the same unit.
    n_planes
        Number of planes, all with the same ports and speed. What a pair gets on several at once counts on each.

    Returns
    -------
    planes
        For each plane what it plays, longest first; possibly nothing.
    """
    if n_planes < 1:
        raise InputError("at least one plane is needed", field="n_planes", value=n_planes)
    ways = []
    for parts in (fewest_matchings(demand), eclipse(demand, delay)):
        parts = shortened(parts, demand)
        planes = equalise(assign(parts.durations.tolist(), delay, n_planes), delay)
        ways.append((makespan(planes, delay), parts, planes))
    _, parts, planes = min(ways, key=lambda way: way[0])
    return [_decomposition(parts, plane) for plane in planes]


def fewest_matchings(demand: Ints) -> Decomposition:
    """Take a demand matrix apart into as many matchings as a port has partners, at most.

    Each holds all ports with the most partners left; of those matchings, one with the most demand.

    Parameters
    ----------
    demand
        As for `spectra`.
    """
    return Decomposition(*fewest(*demand_edges(demand, 0)))


def shortened(parts: Decomposition, demand: Ints) -> Decomposition:
    """Hold each matching no longer than is needed beside the others, the longest first; drop those not needed at all.

    Parameters
    ----------
    parts
        A decomposition that covers the demand.
    demand
        int64 ``[N, N]``.
    """
    spare = parts.service(len(demand)) - demand
    durations = parts.durations.copy()
    for at in np.argsort(-durations, kind="stable"):
        tx = np.flatnonzero(parts.matchings[at] >= 0)
        rx = parts.matchings[at, tx]
        less = min(int(durations[at]), int(spare[tx, rx].min())) if len(tx) else int(durations[at])
        durations[at] -= less
        spare[tx, rx] -= less
    kept = durations > 0
    return Decomposition(parts.matchings[kept], durations[kept])


def assign(durations: list[int], delay: int, n_planes: int) -> list[Plane]:
    """Give each matching, longest first, to the plane that is least loaded.

    Parameters
    ----------
    durations
        Of each matching.
    delay, n_planes
        As for `spectra`.
    """
    planes: list[Plane] = [{} for _ in range(n_planes)]
    loads = [0] * n_planes
    for part in sorted(range(len(durations)), key=lambda part: -durations[part]):
        plane = loads.index(min(loads))
        planes[plane][part] = durations[part]
        loads[plane] += durations[part] + delay
    return planes


def equalise(planes: list[Plane], delay: int) -> list[Plane]:
    """Move matchings, or parts of them, from the most to the least loaded plane while that lowers the makespan.

    A part costs the other plane a delay, unless that plays the same matching already; a whole matching takes its delay
    with it. Each time we take the move that leaves the two planes' higher load lowest, of equal ones that of the
    longest matching. Moves that did not lower the makespan in the end are taken back.

    Parameters
    ----------
    planes
        What each plane plays.
    delay
        As for `spectra`.
    """
    planes = [dict(plane) for plane in planes]
    best, best_makespan = [dict(plane) for plane in planes], makespan(planes, delay)
    while True:
        loads = [load(plane, delay) for plane in planes]
        high, low = loads.index(max(loads)), loads.index(min(loads))
        moves = []
        for part, duration in planes[high].items():
            extra = 0 if part in planes[low] else delay
            half = (loads[high] - loads[low] - extra) // 2
            if 0 < half < duration:
                moves.append((max(loads[high] - half, loads[low] + half + extra), -duration, part, half))
            moves.append(
                (max(loads[high] - duration - delay, loads[low] + duration + extra), -duration, part, duration)
            )
        if not moves or min(moves)[0] >= loads[high]:
            return best
        _, _, part, moved = min(moves)
        planes[low][part] = planes[low].get(part, 0) + moved
        planes[high][part] -= moved
        if planes[high][part] == 0:
            del planes[high][part]
        if makespan(planes, delay) < best_makespan:
            best, best_makespan = [dict(plane) for plane in planes], makespan(planes, delay)


def load(plane: Plane, delay: int) -> int:
    """Time that a plane takes.

    Parameters
    ----------
    plane, delay
        What it plays, and the delay of each matching.
    """
    return sum(plane.values()) + delay * len(plane)


def makespan(planes: list[Plane], delay: int) -> int:
    """Time until the last plane is done.

    Parameters
    ----------
    planes, delay
        As for `equalise`.
    """
    return max(load(plane, delay) for plane in planes)


def _decomposition(parts: Decomposition, plane: Plane) -> Decomposition:
    """Matchings of a plane, longest first."""
    order = sorted(plane, key=lambda part: (-plane[part], part))
    durations = np.array([plane[part] for part in order], dtype=np.int64)
    return Decomposition(parts.matchings[np.array(order, dtype=np.int64)], durations)
