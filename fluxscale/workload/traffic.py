"""Bytes that a GPU sends in one iteration, by kind and by where they go."""

from __future__ import annotations

from fractions import Fraction

from fluxscale.workload.costs import ACTIVATION_BYTES, costs
from fluxscale.workload.parallelism import hops, layout, rings
from fluxscale.workload.spec import JobSpec


def traffic_summary(spec: JobSpec) -> dict[str, int]:
    """Mean bytes that a GPU sends in one iteration, rounded down.

    Returns
    -------
    ``pp_ocs``, ``pp_nvlink``, ``dp_ocs``, ``dp_nvlink``, ``tp_ocs``, ``tp_nvlink``. What [timing] gives as
    a duration only counts as 0 bytes.
    """
    pp_ocs, pp_nvlink = _pipeline(spec)
    dp_ocs, dp_nvlink = _data_parallel(spec)
    tp = _tensor(spec)
    tp_ocs, tp_nvlink = (tp, 0) if spec.steps_cross_switches else (0, tp)
    return {
        "pp_ocs": pp_ocs,
        "pp_nvlink": pp_nvlink,
        "dp_ocs": dp_ocs,
        "dp_nvlink": dp_nvlink,
        "tp_ocs": tp_ocs,
        "tp_nvlink": tp_nvlink,
    }


def _pipeline(spec: JobSpec) -> tuple[int, int]:
    p = spec.parallel
    if p.pp == 1:
        return 0, 0
    inside = hops(layout(spec), 1).inside
    # Every stage sends on v chunks in both directions, but the last chunk of the last stage sends nothing on.
    times = inside.sum(axis=0) * p.virtual_stages
    times[-1] -= inside[:, -1].sum()
    everything = p.dp * (p.pp * p.virtual_stages - 1)
    each = 2 * p.micro_batch_count * p.tp * costs(spec).slice_bytes
    local = int(times.sum())
    return (everything - local) * each // spec.gpus, local * each // spec.gpus


def _data_parallel(spec: JobSpec) -> tuple[int, int]:
    p = spec.parallel
    if p.dp == 1:
        return 0, 0
    cost = costs(spec)
    groups = rings(layout(spec))
    n, q = groups.hosts, groups.per_host
    passes = 2
    if cost.dp_bytes >= 0:
        return (0 if n == 1 else passes * cost.dp_bytes * p.virtual_stages * p.buckets), 0
    element = p.grad_bytes + p.param_bytes if p.zero1 else 2 * p.grad_bytes
    size = Fraction(int(cost.parameters.sum()), p.pp) * element
    return int(size / q * Fraction(n - 1, n)), int(size * Fraction(q - 1, q))


def _tensor(spec: JobSpec) -> int:
    """Two all-reduces a layer and direction (or reduce-scatter and all-gather): 2 (n-1)/n of the activation each."""
    p, model = spec.parallel, spec.model
    if p.tp == 1 or model is None:
        return 0
    size = p.micro_batch_size * model.seq_len * model.hidden * ACTIVATION_BYTES
    return int(Fraction(4 * model.layers * p.micro_batch_count, p.pp) * 2 * Fraction(p.tp - 1, p.tp) * size)
