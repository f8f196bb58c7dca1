"""One row of a comparison: a scheduler at the best of its option sets, and what all of them gave."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

BUFFER_LINES_BYTES = (256 * 2**10, 2**20, 16 * 2**20, 64 * 2**20)
"""Buffers of real NICs and switches that a peak is held against: 256 KiB, 1 MiB, 16 MiB, 64 MiB."""

BUFFER_FLOOR_BYTES = 4096
"""One packet: an empty buffer counts as this much in a ratio."""


class Status(StrEnum):
    """How a scheduler fared."""

    OK = "ok"
    REFUSED = "refused"
    """It cannot honour the job or its options."""
    INFEASIBLE = "infeasible"
    """It proved that no schedule exists."""
    NO_SCHEDULE = "no-schedule"
    """It found none within its limit."""
    BROKEN = "broken"
    """Its schedule does not pass the check."""
    FAILED = "failed"
    """It crashed, or contradicted itself."""
    INTERRUPTED = "interrupted"


FINAL = (Status.OK, Status.REFUSED, Status.INFEASIBLE, Status.NO_SCHEDULE, Status.BROKEN)
"""What another try would give again."""


@dataclass(frozen=True)
class Tried:
    """One option set that was tried; without a time it was cut off or refused, and ``note`` says so."""

    parameters: dict[str, Any]
    iteration_time_ns: int | None
    reconfigurations: int | None = None
    note: str | None = None


@dataclass(frozen=True)
class Row:
    """A scheduler at its best; absent values are None.

    Attributes
    ----------
    scheduler, status, parameters
        Who ran, how it fared, and the option set that was best.
    iteration_time_ns, reconfigurations, circuit_utilisation, eager_bytes, paced_bytes
        What came out of it: smallest iteration time, then fewest reconfigurations, then first tried.
    lower_bound_ns, optimal
        Bound that it proved for plans, and whether its plan reaches it.
    feasibility, termination
        What the check found, and why the scheduler stopped.
    notes, wall_s
        What a reader should know, and the seconds that all option sets took together.
    swept
        Every option set that was tried, in order.
    """

    scheduler: str
    status: Status
    parameters: dict[str, Any]
    iteration_time_ns: int | None = None
    reconfigurations: int | None = None
    circuit_utilisation: float | None = None
    eager_bytes: int | None = None
    paced_bytes: int | None = None
    lower_bound_ns: int | None = None
    optimal: bool = False
    feasibility: str = "none"
    termination: str | None = None
    notes: tuple[str, ...] = ()
    wall_s: float = 0.0
    swept: tuple[Tried, ...] = ()

    def to_record(self) -> dict[str, Any]:
        """Plain data of the row, for a file that is read back."""
        return {**asdict(self), "status": str(self.status), "notes": list(self.notes)} | {
            "swept": [asdict(one) for one in self.swept]
        }


def row_from_record(record: Any) -> Row:
    """Make a row again from :meth:`Row.to_record`; the record is not trusted.

    Raises
    ------
    ValueError
        If it is no such record.
    """
    if not isinstance(record, dict) or set(record) != {field.name for field in fields(Row)}:
        raise ValueError("no record of a row")
    _expect(record, (str,), "scheduler", "feasibility", "status")
    _expect(record, (str, type(None)), "termination")
    _expect(record, (dict,), "parameters")
    _expect(record, (bool,), "optimal")
    _expect(record, (list,), "notes", "swept")
    _expect(record, (int, float), "wall_s")
    _expect(record, (int, float, type(None)), "circuit_utilisation")
    counts = ("iteration_time_ns", "reconfigurations", "eager_bytes", "paced_bytes", "lower_bound_ns")
    _expect(record, (int, type(None)), *counts)
    if any((record[name] or 0) < 0 for name in counts) or not all(isinstance(note, str) for note in record["notes"]):
        raise ValueError("a count below zero, or a note that is no text")
    if (record["iteration_time_ns"] is None) == (record["status"] == Status.OK):
        raise ValueError("a time without success, or success without a time")
    tried = tuple(_tried(one) for one in record["swept"])
    return Row(**{**record, "status": Status(record["status"]), "notes": tuple(record["notes"]), "swept": tried})


def _expect(record: dict[str, Any], kinds: tuple[type, ...], *names: str) -> None:
    for name in names:
        value = record[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise ValueError(f"{name} is of the wrong kind")


def _tried(record: Any) -> Tried:
    if not isinstance(record, dict) or set(record) != {field.name for field in fields(Tried)}:
        raise ValueError("no record of an option set")
    _expect(record, (dict,), "parameters")
    _expect(record, (int, type(None)), "iteration_time_ns", "reconfigurations")
    _expect(record, (str, type(None)), "note")
    return Tried(**record)


def time_ratio(row: Row, reference: Row | None) -> float | None:
    """Iteration time over that of the reference, or None where one of them is missing or the reference takes no time.

    Parameters
    ----------
    row, reference
        The rows.
    """
    if reference is None or row.iteration_time_ns is None or not reference.iteration_time_ns:
        return None
    return row.iteration_time_ns / reference.iteration_time_ns


def buffer_ratio(row: Row, reference: Row | None) -> float | None:
    """Eager peak buffer over that of the reference (eager over eager), each counted as one packet at least.

    Parameters
    ----------
    row, reference
        The rows.
    """
    if reference is None or row.eager_bytes is None or reference.eager_bytes is None:
        return None
    return max(row.eager_bytes, BUFFER_FLOOR_BYTES) / max(reference.eager_bytes, BUFFER_FLOOR_BYTES)


def buffer_line(size: int | None) -> int | None:
    """Smallest buffer of ``BUFFER_LINES_BYTES`` that holds a peak, or None."""
    if size is None:
        return None
    return next((line for line in BUFFER_LINES_BYTES if size <= line), None)


def document_row(row: Row, reference: Row | None) -> dict[str, Any]:
    """Write a row as in ``compare --json``.

    Parameters
    ----------
    row
        The row.
    reference
        The row of fluxscale, or None.
    """
    return {
        "scheduler": row.scheduler,
        "status": str(row.status),
        "iteration_time_ns": row.iteration_time_ns,
        "ratio_to_fluxscale": time_ratio(row, reference),
        "reconfigurations": row.reconfigurations,
        "peak_nic_buffer_bytes": {"eager": row.eager_bytes, "paced": row.paced_bytes},
        "buffer_ratio_to_fluxscale": buffer_ratio(row, reference),
        "buffer_line_bytes": buffer_line(row.eager_bytes),
        "circuit_utilisation": row.circuit_utilisation,
        "parameters": row.parameters,
        "optimal": row.optimal,
        "lower_bound_ns": row.lower_bound_ns,
        "feasibility": row.feasibility,
        "termination": row.termination,
        "notes": list(row.notes),
        "wall_s": row.wall_s,
        "swept": [asdict(one) for one in row.swept],
    }
