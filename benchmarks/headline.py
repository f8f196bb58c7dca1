"""The Flux paper's claim, measured: iteration time and NIC buffers against periodic schedulers.

    python benchmarks/headline.py [--cases paper,1k,16k] [--workers 2] [--exact-seconds 300] [--write]

The paper's own case (Llama 3 8B with 8 and with 16 layers on 8 GPUs, two planes, four delays) is solved exactly; the
same is asked of 1,024 GPUs (gpt3-175b-1k) and 16,384 (llama3-405b-16k) with what ``fluxscale solve`` does. Every
baseline stands there twice where the paper says how it ran it: under the paper's parameters (90 % duty cycle), and at
the best of everything that a comparison sweeps. ``--write`` puts the table into benchmarks/README.md, the short one
into README.md, and draws figures/headline.svg (needs the extra ``plot``). Points that are done are kept in
``--keep FILE`` (default benchmarks/results/headline.jsonl) and not run again at the same version of the code.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import fluxscale as fs
from fluxscale.compare.comparison import Comparison, compare
from fluxscale.compare.rows import BUFFER_FLOOR_BYTES, Row
from fluxscale.errors import InputError
from fluxscale.solving.registry import COMPARISON
from fluxscale.trial import trial

HERE = Path(__file__).resolve().parent
CASES = {
    "paper": [(job, delay) for job in ("llama3-8b-8", "llama3-8b-8-l16") for delay in ("1us", "10us", "100us", "1ms")],
    "1k": [("gpt3-175b-1k", delay) for delay in ("100us", "1ms", "10ms")],
    "16k": [("llama3-405b-16k", "10ms")],
}
PAPER = {
    "rotor": {"slot": 10},
    "rotor-vlb": {"slot": 10},
    "periodic-bvn": {"demand": "aggregate", "duty": 0.9},
}
"""The paper's baselines and parameters; slots in delays."""

LARGE_OPS = 2_000_000
"""With more ops than this the periodic schedulers are swept over the aggregate reading only."""

PERIODIC = ("rotor", "rotor-vlb", "periodic-bvn", "periodic-solstice", "periodic-eclipse", "periodic-spectra")


def measure(job: str, delay: str, workers: int, exact_s: float) -> dict[str, Any]:
    """One point: every row of a comparison, the exact solution of the paper's case, the paper's parameters."""
    loaded = fs.load_job(job, overrides=[f"fabric.reconfiguration_delay={delay}"])
    instance = fs.build_instance(loaded)
    exact = instance.n_ops <= 10_000
    began = time.monotonic()
    # Decomposing what waits, period by period, was not done after 24 minutes at five million transfers.
    options = {"demand": "aggregate"} if instance.n_ops > LARGE_OPS else {}
    found: Comparison = compare(instance, [*COMPARISON], options=options, workers=workers)
    ours = found.row("fluxscale")
    best = {"scheduler": "fluxscale", **figures(ours), "optimal": ours.optimal, "bound": ours.lower_bound_ns}
    if exact and not ours.optimal:
        result = fs.solve(instance, "exact-cpsat", time_limit_s=exact_s, workers=workers)
        if result.iteration_time_ns is not None and result.buffers is not None and result.metrics is not None:
            best = {
                "scheduler": result.solver,
                "time": result.iteration_time_ns,
                "eager": result.buffers.eager_bytes,
                "setups": result.metrics.reconfigurations,
                "parameters": {},
                "note": None,
                "optimal": result.iteration_time_ns == result.lower_bound_ns,
                "bound": result.lower_bound_ns,
            }
    return {
        "job": job,
        "delay": delay,
        "ours": best,
        "striped": striped(job, delay, workers),
        "rows": {row.scheduler: figures(row) for row in found.rows if row.scheduler != "fluxscale"},
        "paper": {name: as_paper(instance, name) for name in PAPER},
        "seconds": round(time.monotonic() - began, 1),
    }


def striped(job: str, delay: str, workers: int) -> dict[str, Any] | None:
    """What ``fluxscale solve`` does if transfers may be spread over planes, as the fluid baselines spread them."""
    overrides = [f"fabric.reconfiguration_delay={delay}", "fabric.striping=equal"]
    instance = fs.build_instance(fs.load_job(job, overrides=overrides))
    if instance.sha256 == fs.build_instance(fs.load_job(job, overrides=overrides[:1])).sha256:
        return None
    result = fs.solve(instance, workers=workers)
    assert result.buffers is not None
    return {"time": result.iteration_time_ns, "eager": result.buffers.eager_bytes, "bound": result.lower_bound_ns}


def figures(row: Row) -> dict[str, Any]:
    return {
        "time": row.iteration_time_ns,
        "eager": row.eager_bytes,
        "setups": row.reconfigurations,
        "parameters": row.parameters,
        "note": row.notes[0] if row.iteration_time_ns is None and row.notes else None,
    }


