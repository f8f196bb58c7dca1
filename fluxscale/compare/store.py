"""Finished tasks of a sweep in a file (``points.jsonl``), so that a sweep goes on where it was stopped.

One line a task, appended and synced as it ends. A line counts if its key is that of a task of this sweep: a hash of the
job with its fabric, the point, the scheduler, its options, seed, limits and the version of fluxscale.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from io import FileIO
from pathlib import Path
from typing import Any

from fluxscale._version import __version__
from fluxscale.compare.pool import Task
from fluxscale.compare.rows import FINAL, Row, row_from_record
from fluxscale.errors import InputError
from fluxscale.workload.job import Job

FORMAT, VERSION = "fluxscale-point", 1

MAX_LINE_BYTES = 16 * 2**20


def job_hash(job: Job) -> str:
    """Hash of a job with its fabric; where its file lies does not count.

    Parameters
    ----------
    job
        The job.
    """
    described = job.describe()
    described.pop("dag_file", None)
    return _hash(described)


def task_key(job_sha256: str, task: Task) -> str:
    """Hash of everything that a task's row depends on.

    Parameters
    ----------
    job_sha256
        Of the job before the changes of the point (:func:`job_hash`).
    task
        The task.
    """
    return _hash(
        {
            "job": job_sha256,
            "point": list(task.point),
            "scheduler": task.scheduler,
            "options": task.options,
            "limits": [task.limits.seed, task.limits.time_limit_s, task.limits.work_limit],
            "fluxscale": __version__,
        }
    )


def _hash(facts: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


class Store:
    """The file; use it as a context manager.

    Parameters
    ----------
    path
        Where it is; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: FileIO | None = None
        self._broken_end = False

    def read(self, wanted: dict[str, str]) -> tuple[dict[str, Row], list[str]]:
        """Read what is finished.

        Parameters
        ----------
        wanted
            Scheduler of each task, by key.

        Returns
        -------
        rows
            By key.
        notes
            Lines that do not count, in words.

        Raises
        ------
        InputError
            If the file cannot be read.
        """
        rows: dict[str, Row] = {}
        unreadable = foreign = 0
        try:
            with self._path.open("rb") as file:
                while line := file.readline(MAX_LINE_BYTES):
                    self._broken_end = not line.endswith(b"\n")
                    if not line.strip():
                        continue
                    found = _read_line(line)
                    if found is None:
                        unreadable += 1
                    elif found[0] not in wanted or found[1].scheduler != wanted[found[0]]:
                        foreign += 1
                    else:
                        rows.setdefault(found[0], found[1])
        except FileNotFoundError:
            return {}, []
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=self._path, field="--out") from None
        notes = []
        if unreadable:
            notes.append(f"{self._path.name}: {unreadable} unreadable lines skipped")
        if foreign:
            notes.append(f"{self._path.name}: {foreign} lines of another sweep, job or version skipped")
        return rows, notes

    def __enter__(self) -> Store:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("ab", buffering=0)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=self._path, field="--out") from None
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, key: str, point: dict[str, int], row: Row) -> None:
        """Append a task's row if another try would give it again, and see that it reaches the disk.

        Raises
        ------
        InputError
            If the disk does not take it.
        """
        if row.status not in FINAL or self._file is None:
            return
        record = {"format": FORMAT, "version": VERSION, "key": key, "point": point, "row": row.to_record()}
        line = json.dumps(record, allow_nan=False).encode() + b"\n"
        try:
            # A line that was cut off by a crash must not swallow this one.
            # In one write, so that another process that appends here does not get in between.
            line = (b"\n" if self._broken_end else b"") + line
            if self._file.write(line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._broken_end = False
            if os.path.isfile(self._path):
                os.fsync(self._file.fileno())
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=self._path, field="--out") from None


def _read_line(line: bytes) -> tuple[str, Row] | None:
    try:
        record: Any = json.loads(line)
        if record["format"] != FORMAT or record["version"] != VERSION or not isinstance(record["key"], str):
            return None
        row = row_from_record(record["row"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return (record["key"], row) if row.status in FINAL else None
