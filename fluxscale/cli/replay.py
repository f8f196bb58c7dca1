"""``fluxscale replay SCHEDULE``: execute a schedule, with optional jitter."""

from __future__ import annotations

from typing import Annotated

import typer

from fluxscale.cli import options


def replay(
    schedule: options.Schedule,
    instance: options.InstanceFile = None,
    job: options.Job = None,
    fabric: options.Fabric = None,
    settings: options.Settings = None,
    jitter: Annotated[
        float, typer.Option("--jitter", metavar="X", help="Ops take up to this fraction longer, e.g. 0.05.")
    ] = 0.0,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Execute a schedule: iteration time, lateness, NIC buffers."""
    from fluxscale.cli.locate import locate, schedule_file
    from fluxscale.cli.output import print_json, print_text
    from fluxscale.report.replayed import replay_document, replay_text
    from fluxscale.schedule.io import load_schedule
    from fluxscale.simulate.buffers import peak_buffers
    from fluxscale.simulate.replay import replay as run_replay
    from fluxscale.solving.settings import check_settings

    check_settings(seed=seed)
    saved = load_schedule(schedule_file(schedule))
    found, bound = locate(saved, job=job, instance_file=instance, fabric_file=fabric, overrides=settings or [])
    played = run_replay(found, bound, jitter=jitter, seed=seed)
    peaks = peak_buffers(found, played.op_start_ticks, played.op_end_ticks, bound.leg_plane)
    facts = replay_document(found, bound, played, peaks, jitter=jitter, seed=seed)
    if json:
        print_json(facts)
    else:
        print_text(replay_text(facts))
