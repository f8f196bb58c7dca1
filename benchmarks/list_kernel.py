"""Time the list kernel, rule by rule, on 16 stages x 16 micro-batches x 128 replicas: 127,008 ops.

    python benchmarks/list_kernel.py [--repeat 7] [--rules 16] [--json]

One plane, simplex, per-port, boundary preset, reconfiguration delay 1 ms; forward 3 ms, backward 6 ms, transfer 0.4 ms,
and per stage a data-parallel ring of 2 x 4 ms. One thread. ``kernel`` is the compiled event loop alone; ``rule`` adds
what a rule costs around it: ranks, offsets, the arrays of the result.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import fluxscale as fs
from fluxscale.bounds import best_bound
from fluxscale.instance.instance import Instance
from fluxscale.kernels.list_schedule import list_schedule
from fluxscale.kernels.list_simple import list_schedule_simple
from fluxscale.kernels.ports import new_ports
from fluxscale_solvers.heuristics.candidates import run_rule
from fluxscale_solvers.heuristics.inputs import Prepared, prepare
from fluxscale_solvers.heuristics.rules import FIXED_RULES, Rule, random_rule, rank_and_offset

OPS = 127_008
JOB = """
name = "16x16x128"
[parallel]
pp = 16
dp = 128
micro_batches = 16
schedule = "1f1b"
dp_collective = "ring"
[hardware]
gpus_per_host = 1
[timing]
forward = "3ms"
backward = "6ms"
transfer = "400us"
dp = "4ms"
optimizer = "0ns"
[fabric]
planes = 1
rate = "400Gbps"
reconfiguration_delay = "1ms"
boundary = "preset"
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--repeat", type=int, default=7, metavar="N", help="runs of each rule; the median counts (default: 7)"
    )
    parser.add_argument("--rules", type=int, default=12, metavar="N", help="how many rules (default: 12)")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    arguments = parser.parse_args()

    instance, build_ms = built()
    assert instance.n_ops == OPS, f"{instance.n_ops} ops instead of {OPS}"
    bound = best_bound(instance)
    began = time.perf_counter()
    prepared = prepare(instance)
    prepare_ms = 1e3 * (time.perf_counter() - began)
    rules = [*FIXED_RULES, *(random_rule(k) for k in range(max(0, arguments.rules - len(FIXED_RULES))))][
        : arguments.rules
    ]
    rows = [measure(instance, prepared, rule, arguments.repeat) for rule in rules]
    for row in rows:
        row["gap_percent"] = 100 * (row["iteration_time_ms"] - bound.ticks / 1e6) / row["iteration_time_ms"]

    facts = {
        "ops": OPS,
        "build_ms": build_ms,
        "prepare_ms": prepare_ms,
        "bound_ms": bound.ticks / 1e6,
        "bound": bound.name,
    }
    if arguments.json:
        print(json.dumps(facts | {"rules": rows}, indent=1))
        return 0
    print(f"{OPS:,} ops; built in {build_ms:.0f} ms, prepared in {prepare_ms:.0f} ms (once, for all rules)")
    print(f"lower bound {bound.ticks / 1e6:,.1f} ms by {bound.name}; medians of {arguments.repeat} runs, one thread\n")
    print(f"| {'rule':<22} | kernel ms | rule ms | iteration ms |  gap % |")
    print(f"|{'-' * 24}|----------:|--------:|-------------:|-------:|")
    for row in rows:
        times = f"{row['kernel_ms']:>9.1f} | {row['rule_ms']:>7.1f} | {row['iteration_time_ms']:>12,.1f}"
        print(f"| {row['rule']:<22} | {times} | {row['gap_percent']:>6.3f} |")
    print(f"\nmedian over rules: kernel {statistics.median(row['kernel_ms'] for row in rows):.1f} ms, ", end="")
    print(f"with ranks and arrays {statistics.median(row['rule_ms'] for row in rows):.1f} ms")
    return 0


def built() -> tuple[Instance, float]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "job.toml"
        file.write_text(JOB, encoding="utf-8")
        began = time.perf_counter()
        instance = fs.build_instance(fs.load_job(str(file)))
        return instance, 1e3 * (time.perf_counter() - began)


def median_ms(call: Callable[[], object], repeat: int) -> float:
    """Median of some runs after one that compiles and warms the caches."""
    call()
    seconds = []
    for _ in range(repeat):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return 1e3 * statistics.median(seconds)


def measure(instance: Instance, prepared: Prepared, rule: Rule, repeat: int) -> dict:
    n = instance.n_ops
    start, order = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int32)
    leg_option = np.zeros(instance.n_legs, dtype=np.int32)
    ranks = rank_and_offset(prepared, rule, seed=0)
    ports = new_ports(prepared.n_planes, prepared.n_endpoints)
    if prepared.simple:
        simple = prepared.simple_arguments

        def kernel() -> int:
            return list_schedule_simple(*simple, ports.lane_free, ports.peer, *ranks, start, order)

    else:

        def kernel() -> int:
            return list_schedule(*prepared.problem, *ports, *ranks, start, leg_option, order)

    assert kernel() == n
    return {
        "rule": rule.name,
        "kernel_ms": median_ms(kernel, repeat),
        "rule_ms": median_ms(lambda: run_rule(instance, prepared, rule), repeat),
        "iteration_time_ms": run_rule(instance, prepared, rule).value / 1e6,
    }


if __name__ == "__main__":
    sys.exit(main())
