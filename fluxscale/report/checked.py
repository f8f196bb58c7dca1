"""What ``check`` says, as JSON and for people."""

from __future__ import annotations

import textwrap
from typing import Any

from fluxscale.instance.instance import Instance
from fluxscale.report.text import WIDTH, rows
from fluxscale.schedule.schedule import Schedule
from fluxscale.units import format_time
from fluxscale.validate.report import ValidationReport
from fluxscale.validate.violations import KINDS


def check_document(instance: Instance, schedule: Schedule, report: ValidationReport) -> dict[str, Any]:
    """Build the JSON document of ``check --json``; times are in ns.

    Parameters
    ----------
    instance, schedule
        What was checked.
    report
        What was found.
    """
    tick = instance.tick_ns
    return {
        "format": "fluxscale-check",
        "version": 1,
        "instance_sha256": instance.sha256,
        "schedule_sha256": schedule.sha256,
        "ok": report.ok,
        "iteration_time_ns": report.iteration_time_ticks * tick,
        "counts": report.counts,
        "n_checked": report.n_checked,
        "violations": [
            {
                "code": violation.code,
                "kind": violation.kind,
                "entity": violation.entity,
                "time_ns": violation.time_ticks * tick,
                # FX016 counts ports; for the others amounts are times
                "amount": violation.amount_ticks if violation.code == "FX016" else violation.amount_ticks * tick,
                "message": violation.message,
            }
            for violation in report.violations
        ],
    }


def check_text(instance: Instance, schedule: Schedule, report: ValidationReport) -> str:
    """Write a validation report for people: a summary, then every violation that was listed.

    Parameters
    ----------
    instance, schedule
        What was checked.
    report
        What was found.
    """
    total = sum(report.counts.values())
    time_ns = report.iteration_time_ticks * instance.tick_ns
    looked_at = ", ".join(f"{count:,} {what}" for what, count in report.n_checked.items())
    verdict = "ok: no violation" if report.ok else f"BAD: {total:,} {'violation' if total == 1 else 'violations'}"
    pairs = [
        ("check", verdict),
        ("iteration time", f"{format_time(time_ns)} ({time_ns:,} ns)"),
        ("looked at", looked_at),
        ("instance", instance.sha256[:16]),
        ("schedule", schedule.sha256[:16]),
    ]
    pairs += [(code, f"{count:,} x {KINDS.get(code, 'unknown rule')}") for code, count in report.counts.items()]
    lines = [rows(pairs)]
    if report.violations:
        lines.append("")
    for violation in report.violations:
        at = format_time(violation.time_ticks * instance.tick_ns)
        text = f"{violation.code} at {at}: {violation.message}"
        lines += textwrap.wrap(text, WIDTH, subsequent_indent=" " * 6, break_on_hyphens=False)
    if total > len(report.violations):
        lines.append(f"... and {total - len(report.violations):,} more (--limit 0 lists all)")
    return "\n".join(lines)
