from __future__ import annotations

import job_case
import pytest
from pydantic import BaseModel

from fluxscale.errors import InputError, UnsupportedError
from fluxscale.workload.costs import costs
from fluxscale.workload.flops import chunk_parameters, spread_layers
from fluxscale.workload.spec import HardwareSpec, JobSpec, ModelSpec, ParallelSpec, TimingSpec, parse_job


def document(**changes):
    base = {"model": dict(job_case.MODEL), "parallel": {"micro_batches": 4}}
    for path, value in changes.items():
        section, key = path.split("__")
        base.setdefault(section, {})[key] = value
    return base


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"parallel__micro_batchs": 4},
            r"job.toml: parallel.micro_batchs: unknown key. Maybe: did you mean 'micro_batches'\?",
        ),
        ({"model__layer": 4}, "did you mean 'layers'"),
        ({"hardware__gpu": 4}, "hardware.gpu: unknown key.*Maybe: "),
        ({"parallel__tp": "2"}, "parallel.tp: should be a valid integer.*'2'"),
        ({"parallel__tp": True}, "parallel.tp"),
        ({"parallel__tp": 0}, "parallel.tp: should be greater than or equal to 1"),
        ({"parallel__dp": -3}, "got -3"),
        ({"parallel__pp": 2.5}, "parallel.pp"),
        ({"parallel__dp": 2**40}, "parallel.dp: should be less than"),
        ({"model__layers": float("nan")}, "model.layers"),
        ({"hardware__efficiency": float("nan")}, "hardware.efficiency"),
        ({"hardware__efficiency": float("inf")}, "hardware.efficiency"),
        ({"hardware__efficiency": 1.5}, "less than or equal to 1"),
        (
            {"hardware__peak_flops": "989TFLOPSS"},
            "job.toml: hardware.peak_flops: unknown unit 'TFLOPSS'.*Maybe: did you mean 'TFLOPS'",
        ),
        (
            {"hardware__intra_host_bandwidth": "450Gbps"},
            "hardware.intra_host_bandwidth: .*wrong unit 'Gbps'.*Maybe: .*bytes per second",
        ),
        ({"timing__forward": "-3ms", "timing__backward": "6ms"}, "timing.forward: a time must be zero or more"),
        (
            {"timing__forward": float("inf"), "timing__backward": "6ms"},
            "timing.forward: a time must be a finite number",
        ),
        ({"timing__forward": "0ms", "timing__backward": "6ms"}, "timing.forward: a time must be more than zero"),
        ({"timing__forward": "3ms"}, "timing.backward: is required"),
        ({"timing__transfer_size": "20Mb"}, "timing.transfer_size: .*bytes"),
        ({"parallel__schedule": "zb"}, "parallel.schedule: should be 'gpipe', '1f1b'"),
        ({"parallel__tp": 4, "parallel__dp": 2, "parallel__gpus": 16}, "tp 4 x pp 1 x dp 2 is 8, not 16"),
        ({"parallel__rank_order": "tp-dp-pp"}, "parallel.rank_order.*Maybe: .*tp-cp-ep-dp-pp"),
        ({"parallel__global_batch": 7, "parallel__dp": 2}, "global_batch: is no multiple"),
        (
            {"parallel__global_batch": 16, "parallel__dp": 2},
            r"global_batch: is not micro_batches x micro_batch_size x dp \(4 x 1 x 2 = 8\)",
        ),
        ({"parallel__virtual_stages": 2}, 'virtual_stages.*Maybe: schedule = "interleaved"'),
        ({"parallel__micro_batch_group": 2}, "micro_batch_group"),
        (
            {"parallel__pp": 3, "parallel__schedule": "interleaved", "parallel__micro_batches": 7},
            "job.toml: parallel.micro_batches.*Maybe: 6 or 9",
        ),
        ({"model__heads": 7}, "model.hidden: is no multiple of heads"),
        ({"model__kv_heads": 3}, "model.heads: is no multiple of kv_heads"),
        ({"parallel__tp": 3}, r"model.heads: does not divide over tp \(3\)"),
    ],
)
def test_refused(changes, expected):
    with pytest.raises(InputError, match=expected) as caught:
        parse_job(document(**changes), file="job.toml")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("job.toml: ")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"model__experts": 8}, "expert parallelism is not built yet"),
        ({"parallel__ep": 2}, "expert parallelism is not built yet"),
        ({"parallel__cp": 2}, "context parallelism is not built yet"),
        ({"parallel__tp": 8, "hardware__gpus_per_host": 4}, "several hosts of 4 GPUs"),
    ],
)
def test_not_built(changes, expected):
    with pytest.raises(UnsupportedError, match=expected):
        parse_job(document(**changes))


