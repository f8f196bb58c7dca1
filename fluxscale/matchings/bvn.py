"""Birkhoff-von Neumann: a demand matrix as matchings whose durations sum up to its largest line sum."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from fluxscale.kernels.matching.birkhoff import birkhoff
from fluxscale.matchings.decomposition import Decomposition
from fluxscale.matchings.solstice import quick_stuff

Ints = npt.NDArray[Any]


def bvn(demand: Ints, *, bottleneck: bool = True) -> Decomposition:
    """Take a demand matrix apart into perfect matchings, each as long as its smallest entry.

    G. Birkhoff, Tres observaciones sobre el algebra lineal, 1946; as a schedule: C.-S. Chang, W.-J. Chen, H.-Y. Huang,
    On service guarantees for input-buffered crossbar switches, 1999. A matrix of unequal line sums is stuffed before
    (`quick_stuff`), so the durations never sum up to more than the largest line sum; there are at most as many
    matchings as entries in the stuffed matrix.

    Where we had to choose: the theorem takes any perfect matching, and which one decides how many there are, each of
    which costs a delay. By default each is a bottleneck matching, whose smallest entry is as large as can be: the rule
    of F. Dufosse and B. Ucar, Notes on Birkhoff-von Neumann decomposition of doubly stochastic matrices, 2016. It
    gives several times fewer matchings, so that this baseline is not weaker than it can be. Dummy demand is dropped as
    in `solstice`.

    Parameters
    ----------
    demand
        Time that each sender needs to each receiver, int64 ``[N, N]``.
    bottleneck
        False: any perfect matching, which is what Hopcroft and Karp's algorithm makes of the one before.
    """
    stuffed = quick_stuff(demand)
    return Decomposition(*birkhoff(*stuffed[:4], bottleneck))
