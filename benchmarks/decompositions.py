"""Time the decompositions of one demand matrix, and what their schedules are worth, at 64 to 1024 ports.

    python benchmarks/decompositions.py [--repeat 5] [--seeds 1 2 3] [--delay 20] [--largest 1024] [--json]

Inputs. ``mix``: 12 light random permutations (1 to 16 units) and 4 heavy ones (16 to 100) summed. ``dense``: all pairs,
1 to 100 units. With seed 1 they have the line sums of the inputs on which the C and C++ peers were timed
(mix: 457 at 64 ports, 466, 486, 502 at 1024; dense: 3952, 7451, 14138), whose figures stand beside ours.

Per row: medians over the seeds; ``ms`` is the median of warm runs, from the dense matrix to the matchings, one thread.
``makespan`` is the sum of the durations and a delay for each matching, ``bound`` the largest line sum, below which no
schedule can be, whatever its delays. Every answer is checked to cover its demand. ``bvn, any`` takes any perfect
matching, as the theorem does, instead of a bottleneck matching.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from fluxscale.matchings.decomposition import Decomposition
from fluxscale.provenance import collect

INPUTS = [("mix", 64), ("mix", 128), ("mix", 256), ("mix", 512), ("mix", 1024)]
INPUTS += [("dense", 64), ("dense", 128), ("dense", 256)]
METHODS = {
    "bvn": ("fluxscale.matchings.bvn", lambda module, demand, delay: module.bvn(demand)),
    "bvn, any": ("fluxscale.matchings.bvn", lambda module, demand, delay: module.bvn(demand, bottleneck=False)),
    "solstice": ("fluxscale.matchings.solstice", lambda module, demand, delay: module.solstice(demand, delay)),
    "eclipse": ("fluxscale.matchings.eclipse", lambda module, demand, delay: module.eclipse(demand, delay)),
}
# Best of the peers' programs, delay 20, seed 1: ms and makespan of whichever is faster and whichever is shorter.
PEERS = {
    ("mix", 64, "solstice"): (1.1, 1577),
    ("mix", 256, "solstice"): (7.3, 1746),
    ("mix", 512, "solstice"): (17, 1766),
    ("mix", 1024, "solstice"): (39, 1902),
    ("dense", 64, "solstice"): (9, 8932),
    ("dense", 128, "solstice"): (56, 17171),
    ("dense", 256, "solstice"): (400, 32478),
    ("mix", 64, "eclipse"): (40, 1133),
    ("mix", 256, "eclipse"): (620, 1207),
    ("mix", 512, "eclipse"): (4700, 1345),
    ("mix", 1024, "eclipse"): (33300, 1404),
    ("dense", 64, "eclipse"): (180, 6960),
    ("dense", 128, "eclipse"): (1700, 12922),
    ("mix", 64, "bvn, any"): (9.9, 8037),
    ("dense", 64, "bvn, any"): (100, 53912),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="warm runs of each (default: 5)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], metavar="N", help="(default: 1 2 3)")
    parser.add_argument("--delay", type=int, default=20, metavar="UNITS", help="reconfiguration delay (default: 20)")
    parser.add_argument("--largest", type=int, default=1024, metavar="PORTS", help="leave larger inputs out")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout, a row for each seed")
    arguments = parser.parse_args()

    rows: list[dict[str, Any]] = []
    missing: set[str] = set()
    for name, (module_name, call) in METHODS.items():
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name != module_name:
                raise
            missing.add(name)
            continue
        for kind, ports in INPUTS:
            if ports > arguments.largest:
                continue
            for seed in arguments.seeds:
                print(f"{name}: {kind}, {ports} ports, seed {seed} ...", file=sys.stderr, flush=True)
                demand = mix(ports, seed) if kind == "mix" else dense(ports, seed)

                def run(demand: Any = demand, call: Callable = call, module: Any = module) -> Decomposition:
                    return call(module, demand, arguments.delay)

                rows.append(
                    {"input": kind, "ports": ports, "method": name, "seed": seed}
                    | measure(run, demand, arguments.delay, arguments.repeat)
                )
    about = collect(command=["python", *sys.argv])
    if arguments.json:
        print(json.dumps({"delay": arguments.delay, "provenance": about, "rows": rows}, indent=1))
    else:
        print_table(rows, arguments)
        for name in sorted(missing):
            print(f"{name}: left out, this checkout does not have it")
        print(f"\n{origin(about)}")
    return 0 if all(row["covers"] for row in rows) else 1


def mix(ports: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    demand = np.zeros((ports, ports), dtype=np.int64)
    for low, high in [(1, 16)] * 12 + [(16, 100)] * 4:
        demand[np.arange(ports), random.permutation(ports)] += random.integers(low, high + 1, ports)
    return demand


def dense(ports: int, seed: int) -> np.ndarray:
    demand = np.random.default_rng(seed).integers(1, 101, (ports, ports))
    np.fill_diagonal(demand, 0)
    return demand


def measure(run: Callable[[], Decomposition], demand: np.ndarray, delay: int, repeat: int) -> dict[str, Any]:
    """Answer and median time of some runs after one that compiles and warms the caches."""
    result = run()
    seconds = []
    for _ in range(repeat):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return {
        "ms": 1e3 * statistics.median(seconds),
        "matchings": result.count,
        "makespan": result.makespan(delay),
        "bound": int(max(demand.sum(axis=0).max(), demand.sum(axis=1).max())),
        "covers": result.covers(demand),
    }


def print_table(rows: list[dict[str, Any]], arguments: argparse.Namespace) -> None:
    seeds = " ".join(map(str, arguments.seeds))
    print(f"medians of seeds {seeds}, {arguments.repeat} warm runs each, one thread; delay {arguments.delay} units\n")
    print("| input | ports | method   |       ms | matchings | makespan |  seed 1 |  bound | peer ms | peer makespan |")
    print("|-------|------:|----------|---------:|----------:|---------:|--------:|-------:|--------:|--------------:|")
    order = {(kind, ports): at for at, (kind, ports) in enumerate(INPUTS)}
    for kind, ports in order:
        for name in METHODS:
            group = [row for row in rows if (row["input"], row["ports"], row["method"]) == (kind, ports, name)]
            if not group:
                continue
            ms, matchings, makespan, bound = (
                statistics.median(row[key] for row in group) for key in ("ms", "matchings", "makespan", "bound")
            )
            first = next((f"{row['makespan']:,}" for row in group if row["seed"] == 1), "-")
            peer_ms, peer_makespan = (
                PEERS.get((kind, ports, name), (None, None)) if arguments.delay == 20 else (None,) * 2
            )
            told = f"{peer_ms or '-':>7} | {f'{peer_makespan:,}' if peer_makespan else '-':>13}"
            print(
                f"| {kind:<5} | {ports:>5} | {name:<8} | {ms:>8.2f} | {matchings:>9,.0f} | "
                f"{makespan:>8,.0f} | {first:>7} | {bound:>6,.0f} | {told} |"
            )
    print("\nseed 1: our makespan on it; the peers' makespan is for that seed too")
    print(f"answers that do not cover their demand: {sum(not row['covers'] for row in rows)} of {len(rows)}")


def origin(about: dict[str, Any]) -> str:
    machine, git = about["machine"], about["git"] or {"commit": "unknown", "dirty": False}
    commit = git["commit"][:7] + (" with changes" if git["dirty"] else "")
    versions = ", ".join(f"{name} {about['versions'][name]}" for name in ("python", "numpy", "numba"))
    memory = machine["memory_bytes"]
    memory = f", {memory / 2**30:.0f} GiB" if memory else ""
    where = f"{machine['cpu']}, {machine['usable_cores']} cores{memory}"
    return f"Commit {commit}, {about['date_utc'][:10]}, {where}, {versions}. Command: {' '.join(about['command'])}"


if __name__ == "__main__":
    sys.exit(main())
