"""Job -> DAG of one training iteration."""

from __future__ import annotations

from fluxscale.errors import InputError
from fluxscale.workload.build_hosts import build_hosts
from fluxscale.workload.build_steps import build_steps, phases
from fluxscale.workload.collectives import as_gangs_size, choose, stepwise_size
from fluxscale.workload.dag import CommDag
from fluxscale.workload.parallelism import layout, rings
from fluxscale.workload.spec import JobSpec
from fluxscale.workload.spec_checks import check_spec

MAX_OPS = 100_000_000
"""Most ops (or circuits of gangs) that a DAG may have; more is refused before anything is allocated."""

MAX_GPUS = 10_000_000
"""Most GPUs that a DAG may have."""


def build_dag(spec: JobSpec, *, duplex: bool = False, planes_per_endpoint: int = 1) -> CommDag:
    """Build the DAG of one iteration by array operations; op order is the same on every run and machine.

    Parameters
    ----------
    spec
        The job.
    duplex
        Whether the ports of the fabric are duplex; it decides which collective algorithms fit.
    planes_per_endpoint
        Planes on which an endpoint has a port.

    Raises
    ------
    InputError
        If the job contradicts itself or would have more than ``MAX_OPS`` ops.
    UnsupportedError
        If the job asks for what is not built, or a collective does not fit the ports.
    """
    check_spec(spec)
    _refuse_huge(estimate_ops(spec))
    if spec.gpus > MAX_GPUS:
        raise InputError(
            f"the job has {spec.gpus} GPUs, more than {MAX_GPUS}", field="parallel", maybe="fewer replicas."
        )
    _refuse_huge(_circuits(spec, duplex, planes_per_endpoint))
    if spec.steps_cross_switches and spec.model is not None:
        return build_steps(spec, spec.model, duplex=duplex, planes=planes_per_endpoint)
    return build_hosts(spec, duplex=duplex, planes=planes_per_endpoint)


def estimate_ops(spec: JobSpec) -> int:
    """Count the ops that a job would have, without building it: within a few percent, and cheap whatever the size.

    Collectives count as rings; a pipeline counts as if every message met the OCS.
    """
    p, m = spec.parallel, spec.parallel.micro_batch_count
    if spec.steps_cross_switches and spec.model is not None:
        n = phases(spec.model.layers)
        steps = stepwise_size("all-reduce", "ring", p.tp)
        gradients = 2 * p.tp * p.buckets * stepwise_size("reduce-scatter", "ring", p.dp) if p.dp > 1 else 0
        return p.dp * m * 2 * (p.tp * n + (n - 1) * steps) + gradients + p.dp * p.tp
    virtual = p.pp * p.virtual_stages
    messages = p.tp * (virtual - 1) if p.pp > 1 else 0
    gangs = 2 * virtual * p.buckets * p.tp if p.dp > 1 else 0
    return 2 * p.dp * m * (virtual + messages) + gangs + p.dp * p.pp


def _circuits(spec: JobSpec, duplex: bool, planes: int) -> int:
    """Circuits of all data-parallel collectives (a pairwise exchange holds n-1 sets of n)."""
    p = spec.parallel
    if p.dp == 1:
        return 0
    field = "parallel.dp_collective"
    if spec.steps_cross_switches:
        algorithm = choose(p.dp_collective, p.dp, duplex=duplex, planes=planes, field=field)
        return 2 * p.tp * p.buckets * stepwise_size("reduce-scatter", algorithm, p.dp)
    groups = rings(layout(spec))
    algorithm = choose(p.dp_collective, groups.hosts, duplex=duplex, planes=planes, field=field)
    return 2 * p.pp * p.virtual_stages * p.buckets * groups.members.shape[1] * as_gangs_size(algorithm, groups.hosts)


def _refuse_huge(count: int) -> None:
    if count > MAX_OPS:
        raise InputError(
            f"the job has about {count} ops, more than {MAX_OPS}",
            field="parallel",
            maybe="fewer micro-batches, virtual stages or replicas.",
        )
