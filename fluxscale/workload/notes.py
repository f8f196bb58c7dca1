"""Sentences about a job that the output must state: how layers are spread, what meets the OCS, what is assumed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.units import format_size
from fluxscale.workload.costs import Costs
from fluxscale.workload.spec import JobSpec
from fluxscale.workload.traffic import traffic_summary

Ints = npt.NDArray[Any]

_TRAFFIC = {
    "pp_ocs": "pipeline over the OCS",
    "pp_nvlink": "pipeline over NVLink",
    "dp_ocs": "data parallel over the OCS",
    "dp_nvlink": "data parallel over NVLink",
    "tp_ocs": "tensor parallel over the OCS",
    "tp_nvlink": "tensor parallel over NVLink",
}


def job_notes(spec: JobSpec, costs: Costs, more: list[str]) -> tuple[str, ...]:
    """Collect the notes of a job: layers, traffic, what the builder chose (``more``), assumptions."""
    notes = [*_layers(spec, costs.layers), _traffic(spec), *more]
    if spec.model is not None and spec.timing.forward is None:
        h = spec.hardware
        notes.append(
            f"compute times: FLOPs / (tp x {h.peak_flops / 1e12:g} TFLOP/s x {h.efficiency:g}), backward "
            f"{3 if spec.parallel.recompute == 'full' else 2} x forward"
        )
    return tuple(notes)


def _layers(spec: JobSpec, layers: Ints) -> list[str]:
    if spec.model is None or (layers == layers[0]).all():
        return []
    counts, chunks = np.unique(layers, return_counts=True)
    spread = ", ".join(f"{n} chunk(s) of {k} layer(s)" for k, n in zip(counts.tolist(), chunks.tolist(), strict=True))
    ends = f"the first has {layers[0]} (beside the embedding) and the last {layers[-1]} (beside the output head)"
    return [f"layers: {spec.model.layers} do not divide over {len(layers)} chunks: {spread}; {ends}"]


def _traffic(spec: JobSpec) -> str:
    sent = traffic_summary(spec)
    parts = [f"{text} {format_size(sent[key])}" for key, text in _TRAFFIC.items() if sent[key]]
    return "traffic sent by a GPU in one iteration (mean): " + (", ".join(parts) or "none")
