"""``fluxscale sweep JOB``: a comparison at every point of a grid of delays, rates and planes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fluxscale.cli import compare, options

if TYPE_CHECKING:
    from fluxscale.compare.sweep import Sweep
    from fluxscale.workload.load import Job

POINTS_FILE, JSON_FILE, CSV_FILE = "points.jsonl", "sweep.json", "sweep.csv"


def sweep(
    job: Annotated[str, typer.Argument(metavar="JOB", help="Preset name, job TOML or DAG JSON.")],
    delay: Annotated[
        str | None,
        typer.Option("--delay", metavar="A:B:N", help="Reconfiguration delays: 1us:100ms:11 (log-spaced) or 1us,1ms."),
    ] = None,
    rate: Annotated[
        str | None, typer.Option("--rate", metavar="A:B:N", help="Rates of a circuit: 100Gbps:1.6Tbps:5 or a list.")
    ] = None,
    planes: Annotated[
        str | None, typer.Option("--planes", metavar="A:B:N", help="Planes: 1:8:4 (that is 1, 2, 4, 8) or a list.")
    ] = None,
    fabric: options.Fabric = None,
    settings: options.Settings = None,
    schedulers: compare.Names = None,
    time_limit: compare.TimeLimit = None,
    work_limit: compare.WorkLimit = None,
    seed: options.Seed = 0,
    workers: compare.Workers = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Keep JSON, CSV and figure here; the same command again goes on."),
    ] = None,
    figure: Annotated[
        bool | None,
        typer.Option("--figure/--no-figure", help="Draw sweep.png and sweep.svg; default: if matplotlib is there."),
    ] = None,
    json: options.Json = False,
    quiet: compare.Quiet = False,
) -> None:
    """Compare schedulers over reconfiguration delays, rates and planes (exact solvers only if named)."""
    from fluxscale.cli.progress import Reporter
    from fluxscale.cli.settings import split_settings
    from fluxscale.compare.grid import make_grid
    from fluxscale.solving.settings import available_cores, check_settings

    check_settings(time_limit_s=time_limit, work_limit=work_limit, seed=seed, workers=workers)
    grid = make_grid(delay=delay, rate=rate, planes=planes)
    overrides, solver_options = split_settings(settings or [])
    _refuse_twice(overrides, [axis.field for axis in grid.axes])
    _refuse_figure(figure, out)
    if out is not None:
        from fluxscale.cli.files import refuse_unwritable

        refuse_unwritable(out)
    with Reporter(quiet=quiet) as reporter:
        from fluxscale.compare.schedulers import choose
        from fluxscale.compare.sweep import sweep as run_sweep

        names = compare.split_names(schedulers)
        choose(names, field="--schedulers")
        reporter.stage(f"reading {job}")
        from fluxscale.workload.load import load_job

        loaded = load_job(job, fabric_file=fabric, overrides=overrides)
        found = run_sweep(
            loaded,
            grid,
            names,
            options=solver_options,
            seed=seed,
            workers=available_cores() if workers is None else workers,
            time_limit_s=time_limit,
            work_limit=work_limit,
            store=None if out is None else out / POINTS_FILE,
            progress=reporter.stage,
        )
        if out is not None:
            reporter.stage(f"writing {out}")
        _finish(found, loaded, out, figure, json)


def _finish(found: Sweep, job: Job, out: Path | None, figure: bool | None, as_json: bool) -> None:
    from fluxscale.cli.output import print_json, print_text
    from fluxscale.provenance import collect
    from fluxscale.report.sweep import sweep_text

    gpus = None if job.spec is None else job.spec.gpus
    document = found.to_dict(job=job.name, gpus=gpus, provenance=collect(seed=found.seed))
    document["notes"] = [*job.notes, *document["notes"]]
    notes = list(job.notes)
    if out is not None:
        notes += _write(out, found, job, document, figure)
    if as_json:
        print_json(document)
    else:
        print_text(sweep_text(found, job=job.name, gpus=gpus, notes=notes, out=None if out is None else str(out)))
    compare.finish(found.all_rows, interrupted=found.interrupted)


def _write(out: Path, found: Sweep, job: Job, document: dict[str, Any], figure: bool | None) -> list[str]:
    """Write the files, and the figure where it can be drawn; returns what to note."""
    from fluxscale.cli.output import to_json
    from fluxscale.cli.tables import write_files
    from fluxscale.report.figures import can_draw, draw_sweep
    from fluxscale.report.sweep import sweep_csv

    files = {JSON_FILE: (to_json(document) + "\n").encode(), CSV_FILE: sweep_csv(found).encode()}
    notes = []
    if figure is not False and can_draw():
        files |= draw_sweep(found, job=job.name)
    elif figure is None:
        notes.append("no figure: pip install 'fluxscale[plot]' and run the same command again")
    write_files(out, files, field="--out")
    return notes


def _refuse_twice(overrides: list[str], swept: list[str]) -> None:
    from fluxscale.errors import InputError

    for text in overrides:
        key = text.partition("=")[0].strip()
        if key in [f"fabric.{field}" for field in swept]:
            raise InputError("is set and swept at once", field="--set", value=text, maybe="leave one of them out.")


def _refuse_figure(figure: bool | None, out: Path | None) -> None:
    if not figure:
        return
    from fluxscale.errors import InputError
    from fluxscale.report.figures import require_drawing

    if out is None:
        raise InputError("needs a folder for the figure", field="--figure", maybe="add --out DIR.")
    require_drawing()
