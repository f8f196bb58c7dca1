"""What ``sweep`` says: schedulers as lines, points as columns, at most 100 columns wide, and the same as CSV."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from fluxscale.compare.grid import Point
from fluxscale.compare.rows import Row, Status, time_ratio
from fluxscale.compare.schedulers import FLUXSCALE
from fluxscale.compare.sweep import Sweep
from fluxscale.report.comparison import CSV_COLUMNS, csv_cells, csv_text, faster_remarks, ratio_text, remarks
from fluxscale.report.text import ASSUMED, columns, rows
from fluxscale.units import format_size, format_time

POINTS_ABREAST = 7
"""Columns of points that fit beside the names."""

OPTIMAL = "*"

_TIMES = f"iteration time: {FLUXSCALE}'s own, the others' over it"
_BUFFERS = "NIC buffer: largest eager peak of any port"

Found = tuple[Point, dict[str, Row]]


def sweep_text(swept: Sweep, *, job: str, gpus: int | None, notes: Sequence[str] = (), out: str | None = None) -> str:
    """Build the tables of ``sweep``.

    Parameters
    ----------
    swept
        What came out.
    job
        Name of the job.
    gpus
        Its GPUs, if known.
    notes
        Of the job and of the files.
    out
        Where files went, or None.
    """
    axes = ", ".join(
        f"{len(axis.values)} x {axis.name} {axis.shown(axis.values[0])}"
        + (f" to {axis.shown(axis.values[-1])}" if len(axis.values) > 1 else "")
        for axis in swept.grid.axes
    )
    resumed = f", {swept.resumed} rows from an earlier run" if swept.resumed else ""
    head = [
        ("job", job + ("" if gpus is None else f", {gpus:,} GPUs")),
        ("sweep", f"{axes}: {len(swept.rows)} point{'s' * (len(swept.rows) != 1)}, {len(swept.schedulers)} schedulers"),
        ("run", f"seed {swept.seed}, {swept.workers} workers, {swept.wall_s:.1f} s{resumed}"),
    ]
    parts = [rows(head)]
    for shown, group in groups(swept):
        where = f" ({shown})" if shown else ""
        for title, cell in ((_TIMES, _time), (_BUFFERS, _buffer)):
            parts += [_matrix(title + where, block, swept, cell) for block in blocks(group)]
    tail = [("legend", f"{OPTIMAL} proven optimal; - no result; each scheduler at its best parameters (see the CSV)")]
    tail += [("note", note) for note in _remarks(swept)]
    tail += [("note", note) for note in (*notes, *swept.notes, *swept.resume_notes) if not note.startswith(ASSUMED)]
    if any(note.startswith(ASSUMED) for note in notes):
        tail.append(("note", "the rest of the fabric is assumed; --fabric or --set fabric.KEY=VALUE states it"))
    if swept.interrupted:
        tail.append(("note", "interrupted: rows are missing" + ("; the same command goes on" if out else "")))
    if out is not None:
        tail.append(("files", f"in {out}"))
    parts.append(rows(tail))
    return "\n\n".join(parts)


def groups(swept: Sweep) -> list[tuple[str, list[Found]]]:
    """Points that differ only along the main axis, with what they have in common in words.

    Parameters
    ----------
    swept
        The sweep.
    """
    name = swept.grid.main.name
    by_rest: dict[str, list[Found]] = {}
    for point, found in swept.rows:
        by_rest.setdefault(point.shown(skip=name), []).append((point, found))
    return list(by_rest.items())


def blocks(group: list[Found]) -> list[list[Found]]:
    """Cut a line of points into pieces of about the same length that fit the page."""
    count = -(-len(group) // POINTS_ABREAST)
    edges = [len(group) * k // count for k in range(count + 1)]
    return [group[first:last] for first, last in itertools.pairwise(edges)]


def _matrix(title: str, block: list[Found], swept: Sweep, cell: Callable[[Row, Row | None], str]) -> str:
    main = swept.grid.main
    header = [main.name, *(main.shown(dict(point.values)[main]) for point, _ in block)]
    body = [
        [name, *(cell(found[name], found.get(FLUXSCALE)) if name in found else "-" for _, found in block)]
        for name in swept.schedulers
    ]
    return f"{title}\n{columns(header, body)}"


def _time(row: Row, reference: Row | None) -> str:
    if row.iteration_time_ns is None:
        return "-"
    mark = OPTIMAL if row.optimal else ""
    if row.scheduler == FLUXSCALE or reference is None or reference.iteration_time_ns is None:
        return format_time(row.iteration_time_ns) + mark
    return ratio_text(time_ratio(row, reference)) + mark


def _buffer(row: Row, _: Row | None) -> str:
    return "-" if row.eager_bytes is None else format_size(row.eager_bytes)


def _remarks(swept: Sweep) -> list[str]:
    """Each reason once, with the number of points that it holds at; the remark on faster rows once for all."""
    counts: dict[str, int] = {}
    faster: dict[str, Row] = {}
    for _, found in swept.rows:
        reference = found.get(FLUXSCALE)
        faster |= {name: row for name, row in found.items() if (time_ratio(row, reference) or 1.0) < 1.0}
        for note in remarks([row for row in found.values() if row.status is not Status.OK], None):
            counts[note] = counts.get(note, 0) + 1
    said = [note if count == 1 else f"{note} (at {count} points)" for note, count in list(counts.items())[:12]]
    if len(counts) > 12:
        said.append(f"and {len(counts) - 12} more reasons; see the CSV")
    return said + faster_remarks({name: faster[name] for name in swept.schedulers if name in faster})


def sweep_csv(swept: Sweep) -> str:
    """Write a sweep as CSV, one line for each point and scheduler.

    Parameters
    ----------
    swept
        The sweep.
    """
    header = [*(axis.key for axis in swept.grid.axes), *CSV_COLUMNS]
    lines = [
        {**point.document, **csv_cells(found[name], found.get(FLUXSCALE))}
        for point, found in swept.rows
        for name in swept.schedulers
        if name in found
    ]
    return csv_text(header, lines)
