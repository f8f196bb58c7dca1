"""Schedule files: ``.json`` with names for small instances, ``.npz`` with columns for large ones.

They are written whole or not at all. Every past version stays readable; an unknown one is refused.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fluxscale.errors import InputError
from fluxscale.instance.instance import Instance
from fluxscale.schedule.json_form import from_text, to_text
from fluxscale.schedule.npz_form import read_archive, write_archive
from fluxscale.schedule.saved import VERSION, Header, SavedSchedule
from fluxscale.schedule.schedule import Schedule

LARGE_OPS = 20_000
"""Instances with more ops than this are saved as columns unless the file's name says otherwise."""

MAX_JSON_BYTES = 512 * 2**20
MAX_NPZ_BYTES = 2 * 2**30


def save_schedule(
    path: str | Path,
    schedule: Schedule,
    *,
    instance: Instance,
    provenance: dict[str, Any] | None = None,
    source: dict[str, Any] | None = None,
) -> Path:
    """Write a schedule file; an existing one is replaced only once the new one is complete.

    Parameters
    ----------
    path
        Name that ends in ``.json`` or ``.npz``; without either, the ending that fits the instance's size is added.
    schedule
        The schedule.
    instance
        Its instance.
    provenance
        Command, versions, seed, hashes (JSON-able).
    source
        From what the instance can be rebuilt (JSON-able): with it the file can be checked on its own.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    InputError
        Another ending, a place that cannot be written, a schedule of another instance, or a value that JSON
        cannot hold.
    """
    path = Path(path)
    if schedule.instance_sha256 != instance.sha256:
        raise InputError("the schedule is of another instance", file=path)
    if path.suffix == "":
        path = path.with_suffix(".npz" if instance.n_ops > LARGE_OPS else ".json")
    if path.suffix not in (".json", ".npz"):
        raise InputError(
            "unknown kind of schedule file", file=path, value=path.suffix, maybe='end the name in ".json" or ".npz".'
        )
    total_ns = schedule.iteration_time_ticks * instance.tick_ns
    header = Header(VERSION, instance.sha256, total_ns, instance.tick_ns, dict(provenance or {}), source)
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with draft.open("wb") as target:
            if path.suffix == ".json":
                target.write(to_text(header, schedule, instance).encode())
            else:
                write_archive(target, header, schedule)
        os.replace(draft, path)
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror}", file=path) from None
    except (TypeError, ValueError) as error:
        raise InputError(f"provenance or source is not JSON: {error}", file=path) from None
    finally:
        draft.unlink(missing_ok=True)
    return path


def load_schedule(path: str | Path) -> SavedSchedule:
    """Read a schedule file of either form (told by its first bytes); ``bind`` puts it on its instance.

    Parameters
    ----------
    path
        The file. It is not trusted: size, depth, types and ranges are checked.

    Raises
    ------
    InputError
        One line that says what is wrong, where.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            start = file.read(4)
            archive = start == b"PK\x03\x04"
            limit = MAX_NPZ_BYTES if archive else MAX_JSON_BYTES
            data = start + file.read(limit)
    except FileNotFoundError:
        raise InputError("no such file", file=path) from None
    except IsADirectoryError:
        raise InputError("is a directory, not a schedule file", file=path) from None
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", file=path) from None
    if len(data) > limit:
        raise InputError(f"larger than {limit >> 20} MiB", file=path)
    return read_archive(data, str(path)) if archive else from_text(data, str(path))
