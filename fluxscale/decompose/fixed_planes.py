"""An instance as the port kernels read it once every leg's plane is decided; also with time running backwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.derived import derive
from fluxscale.instance.instance import PRESET, Instance
from fluxscale.kernels.ports import Problem
from fluxscale.schedule.circuits import stopping_planes

Ints = npt.NDArray[Any]


def fixed_problem(instance: Instance, leg_plane: Ints, *, backwards: bool = False) -> Problem:
    """Arrays for the port kernels, in the instance's own numbering: each leg has its plane as the only option.

    Parameters
    ----------
    instance
        The problem.
    leg_plane
        int16 ``[L]``: plane of each leg.
    backwards
        Swap predecessors with successors, so that decoding an order from its end gives the longest path from each
        op's start to the end of the iteration. The dark time at the start of an iteration has no counterpart there.
    """
    derived = derive(instance)
    in_degree = np.diff(derived.succ_indptr if backwards else instance.pred_indptr)
    behind = derived.next_on_device if backwards else derived.prev_on_device
    base = leg_plane.astype(np.int64) * instance.n_endpoints
    return Problem(
        succ_indptr=instance.pred_indptr if backwards else derived.succ_indptr,
        succ_index=instance.pred_index if backwards else derived.succ_index,
        next_on_device=derived.prev_on_device if backwards else derived.next_on_device,
        in_degree=(in_degree + (behind >= 0)).astype(np.int32),
        op_ticks=derived.op_ticks,
        plane_class=derived.plane_class,
        leg_indptr=instance.leg_indptr,
        option_indptr=np.arange(instance.n_legs + 1, dtype=np.int64),
        option_plane=np.ascontiguousarray(leg_plane, dtype=np.int16),
        option_tx_lane=((base + instance.leg_tx) * 2).astype(np.int32),
        option_rx_lane=((base + instance.leg_rx) * 2 + 1).astype(np.int32),
        delay=instance.plane_delay_ticks,
        all_stop=stopping_planes(instance),
        duplex=instance.plane_duplex,
        boundary=PRESET if backwards else instance.boundary,
    )
