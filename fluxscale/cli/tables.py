"""Files of a comparison or a sweep, each written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from fluxscale.cli.files import refuse_unwritable
from fluxscale.errors import InputError


def refuse_unwritable_file(path: Path, field: str) -> None:
    """Find out before the work whether a file can be written; nothing is created.

    Parameters
    ----------
    path
        The file.
    field
        Option that named it.

    Raises
    ------
    InputError
        If it is a folder, or its folder cannot be written.
    """
    if path.is_dir():
        raise InputError("is a folder, not a file", file=path, field=field, maybe="name a file in it.")
    try:
        refuse_unwritable(path.parent)
    except InputError:
        raise InputError("cannot be written: its folder is no folder that can be", file=path, field=field) from None
    if path.exists() and not os.access(path, os.W_OK):
        raise InputError("cannot be written", file=path, field=field)


def write_files(folder: Path, files: Mapping[str, bytes], *, field: str) -> None:
    """Write files into a folder; each replaces an older one in one step.

    Parameters
    ----------
    folder
        Where to; created if need be.
    files
        Content by name.
    field
        Option that named the folder.

    Raises
    ------
    InputError
        If something cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            place = folder / name
            if place.exists() and not place.is_file():
                # A device such as /dev/stdout cannot be replaced.
                place.write_bytes(content)
                continue
            with tempfile.NamedTemporaryFile(dir=folder, prefix=".fluxscale-", suffix=".part", delete=False) as draft:
                draft.write(content)
            os.chmod(draft.name, 0o666 & ~_umask())
            os.replace(draft.name, place)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=folder, field=field) from None


def _umask() -> int:
    """Mode bits that new files do not get; a temporary file is private, a result is not."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
