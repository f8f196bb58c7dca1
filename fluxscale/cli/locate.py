"""Which instance is a schedule file for: given, rebuilt from what the file says of itself, or found beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fluxscale.cli.files import INSTANCE_FILE, SCHEDULE_FILES
from fluxscale.errors import InputError
from fluxscale.instance.instance import Instance
from fluxscale.schedule.saved import SavedSchedule
from fluxscale.schedule.schedule import Schedule


def locate(
    saved: SavedSchedule,
    *,
    job: str | None = None,
    instance_file: Path | None = None,
    fabric_file: Path | None = None,
    overrides: Sequence[str] = (),
) -> tuple[Instance, Schedule]:
    """Find the instance of a schedule and put the schedule on it.

    Parameters
    ----------
    saved
        The schedule file as read.
    job, fabric_file, overrides
        Job to build the instance from, with the fabric and settings that it was made with.
    instance_file
        Or an instance file.

    Raises
    ------
    InputError
        If no instance is to be found, or the schedule is of another one.
    """
    if job is not None and instance_file is not None:
        raise InputError(
            "give either a job or an instance file, not both", field="--instance", value=str(instance_file)
        )
    if job is None and (fabric_file is not None or overrides):
        raise InputError("--fabric and --set need --job", field="--job", maybe="say which job the schedule is for.")
    if job is not None:
        from fluxscale.instance.build import build_instance
        from fluxscale.workload.load import load_job

        instance = build_instance(load_job(job, fabric_file=fabric_file, overrides=list(overrides)))
    elif instance_file is not None:
        instance = _load(instance_file)
    else:
        instance = _from_the_file(saved)
    return instance, saved.bind(instance)


def _load(path: Path) -> Instance:
    from fluxscale.instance.io import load_instance

    return load_instance(path)


def _from_the_file(saved: SavedSchedule) -> Instance:
    """Rebuild the instance from the job inside the file; one beside it counts too if it fits better."""
    beside = Path(saved.path).with_name(INSTANCE_FILE)
    rebuilt: Instance | None = None
    reason: InputError | None = None
    if saved.source is not None:
        from fluxscale.instance.build import build_instance
        from fluxscale.workload.load import job_from_description

        try:
            rebuilt = build_instance(job_from_description(saved.source))
        except InputError as error:
            reason = error
        if rebuilt is not None and saved.instance_sha256 in (None, rebuilt.sha256):
            return rebuilt
    if beside.is_file():
        return _load(beside)
    if rebuilt is not None:
        return rebuilt
    raise reason or InputError(
        "says nothing about its job, and no instance lies beside it",
        file=saved.path,
        maybe=f"give --job JOB or --instance FILE (solve --out writes {INSTANCE_FILE}).",
    )


def schedule_file(path: Path) -> Path:
    """Return the schedule file that a path means: itself, or the one in a folder that ``solve --out`` wrote.

    Raises
    ------
    InputError
        If a folder holds none.
    """
    if not path.is_dir():
        return path
    for name in SCHEDULE_FILES:
        if (path / name).is_file():
            return path / name
    raise InputError("holds no schedule file", file=path, maybe=f"name the file, e.g. {SCHEDULE_FILES[0]}.")
