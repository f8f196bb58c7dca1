"""``fluxscale schema KIND``: JSON Schema of every file that fluxscale reads."""

from __future__ import annotations

from typing import Annotated

import typer

KINDS = ("job", "fabric", "dag", "schedule")


def schema(kind: Annotated[str, typer.Argument(metavar="job|fabric|dag|schedule", help="Which file.")]) -> None:
    """Print the JSON Schema of a file, with every field explained."""
    from fluxscale.cli.output import print_json
    from fluxscale.errors import InputError, did_you_mean

    if kind not in KINDS:
        raise InputError("unknown kind of file", field="schema", value=kind, maybe=did_you_mean(kind, KINDS))
    if kind == "schedule":
        from fluxscale.schedule.schema import schedule_schema

        print_json(schedule_schema())
    else:
        from fluxscale.workload.schemas import json_schema

        print_json(json_schema(kind))
