"""Time every phase of a solve, preset by preset, and the whole command with its peak memory.

    python benchmarks/solve_presets.py                                   # every preset, symmetry auto
    python benchmarks/solve_presets.py --presets tiny-4x8 llama3-405b-16k --json
    python benchmarks/solve_presets.py --presets llama3-405b-16k --symmetry off

Each preset runs twice, in a process of its own each time: once through the Python interface, phase by phase (build,
symmetry, solve, check, replay), after a warm-up that loads the compiled kernels; and once as the command itself,
from start to exit, with its peak resident memory as Linux counts it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WARM_UP = "tiny-4x8"
COLUMNS = (
    ("preset", "preset", "{}"),
    ("gpus", "GPUs", "{:,}"),
    ("ops", "ops", "{:,}"),
    ("build_s", "build s", "{:.2f}"),
    ("symmetry_s", "symmetry s", "{:.2f}"),
    ("solve_s", "solve s", "{:.2f}"),
    ("check_s", "check s", "{:.2f}"),
    ("replay_s", "replay s", "{:.2f}"),
    ("ops_per_s", "ops/s", "{:,.0f}"),
    ("command_s", "command s", "{:.1f}"),
    ("peak_rss_mb", "peak MB", "{:,.0f}"),
    ("iteration_time_ms", "iteration ms", "{:,.1f}"),
    ("gap_percent", "gap %", "{:.3f}"),
    ("feasibility", "check", "{}"),
)


def main() -> int:
    arguments = parse_arguments()
    if arguments.phases:
        print(json.dumps(phases(arguments.phases, arguments.symmetry, arguments.time_limit)))
        return 0
    from fluxscale.workload.presets import preset_names

    rows, failed = [], 0
    for preset in arguments.presets or preset_names():
        print(f"{preset} ...", file=sys.stderr, flush=True)
        try:
            rows.append(measure(preset, arguments))
        except (subprocess.SubprocessError, RuntimeError) as error:
            failed += 1
            print(f"{preset}: {error}", file=sys.stderr)
    if arguments.json:
        print(json.dumps({"symmetry": arguments.symmetry, "rows": rows, "failed": failed}, indent=1))
    else:
        print_table(rows)
        not_ok = failed + sum(row["feasibility"] != "checked-ok" for row in rows)
        print(f"\nsymmetry {arguments.symmetry}; ops/s = ops / (build + solve + check); not OK: {not_ok}")
    return 1 if failed or any(row["feasibility"] != "checked-ok" for row in rows) else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--presets", nargs="+", metavar="NAME", help="which presets (default: all)")
    parser.add_argument("--symmetry", choices=("auto", "off"), default="auto")
    parser.add_argument(
        "--time-limit", type=float, metavar="SECONDS", help="wall clock for each search (default: the command's own)"
    )
    parser.add_argument(
        "--timeout", type=float, default=900, metavar="SECONDS", help="give up on a process after this (default: 900)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument("--phases", metavar="NAME", help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(preset: str, arguments: argparse.Namespace) -> dict:
    common = ["--symmetry", arguments.symmetry]
    if arguments.time_limit is not None:
        common += ["--time-limit", str(arguments.time_limit)]
    row = json.loads(run([sys.executable, __file__, "--phases", preset, *common], arguments.timeout)[0])
    command = [sys.executable, "-m", "fluxscale", "solve", preset, "--json", "--quiet", *common]
    document, row["command_s"], peak = run(command, arguments.timeout)
    if json.loads(document)["schedule_sha256"] != row.pop("schedule_sha256"):
        print(f"{preset}: the command and the Python interface found different schedules", file=sys.stderr)
    row["peak_rss_mb"] = peak / 1e6
    return row


def run(command: list[str], timeout: float) -> tuple[str, float, int]:
    """Output, seconds and peak bytes of a process that must succeed."""
    path = os.pathsep.join(filter(None, [str(ROOT), str(ROOT / "solvers"), os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryFile() as out:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, env=os.environ | {"PYTHONPATH": path})
        deadline = began + timeout
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.perf_counter() > deadline:
                process.kill()
                process.wait()
                raise RuntimeError(f"stopped after {timeout:g} s: {' '.join(command[1:])}")
            time.sleep(0.01)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"exit code {process.returncode}: {' '.join(command[1:])}")
        out.seek(0)
        return out.read().decode(), seconds, usage.ru_maxrss * 1024


def phases(preset: str, symmetry: str, time_limit: float | None) -> dict:
    """Seconds of each phase through the Python interface, compiled kernels loaded beforehand."""
    import fluxscale as fs
    from fluxscale.decompose.symmetry import reduce

    warm = fs.build_instance(fs.load_job(WARM_UP))
    fs.solve(warm)
    fs.solve(warm, solver="list", symmetry=symmetry, work_limit=10 * warm.n_ops)

    began = time.perf_counter()
    job = fs.load_job(preset)
    instance = fs.build_instance(job)
    build_s = time.perf_counter() - began
    began = time.perf_counter()
    if symmetry == "auto":
        reduce(instance)
    symmetry_s = time.perf_counter() - began
    result = fs.solve(instance, symmetry=symmetry, time_limit_s=time_limit)
    if result.schedule is None:
        raise RuntimeError(f"no schedule: {result.termination}")
    began = time.perf_counter()
    report = fs.check(instance, result.schedule)
    check_s = time.perf_counter() - began
    began = time.perf_counter()
    replayed = fs.replay(instance, result.schedule)
    replay_s = time.perf_counter() - began
    assert report.ok
    assert replayed.iteration_time_ticks == result.schedule.iteration_time_ticks
    solve_s = result.wall_s["solve"]
    return {
        "preset": preset,
        "gpus": job.spec.gpus if job.spec is not None else None,
        "ops": instance.n_ops,
        "transfers": instance.n_transfers,
        "endpoints": instance.n_endpoints,
        "solver": result.solver,
        "build_s": build_s,
        "symmetry_s": symmetry_s,
        "solve_s": solve_s,
        "check_s": check_s,
        "replay_s": replay_s,
        "ops_per_s": instance.n_ops / (build_s + solve_s + check_s),
        "phases_peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
        "iteration_time_ms": result.iteration_time_ns / 1e6,
        "lower_bound_ms": result.lower_bound_ns / 1e6,
        "lower_bound_name": result.lower_bound_name,
        "gap_percent": 100 * result.gap,
        "termination": str(result.termination),
        "feasibility": str(result.feasibility),
        "schedule_sha256": result.schedule.sha256,
    }


def print_table(rows: list[dict]) -> None:
    """Markdown, ready for benchmarks/README.md."""
    table = [[title for _, title, _ in COLUMNS]]
    table += [["-" if row[key] is None else form.format(row[key]) for key, _, form in COLUMNS] for row in rows]
    widths = [max(len(line[k]) for line in table) for k in range(len(COLUMNS))]
    for number, line in enumerate(table):
        first, *others = (cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        print("| " + " | ".join([first.strip().ljust(widths[0]), *others]) + " |")
        if number == 0:
            print("|" + "|".join("-" * (w + 1) + ("-" if k == 0 else ":") for k, w in enumerate(widths)) + "|")


if __name__ == "__main__":
    sys.exit(main())
