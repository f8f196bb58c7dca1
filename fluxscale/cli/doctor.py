"""``fluxscale doctor``: versions, back ends alive or not, cores, memory."""

from __future__ import annotations

import typer

from fluxscale.cli import options


def doctor(json: options.Json = False) -> None:
    """Probe every back end in a child process; exit code 6 if one that is needed is dead."""
    from fluxscale.cli.output import print_json, print_text
    from fluxscale.doctor import examine
    from fluxscale.report.health import health_text

    findings = examine()
    if json:
        print_json(findings)
    else:
        print_text(health_text(findings))
    raise typer.Exit(0 if findings["healthy"] else 6)
