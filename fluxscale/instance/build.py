"""From a job to an instance: DAG + fabric -> frozen integers."""

from __future__ import annotations

from fluxscale.errors import InputError
from fluxscale.fabric.planes import resolve_planes
from fluxscale.fabric.spec import FabricSpec
from fluxscale.instance.fits import check_fits
from fluxscale.instance.instance import BOUNDARY_NAMES, Instance
from fluxscale.instance.names import LABEL_COLUMNS, Names, OpLabels
from fluxscale.instance.stripe import stripe
from fluxscale.workload.dag import CommDag
from fluxscale.workload.job import Job


def build_instance(job: Job) -> Instance:
    """Build the instance of a job.

    Parameters
    ----------
    job
        What :func:`fluxscale.workload.load.load_job` returned.

    Raises
    ------
    InputError
        Something is wrong with the job or the fabric, or they do not fit together.
    """
    return build_dag_and_instance(job)[1]


def build_dag_and_instance(job: Job) -> tuple[CommDag, Instance]:
    """Build the instance of a job and keep the DAG, whose notes say what the instance no longer shows.

    Parameters and errors as of :func:`build_instance`.
    """
    try:
        dag = job.dag()
        return dag, assemble(dag, job.fabric)
    except InputError as error:
        raise error.located(job.origin or job.name) from None


def assemble(dag: CommDag, fabric: FabricSpec) -> Instance:
    """Put a DAG on a fabric; a tick is a nanosecond.

    Parameters
    ----------
    dag
        Ops of one iteration.
    fabric
        The fabric.

    Raises
    ------
    InputError
        A radix exceeded, unknown members, endpoints on no common OCS, gangs that fit no ports, times beyond 64 bits.
    """
    planes = resolve_planes(fabric, dag.endpoint_names, dag.endpoint_rail)
    labels = OpLabels(*(dag.labels[name] for name in LABEL_COLUMNS)) if dag.labels else None
    instance = Instance(
        op_kind=dag.op_kind,
        op_device=dag.op_device,
        op_bytes=dag.op_bytes,
        op_fixed_ticks=dag.op_fixed_ns,
        pred_indptr=dag.pred_indptr,
        pred_index=dag.pred_index,
        device_indptr=dag.device_indptr,
        device_ops=dag.device_ops,
        leg_indptr=dag.leg_indptr,
        leg_tx=dag.leg_tx,
        leg_rx=dag.leg_rx,
        plane_rate_bps=planes.rate_bps,
        plane_latency_ticks=planes.latency_ns,
        plane_delay_ticks=planes.delay_ns,
        plane_radix=planes.radix,
        plane_all_stop=planes.all_stop,
        plane_duplex=planes.duplex,
        attach=planes.attach,
        injection_rate_bps=planes.injection_rate_bps,
        boundary=BOUNDARY_NAMES.index(fabric.boundary),
        nic_buffer_bytes=fabric.nic_buffer,
        names=Names(dag.op_names, dag.device_names, dag.endpoint_names, planes.names, labels),
    )
    check_fits(instance)
    return stripe(instance) if fabric.striping == "equal" else instance
