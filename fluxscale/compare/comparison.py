"""One job under many schedulers: ``fluxscale.compare``."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fluxscale.compare.chain import Limits, Tell
from fluxscale.compare.pool import Task, run_tasks
from fluxscale.compare.rows import BUFFER_LINES_BYTES, Row, document_row
from fluxscale.compare.schedulers import FLUXSCALE, choose, share_options
from fluxscale.compare.sources import Given, Saved
from fluxscale.instance.instance import Instance
from fluxscale.solving.settings import check_settings

COMPARISON_FORMAT, COMPARISON_VERSION = "fluxscale-comparison", 1


@dataclass(frozen=True, eq=False)
class Comparison:
    """Rows of all schedulers on one instance.

    Attributes
    ----------
    instance
        What was scheduled.
    rows
        One row each, fluxscale first; after an interrupt those that were done.
    seed, workers
        As used.
    notes
        Who was left out and why.
    wall_s
        Seconds it took.
    interrupted
        Whether rows are missing because of Ctrl-C.
    """

    instance: Instance = field(repr=False)
    rows: tuple[Row, ...]
    seed: int
    workers: int
    notes: tuple[str, ...] = ()
    wall_s: float = 0.0
    interrupted: bool = False

    @property
    def fluxscale(self) -> Row | None:
        """The row that ratios refer to."""
        return next((row for row in self.rows if row.scheduler == FLUXSCALE), None)

    @property
    def lower_bound_ns(self) -> int | None:
        """Best bound for plans that any row proved, or None."""
        return max((row.lower_bound_ns for row in self.rows if row.lower_bound_ns is not None), default=None)

    def row(self, scheduler: str) -> Row:
        """Row of a scheduler.

        Raises
        ------
        KeyError
            If there is none.
        """
        found = {row.scheduler: row for row in self.rows}
        return found[scheduler]

    def to_dict(
        self, *, job: str | None = None, gpus: int | None = None, provenance: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Build the JSON document of ``compare --json``.

        Parameters
        ----------
        job
            Name of the job, if it has one.
        gpus
            GPUs of the job, if known.
        provenance
            Who made the comparison (:func:`fluxscale.provenance.collect`).
        """
        reference = self.fluxscale
        return {
            "format": COMPARISON_FORMAT,
            "version": COMPARISON_VERSION,
            "job": job,
            "seed": self.seed,
            "workers": self.workers,
            "gpus": gpus,
            "endpoints": self.instance.n_endpoints,
            "ops": self.instance.n_ops,
            "transfers": self.instance.n_transfers,
            "instance_sha256": self.instance.sha256,
            "lower_bound_ns": self.lower_bound_ns,
            "buffer_lines_bytes": list(BUFFER_LINES_BYTES),
            "rows": [document_row(row, reference) for row in self.rows],
            "notes": list(self.notes),
            "interrupted": self.interrupted,
            "wall_s": self.wall_s,
            "provenance": provenance,
        }


def compare(
    instance: Instance,
    schedulers: Sequence[str] | None = None,
    *,
    options: dict[str, Any] | None = None,
    seed: int = 0,
    workers: int = 1,
    time_limit_s: float | None = None,
    work_limit: int | None = None,
    progress: Tell | None = None,
) -> Comparison:
    """Put one instance under every scheduler, each at the best of the option sets that it proposes.

    A scheduler that cannot honour the instance gets a row without a time and with the reason in its notes.

    Parameters
    ----------
    instance
        What to schedule.
    schedulers
        Names of the rows in order; fluxscale is always added, as ratios refer to it. None: all, exact solvers only on
        small instances.
    options
        Options that replace those of the option sets, for the schedulers that know them.
    seed
        Root seed.
    workers
        Processes; more than 1 needs a main module that can be imported (``if __name__ == "__main__":``). Never changes
        the rows, unless a time limit ends a search.
    time_limit_s, work_limit
        Limits of the row of fluxscale and of the exact solvers. Without any, an exact search ends after 20 s.
    progress
        Told how far things are (called from this thread).

    Returns
    -------
    Comparison
        Also after Ctrl-C, with the rows that were done.

    Raises
    ------
    InputError
        If a name, an option or a setting is not acceptable.
    """
    began = time.monotonic()
    check_settings(time_limit_s=time_limit_s, work_limit=work_limit, seed=seed, workers=workers)
    names, notes = choose(schedulers, instance.n_transfers)
    shares = share_options(names, dict(options or {}))
    limits = Limits(seed, time_limit_s, work_limit)
    # Long ones first, so that no core waits at the end for a row that was begun last.
    order = sorted(range(len(names)), key=lambda k: (not names[k].startswith(LONG), k))
    tasks = [Task(names[k], (), shares[names[k]], limits) for k in order]
    rows: dict[int, Row] = {}
    interrupted = False
    with tempfile.TemporaryDirectory(prefix="fluxscale-") as folder:
        try:
            source = _source(instance, workers, Path(folder))
            run_tasks(
                source,
                tasks,
                workers=workers,
                on_row=lambda number, row: rows.__setitem__(order[number], row),
                tell=progress,
            )
        except KeyboardInterrupt:
            interrupted = True
    found = tuple(rows[k] for k in sorted(rows))
    return Comparison(instance, found, seed, workers, notes, time.monotonic() - began, interrupted)


LONG = ("fluxscale", "exact-", "periodic-", "rotor")
"""Beginnings of the names of schedulers that take longest: they search, or sweep many option sets."""


def _source(instance: Instance, workers: int, folder: Path) -> Given | Saved:
    """The instance itself for this process, or a file of it that all workers read."""
    if workers == 1:
        return Given(instance)
    from fluxscale.instance.io import save_instance

    return Saved(save_instance(folder / "instance.npz", instance))
