"""Colours of ops and endpoints: those that nothing in the instance tells apart share one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.bounds.times import times
from fluxscale.instance.instance import Instance
from fluxscale.kernels.refine import refine, relabel, seed_colours
from fluxscale.seeds import child_seed

Ints = npt.NDArray[Any]

HEAD_FACTOR, TAIL_FACTOR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
"""Odd multipliers that spread times over 64 bits."""

ROUNDS = 64
"""Cap on the rounds of refinement. Too few rounds merge too much, which the check of the lifted plan finds."""


@dataclass(frozen=True, eq=False)
class Colours:
    """Classes of ops and endpoints.

    Attributes
    ----------
    op, endpoint
        int32 ``[n]`` and ``[E]``: colour of each.
    n_op, n_endpoint
        Number of colours.
    """

    op: Ints
    endpoint: Ints
    n_op: int
    n_endpoint: int


def colour(instance: Instance, limit: int) -> Colours | None:
    """Refine colours until their number is stable, or until there are more than ``limit`` op colours (None).

    Parameters
    ----------
    instance
        The instance.
    limit
        Most op colours that are still of use.

    Returns
    -------
    Colours or None
        Equal colours at the end mean: equal kind, bytes and durations, equal place on like devices, and like
        predecessors, successors and legs, as many of each, all the way through the instance.
    """
    graph = (instance.pred_indptr, instance.pred_index)
    legs = (instance.leg_indptr, instance.leg_tx, instance.leg_rx)
    devices = (instance.device_indptr, instance.device_ops)
    op_hash, endpoint_hash = seed_colours(
        instance.op_kind,
        instance.op_bytes,
        instance.op_fixed_ticks,
        *legs,
        *devices,
        instance.attach,
        _plane_seeds(instance),
    )
    # Longest paths before and after an op tell the links of a long chain (a collective's buckets, say) apart at once;
    # refinement alone
    # would need as many rounds as the chain is long.
    paths = times(instance)
    op_hash = op_hash ^ (paths.head.astype(np.uint64) * HEAD_FACTOR + paths.tail.astype(np.uint64) * TAIL_FACTOR)
    op, n_op = relabel(op_hash, limit)
    endpoint, n_endpoint = relabel(endpoint_hash, instance.n_endpoints)
    for _ in range(ROUNDS):
        if n_op < 0:
            return None
        before = n_op + n_endpoint
        op_hash, endpoint_hash = refine(op, endpoint, *graph, *legs, *devices)
        op, n_op = relabel(op_hash, limit)
        endpoint, n_endpoint = relabel(endpoint_hash, instance.n_endpoints)
        if n_op + n_endpoint == before:
            break
    return None if n_op < 0 else Colours(op, endpoint, n_op, n_endpoint)


def _plane_seeds(instance: Instance) -> Ints:
    """Hash of each plane's parameters, uint64 ``[P]``."""
    columns = zip(
        instance.plane_rate_bps.tolist(),
        instance.plane_latency_ticks.tolist(),
        instance.plane_delay_ticks.tolist(),
        instance.plane_radix.tolist(),
        instance.plane_all_stop.tolist(),
        instance.plane_duplex.tolist(),
        instance.injection_rate_bps.tolist(),
        strict=True,
    )
    return np.array([child_seed(0, "plane", *values) for values in columns], dtype=np.uint64)