@pytest.mark.parametrize("bad", [[], "x", None, 3])
def test_not_a_table(bad):
    with pytest.raises(InputError, match="a job must be a table"):
        parse_job(bad)
    with pytest.raises(InputError, match="parallel"):
        parse_job({"parallel": bad})


def test_what_is_missing_is_named():
    with pytest.raises(InputError, match="parallel: is required"):
        parse_job({})
    with pytest.raises(InputError, match=r"micro_batches: is required.*global_batch"):
        parse_job({"model": job_case.MODEL, "parallel": {}})
    with pytest.raises(InputError, match=r"timing.forward: is required"):
        parse_job({"parallel": {"micro_batches": 1}})
    times = {"forward": 1, "backward": 2}
    with pytest.raises(InputError, match=r"timing.transfer: is required"):
        parse_job({"parallel": {"micro_batches": 1, "pp": 2}, "timing": times})
    with pytest.raises(InputError, match=r"timing.dp: is required"):
        parse_job({"parallel": {"micro_batches": 1, "dp": 2}, "timing": times})


def test_defaults_and_aliases():
    spec = parse_job(document(parallel__schedule="interleaved-1f1b", parallel__global_batch=8, parallel__dp=2))
    assert spec.parallel.order == "interleaved"
    assert spec.gpus == 2
    assert spec.hardware.peak_flops == 989 * 10**12
    assert (
        parse_job({"model": job_case.MODEL, "parallel": {"global_batch": 12, "dp": 3}}).parallel.micro_batch_count == 4
    )
    assert parse_job(document(parallel__micro_batches=3, parallel__pp=1) | {"fabric": "ocs.toml"}).fabric == "ocs.toml"


@pytest.mark.parametrize("section", [JobSpec, ModelSpec, ParallelSpec, HardwareSpec, TimingSpec])
def test_every_field_is_described(section: type[BaseModel]):
    for name, field in section.model_fields.items():
        assert field.description, name
    assert section.model_json_schema()["additionalProperties"] is False


@pytest.mark.parametrize("layers", [1, 2, 7, 8, 16, 31, 126, 127, 128])
@pytest.mark.parametrize("chunks", [1, 2, 3, 8, 16, 128])
def test_layers_are_spread_evenly(layers, chunks):
    spread = spread_layers(layers, chunks)
    assert spread.sum() == layers
    assert spread.min() >= 0
    assert spread.max() - spread.min() <= 1
    if layers % chunks:
        assert spread[-1] == spread.min()
        if chunks - layers % chunks >= 2:
            assert spread[0] == spread.min()


def test_llama_parameters():
    model = ModelSpec(layers=126, hidden=16384, ffn=53248, heads=128, kv_heads=8, vocab=128256, seq_len=8192)
    total = sum(chunk_parameters(model, spread_layers(126, 128)))
    assert abs(total - 405.8e9) < 0.2e9


def test_backward_times():
    plain, full = (costs(job_case.job(pp=2, recompute=r)) for r in ("none", "full"))
    assert (abs(plain.backward_ns - 2 * plain.forward_ns) <= 2).all()
    assert (abs(full.backward_ns - 3 * plain.forward_ns) <= 3).all()
    assert (costs(job_case.job(dp=2)).optimizer_ns * 2 >= costs(job_case.job()).optimizer_ns).all()
