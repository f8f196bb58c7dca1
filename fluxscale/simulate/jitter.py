"""Jitter: durations made longer by random factors that depend on the seed and the op's number only."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.seeds import child_seed

Ints = npt.NDArray[Any]

_STEP = np.uint64(0x9E3779B97F4A7C15)


def uniform(seed: int, count: int) -> npt.NDArray[Any]:
    """Draw ``count`` numbers from [0, 1), the i-th a function of seed and i alone.

    SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) with the op's number as its counter.

    Parameters
    ----------
    seed
        Root seed.
    count
        How many.
    """
    state = np.uint64(child_seed(seed, "replay-jitter")) + _STEP * np.arange(1, count + 1, dtype=np.uint64)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    return (state >> np.uint64(11)).astype(np.float64) * np.float64(2.0**-53)


def jittered(duration_ticks: Ints, jitter: float, seed: int) -> Ints:
    """Stretch each duration by a factor drawn from [1, 1 + jitter], rounded up to whole ticks.

    Parameters
    ----------
    duration_ticks
        int64 ``[n]``.
    jitter
        Largest relative extra time, 0 or more.
    seed
        Root seed.
    """
    if jitter == 0:
        return duration_ticks
    extra = np.ceil(duration_ticks * (jitter * uniform(seed, len(duration_ticks))))
    return duration_ticks + extra.astype(np.int64)
