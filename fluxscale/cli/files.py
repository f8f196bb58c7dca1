"""The folder of ``--out``: schedule, result and instance, each written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from fluxscale.cli.output import to_json
from fluxscale.errors import InputError
from fluxscale.instance.instance import Instance
from fluxscale.schedule.schedule import Schedule

RESULT_FILE, INSTANCE_FILE = "result.json", "instance.flux.npz"
SCHEDULE_FILES = ("schedule.json", "schedule.npz")

LARGE_OPS = 20_000
"""Above this many ops a schedule is written as columns (.npz)."""


def refuse_unwritable(folder: Path) -> None:
    """Find out before the solve whether the folder can be written; nothing is created.

    Raises
    ------
    InputError
        If it is a file, or it or the nearest folder above it cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(
            "is a file, not a folder", file=folder, field="--out", maybe="name a folder; it is created if need be."
        )
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    if not place.is_dir():
        raise InputError(f"cannot be created: {place} is a file", file=folder, field="--out")
    if not os.access(place, os.W_OK | os.X_OK):
        raise InputError(f"cannot be written ({place})", file=folder, field="--out")


def write_files(
    folder: Path,
    instance: Instance,
    schedule: Schedule | None,
    document: dict[str, Any],
    *,
    provenance: dict[str, Any],
    source: dict[str, Any] | None,
) -> list[Path]:
    """Write the files of a solve; older ones of the same names are replaced, each in one step.

    Parameters
    ----------
    folder
        Where to; created if need be.
    instance, schedule
        What was solved, and its schedule (None: no schedule file, and an older one is removed).
    document
        The result as JSON.
    provenance, source
        For the schedule file.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    InputError
        If the folder cannot be written.
    """
    from fluxscale.instance.io import save_instance
    from fluxscale.schedule.io import save_schedule

    try:
        folder.mkdir(parents=True, exist_ok=True)
        drafts = Path(tempfile.mkdtemp(prefix=".fluxscale-", dir=folder))
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=folder, field="--out") from None
    try:
        save_instance(drafts / INSTANCE_FILE, instance)
        if schedule is not None:
            name = SCHEDULE_FILES[0] if instance.n_ops <= LARGE_OPS else SCHEDULE_FILES[1]
            save_schedule(drafts / name, schedule, instance=instance, provenance=provenance, source=source)
        # Last, so that a result file always has its schedule beside it.
        (drafts / RESULT_FILE).write_text(to_json(document) + "\n", encoding="utf-8")
        written = []
        for name in (INSTANCE_FILE, *SCHEDULE_FILES, RESULT_FILE):
            if (drafts / name).exists():
                os.replace(drafts / name, folder / name)
                written.append(folder / name)
            elif name in SCHEDULE_FILES:
                # A schedule of an earlier run in the other form would pass for this one's.
                (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=folder, field="--out") from None
    finally:
        shutil.rmtree(drafts, ignore_errors=True)
    return written
