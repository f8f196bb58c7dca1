"""The tables of ``doctor``."""

from __future__ import annotations

from typing import Any

from fluxscale.report.text import columns, rows
from fluxscale.units import format_size


def health_text(findings: dict[str, Any]) -> str:
    """Write the findings of :func:`fluxscale.doctor.examine` for people.

    Parameters
    ----------
    findings
        The JSON document.
    """
    machine = findings["machine"]
    memory = machine["memory_bytes"]
    versions = ", ".join(f"{name} {found or 'missing'}" for name, found in findings["versions"].items())
    git = findings["git"]
    checkout = (
        "installed package"
        if git is None
        else f"commit {git['commit'][:12]}" + (" with changes" if git["dirty"] else "")
    )
    head = rows(
        [
            ("fluxscale", f"{findings['fluxscale']} ({checkout})"),
            ("versions", versions),
            (
                "machine",
                f"{machine['cpu'] or 'unknown'}, {machine['usable_cores']} of {machine['cores']} cores usable",
            ),
            ("memory", "unknown" if memory is None else format_size(memory)),
            ("platform", machine["platform"]),
        ]
    )
    body = [
        [
            found["name"],
            "alive" if found["alive"] else ("DEAD" if found["required"] else "dead (optional)"),
            f"{found['seconds']:.1f} s",
            found["message"],
        ]
        for found in findings["backends"]
    ]
    verdict = "everything that is needed works" if findings["healthy"] else "a back end that is needed is dead"
    return "\n\n".join([head, columns(["back end", "state", "probe", "says"], body), verdict])
