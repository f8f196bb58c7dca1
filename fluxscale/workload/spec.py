"""JobSpec: a training job as its TOML file describes it (model, parallelism, hardware, timing)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema

from fluxscale.errors import InputError
from fluxscale.spec_errors import as_input_error, reading
from fluxscale.units import parse_byte_rate, parse_flops, parse_size, parse_time
from fluxscale.workload.spec_checks import check_spec

MAX_COUNT = 2**31 - 1
Count = Annotated[int, Field(ge=1, le=MAX_COUNT)]
Unit = WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "number"}]})
TimeNs = Annotated[int, BeforeValidator(reading(parse_time)), Unit]
SizeBytes = Annotated[int, BeforeValidator(reading(parse_size)), Unit]
BytesPerSecond = Annotated[int, BeforeValidator(reading(parse_byte_rate)), Unit]
FlopPerSecond = Annotated[int, BeforeValidator(reading(parse_flops)), Unit]
Collective = Literal["auto", "ring", "halving-doubling", "pairwise"]


class Section(BaseModel):
    """Common behaviour of all sections: nothing unknown, nothing converted silently, nothing changed later."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, validate_default=True, protected_namespaces=()
    )


class ModelSpec(Section):
    """The transformer: what its compute times, parameters and message sizes follow from."""

    layers: Count = Field(description="Transformer layers.")
    hidden: Count = Field(description="Hidden size h.")
    ffn: Count = Field(description="Width of the feed-forward block.")
    heads: Count = Field(description="Attention heads.")
    kv_heads: Count | None = Field(
        default=None, description="Key/value heads (grouped-query attention); default: heads."
    )
    head_size: Count | None = Field(default=None, description="Size of one head; default: hidden / heads.")
    vocab: Count = Field(description="Vocabulary size, padded as it is trained.")
    seq_len: Count = Field(description="Tokens in a sequence.")
    gated_mlp: bool = Field(default=True, description="Three feed-forward matrices (SwiGLU) instead of two.")
    experts: Count = Field(default=1, description="Experts of a layer. Only 1 (dense) is built.")
    topk: Count = Field(default=1, description="Experts that a token visits.")
    moe_ffn: Count | None = Field(default=None, description="Width of an expert's feed-forward block.")


class ParallelSpec(Section):
    """How the model and the batch are cut over the GPUs."""

    tp: Count = Field(default=1, description="Tensor-parallel degree.")
    pp: Count = Field(default=1, description="Pipeline stages.")
    dp: Count = Field(default=1, description="Data-parallel replicas.")
    cp: Count = Field(default=1, description="Context-parallel degree. Only 1 is built.")
    ep: Count = Field(default=1, description="Expert-parallel degree. Only 1 is built.")
    gpus: Count | None = Field(default=None, description="GPUs of the job; the degrees must multiply to it.")
    virtual_stages: Count = Field(default=1, description="Model chunks on each stage (interleaved order).")
    micro_batches: Count | None = Field(default=None, description="Micro-batches of an iteration in each replica.")
    micro_batch_size: Count = Field(default=1, description="Sequences in a micro-batch.")
    global_batch: Count | None = Field(
        default=None, description="Sequences of an iteration: micro_batches x micro_batch_size x dp."
    )
    schedule: Literal["gpipe", "1f1b", "interleaved", "interleaved-1f1b"] = Field(
        default="1f1b", description="Pipeline order."
    )
    micro_batch_group: Count | None = Field(
        default=None,
        description="Micro-batches that pass a chunk before the next chunk's turn (interleaved); default: pp.",
    )
    rank_order: str = Field(
        default="tp-cp-ep-dp-pp",
        description="Order in which ranks are numbered, fastest first; decides who shares a host.",
    )
    sequence_parallel: bool = Field(
        default=True, description="Each tensor-parallel rank sends its slice of an activation."
    )
    recompute: Literal["none", "full"] = Field(default="none", description="Whether the backward repeats the forward.")
    grad_bytes: Count = Field(default=4, description="Bytes of a gradient in the data-parallel reduction.")
    param_bytes: Count = Field(default=2, description="Bytes of a parameter in the data-parallel all-gather.")
    zero1: bool = Field(
        default=True, description="Reduce-scatter and all-gather around the optimizer step (ZeRO-1); false: all-reduce."
    )
    buckets: Annotated[int, Field(ge=1, le=4096)] = Field(default=1, description="Gradient buckets of a chunk.")
    param_gather: Literal["after-step", "before-forward"] = Field(
        default="after-step", description="When parameters are gathered: at the end, or before a chunk's first forward."
    )
    dp_collective: Collective = Field(default="auto", description="Algorithm of the data-parallel collectives.")
    tp_collective: Collective = Field(
        default="auto", description="Algorithm of tensor-parallel collectives that cross the switches."
    )

    @property
    def order(self) -> Literal["gpipe", "1f1b", "interleaved"]:
        """Pipeline order without its aliases."""
        return "interleaved" if self.schedule == "interleaved-1f1b" else self.schedule

    @property
    def micro_batch_count(self) -> int:
        """Micro-batches of an iteration in each replica, given or from the global batch."""
        if self.micro_batches is not None:
            return self.micro_batches
        return (self.global_batch or 0) // (self.micro_batch_size * self.dp)


