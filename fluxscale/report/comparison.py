"""What ``compare`` says: one line a scheduler, at most 100 columns, and the same as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fluxscale.compare.comparison import Comparison
from fluxscale.compare.rows import BUFFER_LINES_BYTES, Row, Status, buffer_line, buffer_ratio, document_row, time_ratio
from fluxscale.compare.schedulers import FLUXSCALE
from fluxscale.report.text import ASSUMED, columns, fabric_line, rows
from fluxscale.units import format_size, format_time

HEADER = ("scheduler", "time", "ratio", "reconfig.", "NIC buffer", "used", "best parameters")
TIMES = ("slot", "period", "window")
"""Options that are times: numbers among them are ns."""

_MARKS = tuple(format_size(line).replace(" ", "").replace("iB", "") for line in BUFFER_LINES_BYTES)


def comparison_text(
    comparison: Comparison, *, job: str, gpus: int | None, notes: Sequence[str] = (), out: str | None = None
) -> str:
    """Build the table of ``compare``.

    Parameters
    ----------
    comparison
        What came out.
    job
        Name of the job.
    gpus
        Its GPUs, if known.
    notes
        Of the job.
    out
        Where files went, or None.
    """
    instance, reference = comparison.instance, comparison.fluxscale
    bound = comparison.lower_bound_ns
    assumed = any(note.startswith(ASSUMED) for note in notes)
    head = [
        ("job", job + ("" if gpus is None else f", {gpus:,} GPUs")),
        ("size", f"{instance.n_endpoints:,} endpoints, {instance.n_ops:,} ops, {instance.n_transfers:,} transfers"),
        ("fabric", fabric_line(instance, assumed=assumed)),
        ("lower bound", "none" if bound is None else f"{format_time(bound)} ({bound:,} ns), for plans"),
        (FLUXSCALE, fluxscale_line(reference, bound)),
        ("run", f"seed {comparison.seed}, {comparison.workers} workers, {comparison.wall_s:.1f} s"),
    ]
    table = columns(HEADER, [table_row(row, reference) for row in comparison.rows])
    tail = [("legend", LEGEND), ("buffer ratios", _buffer_ratios(comparison.rows, reference))]
    tail += [("note", note) for note in remarks(comparison.rows, reference)]
    tail += [("note", note) for note in (*notes, *comparison.notes) if not note.startswith(ASSUMED)]
    if comparison.interrupted:
        tail.append(("note", "interrupted: the rows that were not done are missing"))
    if out is not None:
        tail.append(("files", f"in {out}"))
    return f"{rows(head)}\n\n{table}\n\n{rows(tail)}"


LEGEND = (
    f"ratio: to {FLUXSCALE}; NIC buffer: largest eager peak of any port, <{_MARKS[0]} to <{_MARKS[-1]}: the smallest "
    f"of {', '.join(format_size(line) for line in BUFFER_LINES_BYTES)} that holds it; used: share of the time that "
    "circuits are up"
)


def table_row(row: Row, reference: Row | None) -> list[str]:
    """Cells of a scheduler, in the order of ``HEADER``."""
    used = row.circuit_utilisation
    return [
        row.scheduler,
        "-" if row.iteration_time_ns is None else format_time(row.iteration_time_ns),
        ratio_text(time_ratio(row, reference)),
        "-" if row.reconfigurations is None else f"{row.reconfigurations:,}",
        buffer_text(row.eager_bytes),
        "-" if used is None else f"{100 * used:.1f}%",
        str(row.status) if row.status is not Status.OK else parameters_text(row.parameters) or "-",
    ]


def ratio_text(ratio: float | None) -> str:
    """A ratio for people, e.g. 1.25x."""
    if ratio is None:
        return "-"
    if ratio < 0.1:
        return f"{ratio:.2g}x"
    return f"{ratio:.2f}x" if ratio < 100 else f"{ratio:,.0f}x"


def buffer_text(size: int | None) -> str:
    """A peak with the mark of the smallest buffer that holds it."""
    if size is None:
        return "-"
    line = buffer_line(size)
    mark = "" if line is None else f" <{_MARKS[BUFFER_LINES_BYTES.index(line)]}"
    return f"{format_size(size)}{mark}"


def parameters_text(parameters: dict[str, Any]) -> str:
    """An option set for people; times with a unit."""

    def shown(key: str, value: Any) -> str:
        is_time = key in TIMES and isinstance(value, int) and not isinstance(value, bool)
        return f"{key}={format_time(value).replace(' ', '') if is_time else value}"

    return " ".join(shown(key, value) for key, value in parameters.items())


def fluxscale_line(row: Row | None, bound: int | None) -> str:
    """How good the reference is proven to be."""
    if row is None:
        return "not done"
    if row.iteration_time_ns is None:
        return f"{row.status}: {row.notes[0] if row.notes else 'no schedule'}"
    if row.optimal or row.iteration_time_ns == bound:
        return "proven optimal (among schedules that do not cut, spread or relay transfers)"
    if bound is None:
        return "no bound"
    percent = 100 * (row.iteration_time_ns - bound) / row.iteration_time_ns
    return f"gap {percent:.4f} % to the lower bound" if percent < 0.01 else f"gap {percent:.2f} % to the lower bound"


def remarks(found: Iterable[Row], reference: Row | None) -> list[str]:
    """Reasons of the rows without a time, and what a reader may stumble over."""
    found = list(found)
    notes = [f"{row.scheduler}: {note}" for row in found if row.status is not Status.OK for note in row.notes]
    faster = [row for row in found if (time_ratio(row, reference) or 1.0) < 1.0]
    return [*notes, *faster_remarks({row.scheduler: row for row in faster})]


def faster_remarks(faster: Mapping[str, Row]) -> list[str]:
    """Why schedulers can be faster than fluxscale.

    Parameters
    ----------
    faster
        Rows that are, by scheduler.
    """
    notes = []
    # Only plans can be paced: what has a figure for it played by the same rules.
    plans = [name for name, row in faster.items() if row.paced_bytes is not None]
    freer = [name for name, row in faster.items() if row.paced_bytes is None]
    if plans:
        notes.append(f"faster than {FLUXSCALE} by the same rules: {', '.join(plans)}; a longer --time-limit may help")
    if freer:
        notes.append(
            f"faster than {FLUXSCALE}: {', '.join(freer)}; these may cut transfers, spread one over several planes, "
            "relay it, or need no circuits, which a plan may not (fabric.striping=equal lets plans spread them too)"
        )
    return notes


def _buffer_ratios(found: Iterable[Row], reference: Row | None) -> str:
    named = [(row.scheduler, buffer_ratio(row, reference)) for row in found if row.scheduler != FLUXSCALE]
    listed = ", ".join(f"{name} {ratio_text(ratio)}" for name, ratio in named if ratio is not None)
    return f"eager over eager of {FLUXSCALE}, at least 4096 bytes each: {listed}" if listed else "none"


CSV_COLUMNS = (
    "scheduler", "status", "iteration_time_ns", "ratio_to_fluxscale", "reconfigurations", "eager_bytes", "paced_bytes",
    "buffer_ratio_to_fluxscale", "buffer_line_bytes", "circuit_utilisation", "parameters", "optimal", "lower_bound_ns",
    "feasibility", "option_sets", "wall_s", "notes",
)  # fmt: skip


def csv_cells(row: Row, reference: Row | None) -> dict[str, Any]:
    """Cells of a row under ``CSV_COLUMNS``; absent values are empty."""
    document = document_row(row, reference)
    document |= {
        "eager_bytes": row.eager_bytes,
        "paced_bytes": row.paced_bytes,
        "parameters": json.dumps(row.parameters),
        "option_sets": len(row.swept),
        "notes": "; ".join(row.notes),
    }
    return {name: document[name] for name in CSV_COLUMNS}


def csv_text(header: Sequence[str], lines: Iterable[dict[str, Any]]) -> str:
    """Write lines as CSV (RFC 4180)."""
    text = io.StringIO()
    writer = csv.DictWriter(text, header, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def comparison_csv(comparison: Comparison) -> str:
    """Write a comparison as CSV, one line a scheduler."""
    return csv_text(CSV_COLUMNS, [csv_cells(row, comparison.fluxscale) for row in comparison.rows])
