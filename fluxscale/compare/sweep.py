"""A comparison at every point of a grid of fabrics, resumable."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fluxscale.compare.chain import Limits, Tell
from fluxscale.compare.grid import Grid, Point
from fluxscale.compare.pool import Task, run_tasks
from fluxscale.compare.rows import BUFFER_LINES_BYTES, Row, document_row
from fluxscale.compare.schedulers import FLUXSCALE, choose, share_options
from fluxscale.compare.sources import Built, with_fabric
from fluxscale.compare.store import Store, job_hash, task_key
from fluxscale.errors import InputError
from fluxscale.solving.settings import check_settings
from fluxscale.workload.job import Job

SWEEP_FORMAT, SWEEP_VERSION = "fluxscale-sweep", 1


@dataclass(frozen=True)
class Sweep:
    """Rows of all schedulers at all points.

    Attributes
    ----------
    grid, schedulers
        What was asked for.
    rows
        For each point, in order, the rows that are done by scheduler.
    seed, workers
        As used.
    notes
        What a reader should know.
    resumed
        Rows that an earlier run had left.
    resume_notes
        Lines of the earlier run's file that did not count.
    wall_s
        Seconds that this run took.
    interrupted
        Whether rows are missing because of Ctrl-C.
    """

    grid: Grid
    schedulers: tuple[str, ...]
    rows: tuple[tuple[Point, dict[str, Row]], ...]
    seed: int
    workers: int
    notes: tuple[str, ...] = ()
    resumed: int = 0
    resume_notes: tuple[str, ...] = ()
    wall_s: float = 0.0
    interrupted: bool = False

    @property
    def all_rows(self) -> list[Row]:
        """All rows, point by point, schedulers in order."""
        return [found[name] for _, found in self.rows for name in self.schedulers if name in found]

    def documents(self) -> list[dict[str, Any]]:
        """Rows as in ``compare --json``, each with the values of its point."""
        return [
            {**point.document, **document_row(found[name], found.get(FLUXSCALE))}
            for point, found in self.rows
            for name in self.schedulers
            if name in found
        ]

    def to_dict(
        self, *, job: str | None = None, gpus: int | None = None, provenance: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Build the JSON document of ``sweep --json``.

        Parameters
        ----------
        job, gpus, provenance
            As in :meth:`fluxscale.compare.comparison.Comparison.to_dict`.
        """
        return {
            "format": SWEEP_FORMAT,
            "version": SWEEP_VERSION,
            "job": job,
            "seed": self.seed,
            "workers": self.workers,
            "gpus": gpus,
            "axes": {axis.key: list(axis.values) for axis in self.grid.axes},
            "schedulers": list(self.schedulers),
            "buffer_lines_bytes": list(BUFFER_LINES_BYTES),
            "rows": self.documents(),
            "notes": list(self.notes),
            "interrupted": self.interrupted,
            "provenance": provenance,
        }


def sweep(
    job: Job,
    grid: Grid,
    schedulers: Sequence[str] | None = None,
    *,
    options: dict[str, Any] | None = None,
    seed: int = 0,
    workers: int = 1,
    time_limit_s: float | None = None,
    work_limit: int | None = None,
    store: Path | None = None,
    progress: Tell | None = None,
) -> Sweep:
    """Compare the schedulers on a job at every point of a grid.

    Parameters
    ----------
    job
        The job; its fabric is changed from point to point.
    grid
        The points (:func:`fluxscale.compare.grid.make_grid`).
    schedulers
        Names of the rows; fluxscale is always added. None: all but the exact solvers, whose search fluxscale does on
        small jobs anyway.
    options, seed, workers, time_limit_s, work_limit
        As in :func:`fluxscale.compare.comparison.compare`.
    store
        File of finished tasks: those in it are not run again, others are added as they end.
    progress
        Told how far things are.

    Raises
    ------
    InputError
        If a name, option or setting is not acceptable, a point makes no fabric, or the file cannot be written.
    """
    began = time.monotonic()
    check_settings(time_limit_s=time_limit_s, work_limit=work_limit, seed=seed, workers=workers)
    names, _ = choose(schedulers)
    shares = share_options(names, dict(options or {}))
    limits = Limits(seed, time_limit_s, work_limit)
    points = grid.points
    for point in points:
        _require_fabric(job, point)
    places = [(point, name) for point in points for name in names]
    tasks = [Task(name, point.changes, shares[name], limits) for point, name in places]
    keys = [""] * len(tasks) if store is None else _keys(job, tasks)
    kept = None if store is None else Store(store)
    wanted = {key: task.scheduler for key, task in zip(keys, tasks, strict=True)}
    known, resume_notes = ({}, []) if kept is None else kept.read(wanted)
    rows: list[Row | None] = [known.get(key) for key in keys]
    missing = [number for number, row in enumerate(rows) if row is None]
    resumed = len(tasks) - len(missing)
    interrupted = False

    def take(number: int, row: Row) -> None:
        place = missing[number]
        rows[place] = row
        if kept is not None:
            kept.add(keys[place], places[place][0].document, row)

    with kept if kept is not None and missing else nullcontext():
        try:
            run_tasks(
                Built(job), [tasks[k] for k in missing], workers=workers, on_row=take, tell=_after(progress, resumed)
            )
        except KeyboardInterrupt:
            interrupted = True
    found = [(point, {}) for point in points]
    for number, row in enumerate(rows):
        if row is not None:
            found[number // len(names)][1][row.scheduler] = row
    return Sweep(
        grid, names, tuple(found), seed, workers, grid.notes, resumed, tuple(resume_notes),
        time.monotonic() - began, interrupted,
    )  # fmt: skip


def _require_fabric(job: Job, point: Point) -> None:
    """Refuse a point whose fabric is not acceptable, before anything is run."""
    try:
        with_fabric(job, point.changes)
    except InputError as error:
        raise InputError(f"no fabric at {point.shown()}: {str(error).rstrip('.')}", field="sweep") from None


def _keys(job: Job, tasks: list[Task]) -> list[str]:
    whole = job_hash(job)
    return [task_key(whole, task) for task in tasks]


def _after(progress: Tell | None, resumed: int) -> Tell | None:
    if progress is None or not resumed:
        return progress
    return lambda text: progress(f"{text} ({resumed} were done before)")