def as_paper(instance: Any, name: str) -> dict[str, Any]:
    """One baseline under the paper's parameters, without a cutoff."""
    options = dict(PAPER[name])
    if "slot" in options:
        options["slot"] = int(instance.plane_delay_ticks.max()) * instance.tick_ns * options["slot"]
    try:
        made = trial(instance, name, options)
    except InputError as error:
        return {"time": None, "eager": None, "setups": None, "parameters": options, "note": str(error)}
    return {
        "time": made.iteration_time_ns,
        "eager": made.eager_bytes,
        "setups": made.reconfigurations,
        "parameters": options,
        "note": None,
    }


def ratio(one: dict[str, Any], ours: dict[str, Any]) -> float | None:
    return None if one["time"] is None else one["time"] / ours["time"]


def buffers(one: dict[str, Any], ours: dict[str, Any]) -> float | None:
    """Eager over eager, one packet as the floor."""
    if one["eager"] is None:
        return None
    return max(one["eager"], BUFFER_FLOOR_BYTES) / max(ours["eager"], BUFFER_FLOOR_BYTES)


def best_periodic(point: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    ran = [(name, point["rows"][name]) for name in PERIODIC if point["rows"][name]["time"] is not None]
    return min(ran, key=lambda pair: pair[1]["time"])


def show(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def size(count: int | None) -> str:
    if count is None:
        return "-"
    return f"{count:,} B" if count < 10_000 else f"{count / 1e6:,.2f} MB"


def table(points: list[dict[str, Any]]) -> str:
    """Ratios of iteration times, every point and every baseline."""
    names = ["ideal-packet", "static", *PERIODIC, "sunflow", "on-demand", "on-demand-ahead"]
    short = {"periodic-": "", "ideal-packet": "ideal", "on-demand-ahead": "od-ahead", "on-demand": "on-dem."}
    heads = []
    for name in names:
        for long, brief in short.items():
            name = name.replace(long, brief)
        heads.append(name)
    header = ["job", "delay", "ours ms", "gap", "striped", "rotor 90 %", "vlb 90 %", "bvn 90 %", *heads]
    body = []
    for point in points:
        ours = point["ours"]
        gap = "optimal" if ours["optimal"] else f"{100 * (1 - (ours['bound'] or 0) / ours['time']):.2f} %"
        body.append(
            [point["job"], point["delay"], f"{ours['time'] / 1e6:,.2f}", gap]
            + [show(None if point["striped"] is None else ratio(point["striped"], ours))]
            + [show(ratio(point["paper"][name], ours)) for name in PAPER]
            + [show(ratio(point["rows"][name], ours)) for name in names]
        )
    return markdown(header, body)


def buffer_table(points: list[dict[str, Any]]) -> str:
    """Eager peaks of all periodic baselines over ours."""
    header = ["job", "delay", "ours", "rotor 90 %", "vlb 90 %", "bvn 90 %", *PERIODIC, "largest ratio"]
    body = []
    for point in points:
        ours = point["ours"]
        all_of = [*(point["paper"][name] for name in PAPER), *(point["rows"][name] for name in PERIODIC)]
        ratios = [value for one in all_of if (value := buffers(one, ours)) is not None]
        body.append(
            [point["job"], point["delay"], size(ours["eager"])]
            + [size(one["eager"]) for one in all_of]
            + [show(max(ratios, default=None), 0)]
        )
    return markdown(header, body)


def short_table(points: list[dict[str, Any]]) -> str:
    """What the README shows."""
    header = [
        "job",
        "GPUs",
        "delay",
        "ours",
        "best periodic, swept",
        "BvN, 90 % duty",
        "rotor, 90 % duty",
        "ours, striped",
        "NIC buffer: ours",
        "best periodic",
    ]
    body = []
    for point in points:
        ours, (name, best) = point["ours"], best_periodic(point)
        gap = "optimal" if ours["optimal"] else f"gap {100 * (1 - (ours['bound'] or 0) / ours['time']):.2f} %"
        body.append(
            [
                point["job"],
                f"{fs.load_job(point['job']).spec.gpus:,}",
                point["delay"],
                f"{ours['time'] / 1e6:,.1f} ms, {gap}",
                f"{show(ratio(best, ours))}x ({name})",
                f"{show(ratio(point['paper']['periodic-bvn'], ours))}x",
                f"{show(ratio(point['paper']['rotor'], ours))}x",
                "-" if point["striped"] is None else f"{show(ratio(point['striped'], ours))}x",
                size(ours["eager"]),
                size(best["eager"]),
            ]
        )
    return markdown(header, body)


def markdown(header: list[str], body: list[list[str]]) -> str:
    widths = [max(len(row[k]) for row in [header, *body]) for k in range(len(header))]
    lines = [
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |" for row in [header, *body]
    ]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)


def picture(points: list[dict[str, Any]], path: Path) -> None:
    """Iteration time and eager buffer over the delay, the paper's case with 8 layers."""
    from matplotlib import pyplot

    from fluxscale.units import parse_time

    chosen = [point for point in points if point["job"] == "llama3-8b-8"]
    delays = [parse_time(point["delay"]) / 1e3 for point in chosen]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    lines = [
        ("fluxscale (optimal)", "o-", "#0072b2", [point["ours"] for point in chosen]),
        ("ideal packet network", "s:", "#555555", [point["rows"]["ideal-packet"] for point in chosen]),
        ("rotor, best slot", "^--", "#e69f00", [point["rows"]["rotor"] for point in chosen]),
        ("rotor-vlb, best slot", "v--", "#cc79a7", [point["rows"]["rotor-vlb"] for point in chosen]),
        ("BvN of the aggregate, 90 % duty", "D-.", "#d55e00", [point["paper"]["periodic-bvn"] for point in chosen]),
        ("best periodic, swept", "P-.", "#009e73", [best_periodic(point)[1] for point in chosen]),
    ]
    for label, style, colour, ones in lines:
        kept = [(d, one) for d, one in zip(delays, ones, strict=True) if one["time"] is not None]
        left.plot([d for d, _ in kept], [one["time"] / 1e6 for _, one in kept], style, color=colour, label=label)
        peaks = [max(one["eager"] or 0, BUFFER_FLOOR_BYTES) for _, one in kept]
        right.plot([d for d, _ in kept], peaks, style, color=colour)
    for axes, title in ((left, "iteration time, ms"), (right, "peak NIC buffer (eager), bytes")):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("reconfiguration delay, us")
        axes.set_title(title, loc="left", fontsize=10)
        axes.grid(visible=True, which="major", color="#dddddd")
    for bytes_, text in ((2**18, "256 KiB"), (2**20, "1 MiB"), (2**24, "16 MiB"), (2**26, "64 MiB")):
        right.axhline(bytes_, color="#999999", linewidth=0.8)
        right.text(delays[0], bytes_ * 1.1, text, fontsize=7, color="#666666")
    figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    figure.savefig(path, metadata={"Date": None})


def provenance() -> str:
    from fluxscale.provenance import collect

    facts = collect(instance_sha256=None, seed=0)
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    )
    versions = facts.get("versions", {})
    named = ", ".join(f"{name} {version}" for name, version in versions.items() if name in ("numba", "ortools"))
    return f"Commit {commit.stdout.strip()}, {time.strftime('%-d %B %Y')}, 2 cores (shared machine, one run), {named}."