class HardwareSpec(Section):
    """Hosts and GPUs."""

    gpus_per_host: Annotated[int, Field(ge=1, le=1024)] = Field(
        default=8, description="GPUs of a host, joined by NVLink; GPU i of every host is on rail i."
    )
    peak_flops: FlopPerSecond = Field(default=989 * 10**12, description="Peak compute rate of a GPU.")
    efficiency: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.5, description="Share of the peak that compute ops reach."
    )
    intra_host_bandwidth: BytesPerSecond = Field(
        default=450 * 10**9, description="NVLink bandwidth of a GPU in each direction."
    )
    memory_bandwidth: BytesPerSecond = Field(
        default=3350 * 10**9, description="Memory bandwidth of a GPU; the optimizer step is estimated from it."
    )


class TimingSpec(Section):
    """Given times and sizes; each overrides what would follow from the model."""

    forward: TimeNs | None = Field(default=None, description="Forward of one micro-batch through one chunk.")
    backward: TimeNs | None = Field(default=None, description="Backward of one micro-batch through one chunk.")
    optimizer: TimeNs | None = Field(default=None, description="Optimizer step of a stage; 0: none.")
    transfer: TimeNs | None = Field(default=None, description="Duration of an activation or gradient transfer.")
    transfer_size: SizeBytes | None = Field(default=None, description="Bytes of an activation or gradient transfer.")
    dp: TimeNs | None = Field(default=None, description="Duration of the data-parallel collective of one bucket.")
    dp_size: SizeBytes | None = Field(default=None, description="Bytes through each circuit of that collective.")


class JobSpec(Section):
    """A training job: one iteration of it is what gets scheduled."""

    name: str = Field(default="job", description="Name of the job.")
    source: str = Field(default="", description="Where the numbers come from.")
    model: ModelSpec | None = Field(
        default=None, description="The transformer; may be absent when [timing] gives all that is needed."
    )
    parallel: ParallelSpec = Field(description="Parallelism.")
    hardware: HardwareSpec = Field(default_factory=HardwareSpec, description="Hosts and GPUs.")
    timing: TimingSpec = Field(default_factory=TimingSpec, description="Given times.")
    fabric_source: str | None = Field(
        default=None,
        max_length=500,
        description="Where the fabric comes from; without it a preset's fabric counts as assumed.",
    )
    fabric: dict[str, Any] | str | None = Field(default=None, description="The fabric, or the TOML file that holds it.")

    @property
    def gpus(self) -> int:
        """GPUs of the job."""
        p = self.parallel
        return p.tp * p.pp * p.dp * p.cp * p.ep

    @property
    def steps_cross_switches(self) -> bool:
        """Whether tensor-parallel collectives leave the host (one GPU a host), so that a device is one GPU."""
        return self.hardware.gpus_per_host == 1 and self.parallel.tp > 1


def parse_job(document: dict[str, Any], *, file: object = None) -> JobSpec:
    """Read a job from the tables of its TOML document.

    Parameters
    ----------
    document
        Tables ``model``, ``parallel``, ``hardware``, ``timing``, ``fabric`` and the keys ``name`` and ``source``.
    file
        Where the document came from, for error messages.

    Raises
    ------
    InputError
        One line: file, field, what is wrong, the value, what to do.
    UnsupportedError
        If the job asks for something that is not built.
    """
    if not isinstance(document, dict):
        raise InputError("a job must be a table", file=file, value=document)
    try:
        spec = JobSpec.model_validate(document)
    except ValidationError as error:
        raise as_input_error(error, JobSpec, file=file) from None
    check_spec(spec, file=file)
    return spec
