"""Sunflow on one all-to-all: completion time over the circuit bound, and the time that it takes to find.

    python benchmarks/sunflow.py [PORTS ...]

Each of n reducers receives 4 n MB at 100 Gb/s, the delay is 10 us, all transfers are released at once (the setting in
which the authors' C++ simulator was measured: 1.18, 1.12 and 1.07 times the bound at 16, 32 and 64 ports, 0.4 to 7.6 s,
and no answer within 120 s at 128). They come in random order; the bound is the largest of any port's set-ups and times.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

from fluxscale.instance.instance import DARK, Instance
from fluxscale.trial import trial

RUNS = 5
RATE_BPS, DELAY_NS = 100 * 10**9, 10_000


def all_to_all(n: int, seed: int = 0) -> Instance:
    tx, rx = np.nonzero(~np.eye(n, dtype=np.bool_))
    order = np.random.default_rng(seed).permutation(len(tx))
    count = len(tx)
    size = 4_000_000 * n // (n - 1)
    return Instance(
        op_kind=np.full(count, 1),
        op_device=np.full(count, -1),
        op_bytes=np.full(count, size),
        op_fixed_ticks=np.full(count, -1),
        pred_indptr=np.zeros(count + 1),
        pred_index=np.zeros(0),
        device_indptr=np.zeros(1),
        device_ops=np.zeros(0),
        leg_indptr=np.arange(count + 1),
        leg_tx=tx[order],
        leg_rx=rx[order],
        plane_rate_bps=np.array([RATE_BPS]),
        plane_latency_ticks=np.array([0]),
        plane_delay_ticks=np.array([DELAY_NS]),
        plane_radix=np.array([0]),
        plane_all_stop=np.array([False]),
        plane_duplex=np.array([False]),
        attach=np.zeros((1, n)),
        injection_rate_bps=np.array([RATE_BPS]),
        boundary=DARK,
    )


def main(sizes: list[int]) -> None:
    print("| ports | transfers | time over the bound | seconds, checked and replayed |")
    print("|------:|----------:|--------------------:|------------------------------:|")
    for n in sizes:
        instance = all_to_all(n)
        each = -(-int(instance.op_bytes[0]) * 8 * 10**9 // RATE_BPS)
        bound = (n - 1) * (each + DELAY_NS)
        took, made = [], trial(instance, "sunflow")
        for _ in range(RUNS):
            began = time.perf_counter()
            made = trial(instance, "sunflow")
            took.append(time.perf_counter() - began)
        assert made.iteration_time_ns is not None
        over, seconds = made.iteration_time_ns / bound, statistics.median(took)
        print(f"| {n:5} | {instance.n_ops:9,} | {over:19.3f} | {seconds:29.3f} |")


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [16, 32, 64, 128])