def replace_table(path: Path, name: str, text: str) -> None:
    page = path.read_text(encoding="utf-8")
    begin, end = f"<!-- table: {name} -->\n", "<!-- /table -->"
    if begin not in page:
        raise SystemExit(f"{path}: no place for table {name}")
    head, _, rest = page.partition(begin)
    path.write_text(f"{head}{begin}{text}\n{end}{rest.partition(end)[2]}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", default="paper,1k,16k")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--exact-seconds", type=float, default=300.0)
    parser.add_argument("--keep", type=Path, default=HERE / "results" / "headline.jsonl")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    unknown = set(arguments.cases.split(",")) - set(CASES)
    if unknown:
        parser.error(f"unknown cases {sorted(unknown)}: one of {', '.join(CASES)}")
    arguments.keep.parent.mkdir(parents=True, exist_ok=True)
    kept = {}
    if arguments.keep.exists():
        for line in arguments.keep.read_text(encoding="utf-8").splitlines():
            point = json.loads(line)
            kept[point["job"], point["delay"]] = point
    points = []
    for job, delay in [point for case in arguments.cases.split(",") for point in CASES[case]]:
        if (job, delay) not in kept:
            print(f"{job} at {delay} ...", file=sys.stderr, flush=True)
            point = measure(job, delay, arguments.workers, arguments.exact_seconds)
            with arguments.keep.open("a", encoding="utf-8") as file:
                file.write(json.dumps(point) + "\n")
            kept[job, delay] = point
        points.append(kept[job, delay])
    times, peaks = table(points), buffer_table(points)
    print(times, peaks, sep="\n\n")
    if arguments.write:
        text = f"{times}\n\n{peaks}\n\n{provenance()}"
        replace_table(HERE / "README.md", "headline", text)
        replace_table(HERE.parent / "README.md", "headline", short_table(points))
        picture(points, HERE / "figures" / "headline.svg")


if __name__ == "__main__":
    main()
