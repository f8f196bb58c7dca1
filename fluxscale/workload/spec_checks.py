"""What must hold between the fields of a job; each check says what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fluxscale.errors import InputError, UnsupportedError
from fluxscale.workload.pipeline import group_size

if TYPE_CHECKING:
    from fluxscale.workload.spec import JobSpec

AXES = ("tp", "cp", "ep", "dp", "pp")
"""Axes of the rank order."""


def check_spec(spec: JobSpec, *, file: object = None) -> None:
    """Refuse a job whose fields contradict each other or ask for what is not built.

    Raises
    ------
    InputError, UnsupportedError
        With the field, its value and a remedy.
    """
    _check_built(spec, file)
    _check_degrees(spec, file)
    _check_batch(spec, file)
    _check_order(spec, file)
    _check_model(spec, file)
    _check_timing(spec, file)


def _check_built(spec: JobSpec, file: object) -> None:
    p, model = spec.parallel, spec.model
    for value, field in ((p.ep, "parallel.ep"), (model.experts if model else 1, "model.experts")):
        if value > 1:
            raise UnsupportedError(
                "expert parallelism is not built yet", file=file, field=field, value=value, maybe="set it to 1."
            )
    if p.cp > 1:
        raise UnsupportedError(
            "context parallelism is not built yet", file=file, field="parallel.cp", value=p.cp, maybe="set it to 1."
        )
    per_host = spec.hardware.gpus_per_host
    if 1 < per_host < p.tp:
        raise UnsupportedError(
            f"a tensor-parallel group over several hosts of {per_host} GPUs is not built yet",
            file=file,
            field="parallel.tp",
            value=p.tp,
            maybe=f"tp of at most {per_host}, or gpus_per_host = 1.",
        )
    if spec.steps_cross_switches and (p.pp > 1 or p.virtual_stages > 1):
        raise UnsupportedError(
            "pipeline stages together with tensor parallelism across hosts of one GPU are not built yet",
            file=file,
            field="parallel.pp",
            value=p.pp,
            maybe="pp = 1 and virtual_stages = 1, or hosts that hold a tensor-parallel group.",
        )


def _check_degrees(spec: JobSpec, file: object) -> None:
    p = spec.parallel
    if p.gpus is not None and p.gpus != spec.gpus:
        raise InputError(
            f"the degrees do not multiply to the GPU count: tp {p.tp} x pp {p.pp} x dp {p.dp} is {spec.gpus}, "
            f"not {p.gpus}",
            file=file,
            field="parallel.gpus",
            value=p.gpus,
            maybe="change a degree, or leave gpus out.",
        )
    if sorted(p.rank_order.split("-")) != sorted(AXES):
        raise InputError(
            "is not an order of the five axes",
            file=file,
            field="parallel.rank_order",
            value=p.rank_order,
            maybe='"tp-cp-ep-dp-pp".',
        )


def _check_batch(spec: JobSpec, file: object) -> None:
    p = spec.parallel
    if p.micro_batches is None and p.global_batch is None:
        raise InputError(
            "is required but absent", file=file, field="parallel.micro_batches", maybe="give it or global_batch."
        )
    if p.global_batch is None:
        return
    each = p.micro_batch_size * p.dp
    if p.global_batch % each:
        raise InputError(
            f"is no multiple of micro_batch_size x dp ({p.micro_batch_size} x {p.dp} = {each})",
            file=file,
            field="parallel.global_batch",
            value=p.global_batch,
            maybe="change the batch or the replicas.",
        )
    if p.micro_batches is not None and p.micro_batches * each != p.global_batch:
        raise InputError(
            f"is not micro_batches x micro_batch_size x dp "
            f"({p.micro_batches} x {p.micro_batch_size} x {p.dp} = {p.micro_batches * each})",
            file=file,
            field="parallel.global_batch",
            value=p.global_batch,
            maybe="leave one of the two out.",
        )


def _check_order(spec: JobSpec, file: object) -> None:
    p = spec.parallel
    if p.order != "interleaved":
        if p.virtual_stages > 1:
            raise InputError(
                f"the order {p.order} runs one chunk a stage",
                file=file,
                field="parallel.virtual_stages",
                value=p.virtual_stages,
                maybe='schedule = "interleaved".',
            )
        if p.micro_batch_group is not None:
            raise InputError(
                f"means nothing to the order {p.order}",
                file=file,
                field="parallel.micro_batch_group",
                value=p.micro_batch_group,
                maybe='schedule = "interleaved".',
            )
        return
    group_size(p.pp, p.micro_batch_count, p.micro_batch_group, file=file)


def _check_model(spec: JobSpec, file: object) -> None:
    model, tp = spec.model, spec.parallel.tp
    if model is None:
        return
    kv_heads = model.kv_heads or model.heads
    for wrong, message, field, value in (
        (
            model.head_size is None and model.hidden % model.heads,
            f"is no multiple of heads ({model.heads})",
            "hidden",
            model.hidden,
        ),
        (model.heads % kv_heads, f"is no multiple of kv_heads ({kv_heads})", "heads", model.heads),
        (model.heads % tp, f"does not divide over tp ({tp})", "heads", model.heads),
    ):
        if wrong:
            raise InputError(message, file=file, field=f"model.{field}", value=value)


def _check_timing(spec: JobSpec, file: object) -> None:
    timing, p = spec.timing, spec.parallel
    for key in ("forward", "backward"):
        value = getattr(timing, key)
        if value == 0:
            raise InputError("a time must be more than zero", file=file, field=f"timing.{key}", value=value)
        if value is None and (
            spec.model is None or getattr(timing, "backward" if key == "forward" else "forward") is not None
        ):
            raise InputError(
                "is required but absent",
                file=file,
                field=f"timing.{key}",
                maybe="give both times, or a [model] and neither.",
            )
    if spec.model is None and p.pp > 1 and timing.transfer is None and timing.transfer_size is None:
        raise InputError(
            "is required but absent",
            file=file,
            field="timing.transfer",
            maybe="give it or transfer_size, or a [model].",
        )
    if spec.model is None and p.dp > 1 and timing.dp is None and timing.dp_size is None:
        raise InputError(
            "is required but absent", file=file, field="timing.dp", maybe="give it or dp_size, or a [model]."
        )
    if spec.steps_cross_switches:
        given = [
            key
            for key in ("forward", "backward", "transfer", "transfer_size", "dp", "dp_size")
            if getattr(timing, key) is not None
        ]
        if given:
            raise UnsupportedError(
                "given times do not say how a layer divides between tensor-parallel collectives",
                file=file,
                field=f"timing.{given[0]}",
                maybe="leave it out and give a [model].",
            )
