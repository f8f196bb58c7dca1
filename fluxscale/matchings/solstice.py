"""Solstice: a skewed demand matrix as a few long matchings, by stuffing and by thresholds that are halved."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.kernels.matching import quick_stuff as kernel
from fluxscale.kernels.matching.solstice import big_slices
from fluxscale.matchings.decomposition import Decomposition

Ints = npt.NDArray[Any]


class Stuffed(NamedTuple):
    """A demand matrix with dummy demand: CSR by row.

    Attributes
    ----------
    indptr, columns
        int64 ``[N + 1]`` and int32: columns of each row's entries.
    real, stuffed
        int64: demand of each entry (0: all of it is dummy), and demand and dummy together.
    line_sum
        Sum of the stuffed entries of every row and every column: the largest line sum of the demand.
    """

    indptr: Ints
    columns: Ints
    real: Ints
    stuffed: Ints
    line_sum: int


def quick_stuff(demand: Ints) -> Stuffed:
    """Add dummy demand until all rows and columns have the same sum (QuickStuff, algorithm 2 of the Solstice paper).

    Entries that have demand are raised first, then empty ones, so that few entries are added. The paper leaves the
    order within either round open; here it is row by row.

    Parameters
    ----------
    demand
        int64 ``[N, N]``, not negative.
    """
    demand = np.asarray(demand)
    if demand.ndim != 2 or demand.shape[0] != demand.shape[1] or demand.dtype.kind not in "iu":
        what = f"{demand.dtype}{list(demand.shape)}"
        raise InputError("a square matrix of integers is needed", field="demand", value=what)
    line_sum, indptr, columns, real, stuffed = kernel.quick_stuff(np.ascontiguousarray(demand, dtype=np.int64))
    if line_sum == kernel.NEGATIVE:
        raise InputError("demand must not be negative", field="demand", value=int(demand.min()))
    if line_sum == kernel.TOO_LARGE:
        raise InputError("demand too large for 64-bit sums", field="demand", maybe="use a coarser unit of time")
    return Stuffed(indptr, columns, real, stuffed, int(line_sum))


def solstice(demand: Ints, delay: int) -> Decomposition:
    """Take a demand matrix apart by Solstice, without a packet network: all demand goes over circuits.

    H. Liu, M. K. Mukerjee, C. Li, N. Feltman, G. Papen, S. Savage, S. Seshan, G. M. Voelker, D. G. Andersen,
    M. Kaminsky, G. Porter, A. C. Snoeren: Scheduling Techniques for Hybrid Circuit/Packet Networks, CoNEXT 2015. Stuff
    the matrix; with a threshold, at first the largest power of two not above the largest entry, take perfect matchings
    of the entries that are at least the threshold, each as long as its smallest entry; halve the threshold when there
    is none.

    Where we had to choose:

    - The paper stops when the packet network can carry the rest within the time of the circuits; there is none here, so
      we stop when all is served. The delay has no other part in the paper's loop, so it changes nothing here.
    - Which perfect matching (the paper: any): Hopcroft and Karp's from what is left of the one before.
    - An entry sends its demand before its dummy. A matching that has nothing left to send is dropped, a matching is
      held no longer than it sends, and a pair without any demand is not connected. That only shortens the paper's
      result; a pair that has had its demand keeps its circuits, so that late or further data may use them as in the
      paper.

    Parameters
    ----------
    demand
        Time that each sender needs to each receiver, int64 ``[N, N]``.
    delay
        Reconfiguration delay, in the same unit.
    """
    if delay < 0:
        raise InputError("a delay cannot be negative", field="delay", value=delay)
    return Decomposition(*big_slices(*quick_stuff(demand)[:4]))
