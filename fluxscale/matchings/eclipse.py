"""Eclipse: the demand that circuits serve in a window, by a greedy choice of matchings and durations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.kernels.matching import eclipse as kernel
from fluxscale.matchings.decomposition import Decomposition
from fluxscale.matchings.weight import by_column

Ints = npt.NDArray[Any]


class DemandEdges(NamedTuple):
    """Positive entries of a demand matrix.

    Attributes
    ----------
    indptr, columns, demand
        CSR by row, demand ascending within a row: int64 ``[N + 1]``, int32, int64.
    column_indptr, rows, place
        The same by column, and where each entry of a row is there.
    """

    indptr: Ints
    columns: Ints
    demand: Ints
    column_indptr: Ints
    rows: Ints
    place: Ints


def demand_edges(demand: Ints, delay: int) -> DemandEdges:
    """Check a demand matrix and a delay, and take the positive entries.

    Parameters
    ----------
    demand, delay
        As for `eclipse`.
    """
    demand = np.asarray(demand)
    if demand.ndim != 2 or demand.shape[0] != demand.shape[1] or demand.dtype.kind not in "iu":
        what = f"{demand.dtype}{list(demand.shape)}"
        raise InputError("a square matrix of integers is needed", field="demand", value=what)
    if delay < 0:
        raise InputError("a delay cannot be negative", field="delay", value=delay)
    if demand.size and demand.min() < 0:
        raise InputError("demand must not be negative", field="demand", value=int(demand.min()))
    n = len(demand)
    largest = int(demand.max()) if demand.size else 0
    if (largest + delay) * 4 * n >= 1 << 61 or sum(demand.sum(axis=1, dtype=np.float64)) >= 1 << 62:
        raise InputError("demand and delay too large for 64-bit sums", field="demand", maybe="use a coarser unit")
    row, column = np.nonzero(demand)
    value = demand[row, column].astype(np.int64)
    order = np.lexsort((value, row))
    indptr = np.searchsorted(row, np.arange(n + 1))
    columns = column[order].astype(np.int32)
    return DemandEdges(indptr, columns, value[order], *by_column(indptr, columns, n))


def eclipse(demand: Ints, delay: int, window: int | None = None) -> Decomposition:
    """Take a demand matrix apart by Eclipse: the largest demand served per time, again and again.

    S. Bojja Venkatakrishnan, M. Alizadeh, P. Viswanath: Costly Circuits, Submodular Schedules and Approximate
    Caratheodory Theorems, SIGMETRICS 2016. Each step takes the duration d and the matching that serve the most demand,
    the sum of min(d, what is left) over its pairs, for each unit of the time d + delay. What a set of matchings serves
    is submodular, so within a window this greedy choice serves nearly 1 - 1/e of the most that any schedule could, as
    long as a step is short against the window.

    Where we had to choose:

    - All distinct residuals are candidates for d, which is exact: for a given matching the quotient is monotone between
      two of them. The paper searches among them; we leave out those that a bound rules out, never the best one. Of
      equal quotients the longest d is taken.
    - Without a window the paper's loop goes on until all is served, and when one matching can serve all that is left,
      that is the last step.
    - No step passes the end of the window: d is at most what is left of it. A step after which no other fits is the
      matching that serves most until the end, so no time is left that could serve anything.

    Parameters
    ----------
    demand
        Time that each sender needs to each receiver, int64 ``[N, N]``, not negative.
    delay
        Reconfiguration delay, in the same unit.
    window
        Time for all durations and delays; None: as long as it takes. A window no longer than the delay gives nothing.

    Returns
    -------
    decomposition
        A pair is in a matching only if it has demand left.
    """
    if window is not None and window < 0:
        raise InputError("a window cannot be negative", field="window", value=window)
    edges = demand_edges(demand, delay)
    matchings, durations, _ = kernel.greedy(*edges, delay, kernel.NO_WINDOW if window is None else window)
    return Decomposition(matchings, durations)
