"""``fluxscale check SCHEDULE``: every violation of a schedule, ours or not."""

from __future__ import annotations

from typing import Annotated

import typer

from fluxscale.cli import options


def check(
    schedule: options.Schedule,
    instance: options.InstanceFile = None,
    job: options.Job = None,
    fabric: options.Fabric = None,
    settings: options.Settings = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, help="List at most this many violations; 0: all.")
    ] = 1000,
    json: options.Json = False,
) -> None:
    """Check a schedule independently of whoever made it; exit code 5 if it breaks a rule."""
    from fluxscale.cli.locate import locate, schedule_file
    from fluxscale.cli.output import print_json, print_text
    from fluxscale.report.checked import check_document, check_text
    from fluxscale.schedule.io import load_schedule
    from fluxscale.validate.checker import check as run_check

    saved = load_schedule(schedule_file(schedule))
    found, bound = locate(saved, job=job, instance_file=instance, fabric_file=fabric, overrides=settings or [])
    report = run_check(found, bound, max_listed=limit or 10**9)
    if json:
        print_json(check_document(found, bound, report))
    else:
        print_text(check_text(found, bound, report))
    raise typer.Exit(0 if report.ok else 5)
