"""Parameters and FLOPs of a chunk of layers, and how layers are spread over chunks."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.workload.spec import HardwareSpec, ModelSpec

Ints = npt.NDArray[Any]


def spread_layers(layers: int, chunks: int) -> Ints:
    """Layers of every chunk, as even as can be; the last and the first get fewer where they do not divide.

    They hold the output head and the embedding beside their layers (Llama 3, arXiv 2407.21783, takes one layer off
    each of the two).
    Chunks beyond those two that must get fewer lie evenly between them.

    Returns
    -------
    int64 ``[chunks]``.
    """
    base, rest = divmod(layers, chunks)
    out = np.full(chunks, base + (rest > 0), dtype=np.int64)
    fewer = chunks - rest if rest else 0
    out[chunks - 1 : chunks] -= fewer >= 1
    out[:1] -= fewer >= 2
    if fewer > 2:
        between = (np.arange(1, fewer - 1) * (chunks - 1)) // (fewer - 1)
        out[between] -= 1
    return out


def attention_width(model: ModelSpec) -> int:
    """Width of all heads together."""
    return model.heads * (model.head_size or model.hidden // model.heads)


def attention_parameters(model: ModelSpec) -> int:
    """Query, key, value and output matrices of a layer, and a norm."""
    width = attention_width(model)
    kv_width = width // model.heads * (model.kv_heads or model.heads)
    return model.hidden * (2 * width + 2 * kv_width) + model.hidden


def mlp_parameters(model: ModelSpec) -> int:
    """Feed-forward matrices of a layer, and a norm."""
    return (3 if model.gated_mlp else 2) * model.hidden * model.ffn + model.hidden


def embedding_parameters(model: ModelSpec) -> int:
    """Input embedding; the output head is as large and kept apart."""
    return model.vocab * model.hidden


def chunk_parameters(model: ModelSpec, layers_of: Ints) -> list[int]:
    """Parameters of every chunk: its layers, the embedding on the first and the head on the last (exact integers)."""
    each = attention_parameters(model) + mlp_parameters(model)
    out = [int(n) * each for n in layers_of]
    out[0] += embedding_parameters(model)
    out[-1] += embedding_parameters(model)
    return out


def attention_flops(model: ModelSpec, sequences: int) -> int:
    """Forward FLOPs of a layer's attention: two per weight and token, and the causal half of scores and values."""
    tokens = sequences * model.seq_len
    return 2 * attention_parameters(model) * tokens + 2 * tokens * model.seq_len * attention_width(model)


def mlp_flops(model: ModelSpec, sequences: int) -> int:
    """Forward FLOPs of a layer's feed-forward block."""
    return 2 * mlp_parameters(model) * sequences * model.seq_len


def head_flops(model: ModelSpec, sequences: int) -> int:
    """Forward FLOPs of the output head."""
    return 2 * embedding_parameters(model) * sequences * model.seq_len


def chunk_flops(model: ModelSpec, layers_of: Ints, sequences: int) -> list[int]:
    """Forward FLOPs of every chunk for one micro-batch (the embedding look-up costs none)."""
    each = attention_flops(model, sequences) + mlp_flops(model, sequences)
    out = [int(n) * each for n in layers_of]
    out[-1] += head_flops(model, sequences)
    return out


def compute_ns(flops: int, hardware: HardwareSpec, tp: int) -> int:
    """Time of a compute op in ns, rounded up, at least 1: FLOPs / (tp x peak x efficiency)."""
    rate = tp * hardware.peak_flops * Fraction(str(hardware.efficiency))
    return max(1, -((-flops * 10**9) // rate))


def backward_factor(recompute: str) -> int:
    """FLOPs of a backward over those of its forward: 2, and one more where the forward is repeated."""
    return 3 if recompute == "full" else 2
