"""``fluxscale solve JOB``: from a job to a checked schedule."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fluxscale.cli import options

if TYPE_CHECKING:
    from fluxscale.solving.result import Result
    from fluxscale.workload.load import Job


def solve(
    job: Annotated[str, typer.Argument(metavar="JOB", help="Preset name, job TOML or DAG JSON.")],
    fabric: options.Fabric = None,
    settings: options.Settings = None,
    solver: Annotated[
        str,
        typer.Option("--solver", metavar="NAME", help="auto, list, stage-window, exact-cpsat, exact-milp, plug-in."),
    ] = "auto",
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="SECONDS", help="Wall clock of the search.")
    ] = None,
    work_limit: Annotated[
        int | None, typer.Option("--work-limit", metavar="N", help="Reproducible limit in the solver's unit.")
    ] = None,
    rel_gap: Annotated[float, typer.Option("--rel-gap", metavar="X", help="Stop at this gap (a fraction).")] = 0.0,
    seed: options.Seed = 0,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", help="Threads or processes; never changes the answer.")
    ] = None,
    executor: Annotated[
        str, typer.Option("--executor", metavar="auto|serial|process", help="Where sub-solves run.")
    ] = "auto",
    ray_address: Annotated[str | None, typer.Option("--ray-address", metavar="ADDR", help="Ray cluster.")] = None,
    symmetry: Annotated[
        str, typer.Option("--symmetry", metavar="auto|off", help="Solve identical parts once, or everything.")
    ] = "auto",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Keep schedule, result and instance here.")
    ] = None,
    json: options.Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Schedule one training iteration, prove a bound, check the schedule (solver options: --set solver.KEY=VALUE)."""
    import time

    from fluxscale.cli.progress import Reporter
    from fluxscale.cli.settings import split_settings
    from fluxscale.solving.settings import check_settings

    began = time.monotonic()
    limits: dict[str, Any] = {
        "time_limit_s": time_limit,
        "work_limit": work_limit,
        "rel_gap": rel_gap,
        "seed": seed,
        "workers": workers,
        "symmetry": symmetry,
        "executor": executor,
        "ray_address": ray_address,
    }
    check_settings(**limits)
    overrides, solver_options = split_settings(settings or [])
    if out is not None:
        from fluxscale.cli.files import refuse_unwritable

        refuse_unwritable(out)
    with Reporter(quiet=quiet) as reporter:
        loaded, result = _run(job, fabric, overrides, solver, solver_options, limits, reporter, began)
        document = _document(loaded, result)
        if out is not None:
            reporter.stage(f"writing {out}")
            _write(out, loaded, result, document)
    _print(loaded, result, document, json, out)
    raise typer.Exit(exit_code(result))


def _run(
    job: str,
    fabric: Path | None,
    overrides: list[str],
    solver: str,
    solver_options: dict[str, Any],
    limits: dict[str, Any],
    reporter: Any,
    began: float,
) -> tuple[Job, Result]:
    import time
    from dataclasses import replace

    from fluxscale.solving.registry import get_solver
    from fluxscale.solving.search import AUTO

    if solver != AUTO:
        # A misspelt name should not cost the time of building the instance.
        get_solver(solver)
    reporter.stage(f"reading {job}")
    from fluxscale.instance.build import build_dag_and_instance
    from fluxscale.workload.load import load_job

    loaded = load_job(job, fabric_file=fabric, overrides=overrides)
    reporter.stage("building the instance")
    dag, instance = build_dag_and_instance(loaded)
    reporter.time_unit(instance.tick_ns)
    reporter.stage(
        f"built {instance.n_ops:,} ops, {instance.n_transfers:,} transfers, {instance.n_endpoints:,} endpoints"
    )
    from fluxscale.solve import solve as run_solve

    build_s = time.monotonic() - began
    result = run_solve(instance, solver, **limits, options=solver_options, progress=reporter)
    wall_s = {**result.wall_s, "build": build_s, "total": time.monotonic() - began}
    return loaded, replace(result, wall_s=wall_s, notes=(*loaded.notes, *dag.notes, *result.notes))


def _gpus(job: Job) -> int | None:
    return None if job.spec is None else job.spec.gpus


def _document(job: Job, result: Result) -> dict[str, Any]:
    from fluxscale.provenance import collect

    provenance = collect(instance_sha256=result.instance.sha256, seed=result.seed)
    return result.to_dict(job=job.name, gpus=_gpus(job), provenance=provenance)


def _write(out: Path, job: Job, result: Result, document: dict[str, Any]) -> None:
    from fluxscale.cli.files import write_files

    source = job.describe()
    write_files(out, result.instance, result.schedule, document, provenance=document["provenance"], source=source)


def _print(job: Job, result: Result, document: dict[str, Any], as_json: bool, out: Path | None) -> None:
    from fluxscale.cli.output import print_json, print_text
    from fluxscale.report.text import solve_table

    if as_json:
        print_json(document)
    else:
        print_text(solve_table(result, job=job.name, gpus=_gpus(job), out=None if out is None else str(out)))


def exit_code(result: Result) -> int:
    """Exit code of a result, as the interface page lists them.

    Parameters
    ----------
    result
        What ``solve`` returned.
    """
    from fluxscale.solving.status import Feasibility, Termination

    if result.termination is Termination.INTERRUPTED:
        return 130
    if result.feasibility is Feasibility.CHECKED_BAD:
        return 5
    if result.feasibility is Feasibility.CHECKED_OK:
        return 0
    return {Termination.INFEASIBLE: 3, Termination.ERROR: 6, Termination.MEMORY: 6}.get(result.termination, 4)
