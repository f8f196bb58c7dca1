"""Options that several commands share, as annotated types."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, everything else on stderr.")]
Fabric = Annotated[Path | None, typer.Option("--fabric", metavar="FILE", help="Fabric TOML; replaces the job's own.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any field of job or fabric, e.g. fabric.reconfiguration_delay=25ms. Repeatable.",
    ),
]
Schedule = Annotated[
    Path, typer.Argument(metavar="SCHEDULE", help="Schedule file (.json or .npz), or a folder that solve --out wrote.")
]
Job = Annotated[
    str | None, typer.Option("--job", metavar="JOB", help="Job that the schedule is for, if the file does not say.")
]
InstanceFile = Annotated[
    Path | None, typer.Option("--instance", metavar="FILE", help="Instance file that the schedule is for.")
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Root seed of everything random.")]
