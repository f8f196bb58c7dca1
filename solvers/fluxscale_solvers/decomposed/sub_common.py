"""What the back ends of sub-solves share."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.decompose.subproblem import Subproblem
from fluxscale.instance.derived import derive
from fluxscale.milp.extract import Exact, squeeze
from fluxscale.milp.piece import Piece
from fluxscale_solvers.exact.common import Prepared

Ints = npt.NDArray[Any]


def prepared_of(sub: Subproblem, piece: Piece) -> Prepared:
    """The models' view of a subproblem; times are in the greatest unit that divides all of them."""
    derived, conflicts = derive(sub.instance), piece.conflicts
    times = np.concatenate(
        [derived.op_ticks.ravel(), sub.instance.plane_delay_ticks, conflicts.release, conflicts.behind]
    )
    unit = int(np.gcd.reduce(times, initial=0)) or 1
    lower = max(sub.floor_ticks // unit * unit, int((conflicts.heads + conflicts.tails).max(initial=0)))
    upper = piece.start.iteration_time_ticks
    return Prepared(conflicts, piece.start, upper, min(lower, upper), unit, time.monotonic())


def better(sub: Subproblem, piece: Piece, starts: Ints, planes: Ints, best: Exact) -> Exact:
    """Exact times of a back end's solution; the best known where it is worse or contradicts itself."""
    exact = squeeze(sub.instance, piece.conflicts, starts, planes)
    if exact is None or exact.iteration_time_ticks > best.iteration_time_ticks:
        return best
    return exact
