from __future__ import annotations

import tomllib

import job_case
import pytest

from fluxscale.errors import InputError
from fluxscale.workload.build import build_dag, estimate_ops
from fluxscale.workload.dag import COMPUTE, GANG, TRANSFER
from fluxscale.workload.flops import spread_layers
from fluxscale.workload.presets import preset_names, preset_path, preset_text
from fluxscale.workload.spec import parse_job
from fluxscale.workload.traffic import traffic_summary

GPUS = {
    "llama3-405b-8k": 8192,
    "llama3-405b-16k": 16384,
    "gpt3-175b-1k": 1024,
    "nemotron-340b-1k": 1024,
    "megascale-175b-12k": 12288,
    "llama3-8b-8": 8,
    "llama3-8b-8-l16": 8,
}


def load(name):
    return parse_job(tomllib.loads(preset_text(name)), file=name)


@pytest.mark.parametrize("name", preset_names())
def test_preset_is_sound(name):
    spec = load(name)
    assert spec.name == name
    assert spec.source
    assert isinstance(spec.fabric, dict)
    assert spec.gpus == GPUS.get(name, spec.gpus)
    assert 0 < estimate_ops(spec) < 10_000_000
    assert preset_path(name).is_file()


def test_all_are_there():
    assert set(GPUS) <= set(preset_names())
    assert {"tiny-4x8", "tiny-2x2"} <= set(preset_names())


def test_unknown_preset():
    with pytest.raises(InputError, match=r"no preset 'llama3-405b-16'.*did you mean 'llama3-405b-16k'"):
        preset_text("llama3-405b-16")
    with pytest.raises(InputError):
        preset_text("../spec")


def test_tiny_is_the_measured_case():
    dag = build_dag(load("tiny-4x8"))
    assert (dag.op_kind == COMPUTE).sum() == 64
    assert (dag.op_kind == TRANSFER).sum() == 48
    assert GANG not in dag.op_kind
    assert set(dag.op_bytes[dag.op_kind == TRANSFER].tolist()) == {20_000_000}
    assert job_case.ideal_ns(dag, 400 * 10**9) == 105_400_000


def test_llama_layers_are_spread_as_the_paper_says():
    spread = spread_layers(126, 128)
    assert spread[0] == spread[-1] == 0
    assert (spread[1:-1] == 1).all()


@pytest.mark.parametrize(("name", "seconds"), [("nemotron-340b-1k", 4.73), ("gpt3-175b-1k", 8.453)])
def test_ideal_step_is_near_the_published_one(name, seconds):
    spec = load(name)
    # One replica shows the same pipeline; the data-parallel part is the difference.
    alone = spec.model_copy(
        update={
            "parallel": spec.parallel.model_copy(
                update={"dp": 1, "gpus": None, "global_batch": None, "micro_batches": spec.parallel.micro_batch_count}
            )
        }
    )
    step = job_case.ideal_ns(build_dag(alone), 400 * 10**9) / 1e9
    assert 0.75 * seconds < step < seconds


def test_published_data_parallel_sizes():
    """Derived from the published settings: 12.5 GB of gradients a GPU for Llama 3, 19.9 GB for Nemotron."""
    for name, scatter, gather in (("llama3-405b-8k", 12.5e9, 6.25e9), ("nemotron-340b-1k", 19.9e9, 9.95e9)):
        sent = traffic_summary(load(name))
        assert sent["dp_nvlink"] == 0
        assert abs(sent["dp_ocs"] / (scatter + gather) - 1) < 0.07
    two = traffic_summary(load("gpt3-175b-1k"))
    assert abs((two["dp_ocs"] + two["dp_nvlink"]) / 31.8e9 - 1) < 0.07
    assert 0.4 < two["dp_ocs"] / (two["dp_ocs"] + two["dp_nvlink"]) < 0.6


def test_paper_case_crosses_the_switches():
    spec = load("llama3-8b-8")
    dag = build_dag(spec, duplex=True, planes_per_endpoint=2)
    assert len(dag.endpoint_rail) == 8
    assert set(dag.op_kind.tolist()) == {COMPUTE, TRANSFER}
    assert traffic_summary(spec)["tp_nvlink"] == 0
    assert build_dag(load("llama3-8b-8-l16"), duplex=True, planes_per_endpoint=2).n_ops > dag.n_ops
