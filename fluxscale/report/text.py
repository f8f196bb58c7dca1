"""The closing table of ``solve``, and how tables are laid out: plain text, units everywhere, at most 100 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from fluxscale.instance.instance import BOUNDARY_NAMES, Instance
from fluxscale.solving.result import Result
from fluxscale.solving.status import Feasibility
from fluxscale.units import format_rate, format_size, format_time

WIDTH = 100
_LABEL = 20

ASSUMED = "fabric assumed"
"""Beginning of the note with which a job says that its fabric is a default."""


def rows(pairs: Iterable[tuple[str, str]]) -> str:
    """Lay out label and value, long values wrapped under themselves.

    Parameters
    ----------
    pairs
        Labels (up to 18 characters) and values.
    """
    lines: list[str] = []
    for label, value in pairs:
        indent = " " * _LABEL
        lines += textwrap.wrap(
            value, WIDTH, initial_indent=label.ljust(_LABEL), subsequent_indent=indent, break_on_hyphens=False
        ) or [label]
    return "\n".join(lines)


def columns(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Lay out a table with a header; the last column wraps under itself so that lines stay within 100 columns.

    Parameters
    ----------
    header
        Column names.
    body
        Rows of the same length.
    """
    widths = [max(len(row[k]) for row in [header, *body]) for k in range(len(header) - 1)]
    lines: list[str] = []
    for row in [header, *body]:
        first = "".join(cell.ljust(width + 2) for cell, width in zip(row[:-1], widths, strict=True))
        wrapped = textwrap.wrap(
            row[-1], WIDTH, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False
        )
        lines += wrapped or [first.rstrip()]
    return "\n".join(lines)


def fabric_line(instance: Instance, *, assumed: bool = False) -> str:
    """Describe an instance's fabric in one line.

    Parameters
    ----------
    instance
        The instance.
    assumed
        Whether nobody stated the fabric, so that the preset's default is used.
    """
    delay = _all_of(instance.plane_delay_ticks * instance.tick_ns, format_time)
    parts = [
        f"{instance.n_planes} {'plane' if instance.n_planes == 1 else 'planes'}",
        f"{_all_of(instance.plane_rate_bps, format_rate)} per circuit",
        f"reconfiguration delay {delay}",
        _all_of(instance.plane_all_stop, lambda stop: "all-stop" if stop else "per-port"),
        _all_of(instance.plane_duplex, lambda duplex: "duplex" if duplex else "simplex"),
        f"boundary {BOUNDARY_NAMES[instance.boundary]}",
        "radix " + _all_of(instance.plane_radix, lambda radix: str(radix) if radix else "unlimited"),
    ]
    return ", ".join(parts) + (" (assumed; --fabric or --set fabric.KEY=VALUE changes it)" if assumed else "")


def _all_of(values: np.ndarray, show: Callable[[Any], str]) -> str:
    """One text for all planes, or the different ones joined."""
    different = sorted(set(values.tolist()))
    return (
        "/".join(show(value) for value in different[:3]) + ("/..." if len(different) > 3 else "")
        if different
        else "none"
    )


def solve_table(
    result: Result,
    *,
    job: str,
    gpus: int | None,
    out: str | None = None,
) -> str:
    """Build the closing table of ``solve``.

    Parameters
    ----------
    result
        What was found.
    job
        Name of the job.
    gpus
        Its GPUs, if known.
    out
        Folder that the files went to, or None.
    """
    instance = result.instance
    pairs = [
        ("job", job + ("" if gpus is None else f", {gpus:,} GPUs")),
        ("size", f"{instance.n_endpoints:,} endpoints, {instance.n_ops:,} ops, {instance.n_transfers:,} transfers"),
        ("fabric", fabric_line(instance, assumed=any(note.startswith(ASSUMED) for note in result.notes))),
        ("symmetry", result.symmetry or "not used: every endpoint was scheduled"),
        ("solver", f"{result.solver}, seed {result.seed}, {result.workers} workers"),
        ("iteration time", _time(result.iteration_time_ns)),
        ("lower bound", _bound(result)),
        ("gap", _gap(result)),
        ("termination", str(result.termination)),
        ("check", _check(result)),
    ]
    if result.metrics is not None:
        used = result.metrics.circuit_utilisation
        pairs.append(("reconfigurations", f"{result.metrics.reconfigurations:,}"))
        pairs.append(
            (
                "circuit utilisation",
                "no circuits" if used is None else f"{100 * used:.2f} % of the time that circuits are up",
            )
        )
    if result.buffers is not None:
        eager, paced = result.buffers.eager_bytes, result.buffers.paced_bytes
        text = f"{format_size(eager)} eager" + ("" if paced is None else f", {format_size(paced)} paced")
        pairs.append(("peak NIC buffer", f"{text} (largest of any port)"))
    pairs.append(("wall time", _wall(result)))
    pairs += [("note", note) for note in result.notes if not note.startswith(ASSUMED)]
    if result.run is not None:
        pairs.append(("files", f"result and instance in {out}" if out else "none: add --out DIR to keep the result"))
        pairs.append(("note", "this scheduler cuts transfers as its circuits come and go: there is no schedule file"))
    elif result.schedule is not None:
        pairs.append(("files", f"in {out}" if out else "none: add --out DIR to keep the schedule"))
    return rows(pairs)


def _time(ns: int | None) -> str:
    return "none" if ns is None else f"{format_time(ns)} ({ns:,} ns)"


def _bound(result: Result) -> str:
    if result.run is not None:
        return "none: the bounds hold for plans, which neither cut nor spread a transfer"
    named = f" by {result.lower_bound_name}" if result.lower_bound_name else ""
    return _time(result.lower_bound_ns) + named


def _gap(result: Result) -> str:
    if result.gap is None:
        return "unknown"
    percent = 100 * result.gap
    shown = f"{percent:.4f}" if 0 < percent < 0.01 else f"{percent:.2f}"
    return f"{shown} % = (iteration time - lower bound) / iteration time"


def _check(result: Result) -> str:
    if result.run is not None and result.feasibility is Feasibility.CHECKED_OK:
        how = "op by op (no pieces kept)" if result.run.trace is None else "piece by piece and circuit by circuit"
        return f"{result.feasibility}: the independent check found no violation, {how}"
    if result.feasibility is Feasibility.CHECKED_OK:
        return f"{result.feasibility}: the independent check found no violation, the replay agrees"
    if result.feasibility is Feasibility.CHECKED_BAD:
        return f"{result.feasibility}: {result.violations:,} violations (run fluxscale check on the schedule)"
    return "none: there is no checked schedule"


def _wall(result: Result) -> str:
    named = [(part, result.wall_s.get(part)) for part in ("build", "solve", "check", "total")]
    return ", ".join(f"{part} {seconds:.2f} s" for part, seconds in named if seconds is not None)
