"""Windows: a program of circuits as each pair sees it, when its circuit is up and how fast it then is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import UnsupportedError
from fluxscale.kernels.fluid.windows import cycle_units, merge_rows

Ints = npt.NDArray[Any]

MOST_PLANES = 62


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows of every pair, relative to the origin of the program.

    Attributes
    ----------
    indptr
        int64 ``[Q+1]``: CSR by pair.
    begin, end, speed, planes, latency, mask
        int64 ``[W]``: window ``[begin, end)``, units a tick over all planes that are up in it, their number, their
        largest latency, and one bit for each.
    cycle
        int64 ``[Q]``: period of a pair's windows, 0: they come once.
    units, ticks
        int64 ``[Q]``: what a pair can send in all its windows once, in units and in ticks times planes.
    """

    indptr: Ints
    begin: Ints
    end: Ints
    speed: Ints
    planes: Ints
    latency: Ints
    mask: Ints
    cycle: Ints
    units: Ints
    ticks: Ints


def make_windows(
    n_pairs: int,
    row_pair: Ints,
    row_plane: Ints,
    row_from_ticks: Ints,
    row_to_ticks: Ints,
    plane_speed: Ints,
    plane_latency_ticks: Ints,
    cycle_ticks: Ints | int = 0,
) -> Windows:
    """Merge circuit rows into windows.

    Parameters
    ----------
    n_pairs
        Number of pairs Q.
    row_pair, row_plane, row_from_ticks, row_to_ticks
        Rows in any order: the circuit of a pair is up on a plane in ``[from, to)``. Rows of one pair on one plane do
        not overlap; with a cycle they lie within ``[0, cycle)``.
    plane_speed, plane_latency_ticks
        int64 ``[P]``.
    cycle_ticks
        int64 ``[Q]`` or one for all; 0: the rows come once.

    Raises
    ------
    UnsupportedError
        If there are more than 62 planes.
    """
    if len(plane_speed) > MOST_PLANES:
        raise UnsupportedError("fluid schedulers know at most 62 planes", field="fabric.planes", value=len(plane_speed))
    order = np.lexsort((row_from_ticks, row_pair))
    indptr = np.zeros(n_pairs + 1, dtype=np.int64)
    np.cumsum(np.bincount(row_pair, minlength=n_pairs), out=indptr[1:])
    most = 2 * len(order)
    win_indptr = np.zeros(n_pairs + 1, dtype=np.int64)
    columns = [np.empty(most, dtype=np.int64) for _ in range(6)]
    count = merge_rows(
        indptr,
        np.asarray(row_from_ticks, dtype=np.int64)[order],
        np.asarray(row_to_ticks, dtype=np.int64)[order],
        np.asarray(row_plane, dtype=np.int64)[order],
        plane_speed,
        plane_latency_ticks,
        win_indptr,
        *columns,
    )
    begin, end, speed, planes, latency, mask = (column[:count] for column in columns)
    units, ticks = np.zeros(n_pairs, dtype=np.int64), np.zeros(n_pairs, dtype=np.int64)
    cycle_units(win_indptr, begin, end, speed, planes, units, ticks)
    cycle = np.broadcast_to(np.asarray(cycle_ticks, dtype=np.int64), (n_pairs,)).copy()
    return Windows(win_indptr, begin, end, speed, planes, latency, mask, cycle, units, ticks)
