"""``fluxscale presets``: the jobs that ship with fluxscale."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fluxscale.cli import options


def presets(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Print this preset's TOML, to copy and change.")
    ] = None,
    json: options.Json = False,
) -> None:
    """List the presets, or print one."""
    from fluxscale.cli.output import print_json, print_text
    from fluxscale.report.text import columns
    from fluxscale.workload.presets import preset_names, preset_text

    if name is not None:
        text = preset_text(name)
        if json:
            print_json({"name": name, "toml": text})
        else:
            print_text(text)
        return
    found = [_facts(known) for known in preset_names()]
    if json:
        print_json(found)
        return
    body = [[fact["name"], f"{fact['gpus']:,}", fact["parallelism"], fact["switch"], fact["source"]] for fact in found]
    print_text(columns(["name", "GPUs", "parallelism", "switch", "source"], body))


def _facts(name: str) -> dict[str, Any]:
    from fluxscale.units import format_rate, format_time
    from fluxscale.workload.load import load_job

    job = load_job(name)
    if job.spec is None:
        raise AssertionError(f"preset {name} is not a job")
    cut, fabric = job.spec.parallel, job.fabric
    chunks = f" x{cut.virtual_stages}" if cut.virtual_stages > 1 else ""
    return {
        "name": name,
        "gpus": job.spec.gpus,
        "parallelism": f"tp{cut.tp} pp{cut.pp}{chunks} dp{cut.dp}",
        "switch": f"{format_rate(fabric.rate)} {format_time(fabric.reconfiguration_delay)}",
        "fabric": fabric.describe(),
        "source": job.spec.source,
    }
