"""``fluxscale compare JOB``: the same job under every scheduler, one table, one row each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fluxscale.cli import options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fluxscale.compare.rows import Row

JSON_FILE, CSV_FILE = "compare.json", "compare.csv"

Names = Annotated[
    str | None,
    typer.Option("--schedulers", metavar="A,B,...", help="Only these (fluxscale is always there, for the ratios)."),
]
TimeLimit = Annotated[
    float | None,
    typer.Option("--time-limit", metavar="SECONDS", help="Wall clock of fluxscale's and the exact solvers' search."),
]
WorkLimit = Annotated[
    int | None, typer.Option("--work-limit", metavar="N", help="Reproducible limit of the same, in the solver's unit.")
]
Workers = Annotated[
    int | None, typer.Option("--workers", metavar="N", help="Processes; never changes the rows. Default: all cores.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]


def compare(
    job: Annotated[str, typer.Argument(metavar="JOB", help="Preset name, job TOML or DAG JSON.")],
    fabric: options.Fabric = None,
    settings: options.Settings = None,
    schedulers: Names = None,
    time_limit: TimeLimit = None,
    work_limit: WorkLimit = None,
    seed: options.Seed = 0,
    workers: Workers = None,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write the table as CSV.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help=f"Keep {JSON_FILE} and {CSV_FILE} here.")
    ] = None,
    json: options.Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare schedulers on one job, each at its best slot or period (--set solver.KEY=VALUE settles one)."""
    from fluxscale.cli.output import print_json, print_text, to_json
    from fluxscale.cli.progress import Reporter
    from fluxscale.cli.settings import split_settings
    from fluxscale.cli.tables import refuse_unwritable_file, write_files
    from fluxscale.solving.settings import available_cores, check_settings

    check_settings(time_limit_s=time_limit, work_limit=work_limit, seed=seed, workers=workers)
    overrides, solver_options = split_settings(settings or [])
    if out is not None:
        from fluxscale.cli.files import refuse_unwritable

        refuse_unwritable(out)
    if csv is not None:
        refuse_unwritable_file(csv, "--csv")
    with Reporter(quiet=quiet) as reporter:
        from fluxscale.compare.schedulers import choose, share_options

        names = split_names(schedulers)
        # A misspelt name or option should not cost the time of building the instance.
        share_options(choose(names, 0, field="--schedulers")[0], solver_options)
        reporter.stage(f"reading {job}")
        from fluxscale.compare.comparison import compare as run_compare
        from fluxscale.instance.build import build_dag_and_instance
        from fluxscale.workload.load import load_job

        loaded = load_job(job, fabric_file=fabric, overrides=overrides)
        reporter.stage("building the instance")
        dag, instance = build_dag_and_instance(loaded)
        found = run_compare(
            instance,
            names,
            options=solver_options,
            seed=seed,
            workers=available_cores() if workers is None else workers,
            time_limit_s=time_limit,
            work_limit=work_limit,
            progress=reporter.stage,
        )
    from fluxscale.provenance import collect
    from fluxscale.report.comparison import comparison_csv, comparison_text

    gpus = None if loaded.spec is None else loaded.spec.gpus
    notes = (*loaded.notes, *dag.notes)
    document = found.to_dict(job=loaded.name, gpus=gpus, provenance=collect(instance_sha256=instance.sha256, seed=seed))
    document["notes"] = [*notes, *document["notes"]]
    if out is not None:
        files = {JSON_FILE: (to_json(document) + "\n").encode(), CSV_FILE: comparison_csv(found).encode()}
        write_files(out, files, field="--out")
    if csv is not None:
        write_files(csv.parent, {csv.name: comparison_csv(found).encode()}, field="--csv")
    if json:
        print_json(document)
    else:
        where = " and ".join(str(place) for place in (out, csv) if place is not None)
        print_text(comparison_text(found, job=loaded.name, gpus=gpus, notes=notes, out=where or None))
    finish(found.rows, interrupted=found.interrupted)


def split_names(text: str | None) -> list[str] | None:
    """Names out of a list with commas; None: not given."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def finish(rows: Iterable[Row], *, interrupted: bool = False) -> None:
    """Leave with the exit code of the rows: what failed or broke a rule weighs more than what was refused.

    Parameters
    ----------
    rows
        What was found; one good row among refused ones is success.
    interrupted
        Whether Ctrl-C ended it.

    Raises
    ------
    FluxscaleError
        If it is no success.
    """
    from fluxscale.compare.rows import Status
    from fluxscale.compare.schedulers import FLUXSCALE
    from fluxscale.errors import BackendError, CheckFailedError, InfeasibleError, NoScheduleError, UnsupportedError

    if interrupted:
        raise KeyboardInterrupt
    by_status: dict[Status, list[Row]] = {}
    for row in rows:
        by_status.setdefault(row.status, []).append(row)

    def said(status: Status) -> str:
        first = by_status[status][0]
        return f"{first.scheduler}: {(first.notes or (str(status),))[-1]}".rstrip(".")

    if Status.FAILED in by_status:
        raise BackendError(said(Status.FAILED))
    if Status.BROKEN in by_status:
        raise CheckFailedError(said(Status.BROKEN))
    good = by_status.get(Status.OK, [])
    # Schedulers to compare with run without a buffer limit, so theirs says nothing of whether it can be kept.
    if Status.INFEASIBLE in by_status and all(row.scheduler != FLUXSCALE for row in good):
        raise InfeasibleError(said(Status.INFEASIBLE))
    if good:
        return
    if Status.NO_SCHEDULE in by_status:
        raise NoScheduleError(said(Status.NO_SCHEDULE))
    raise UnsupportedError(f"every scheduler refuses this job; {said(Status.REFUSED)}")
