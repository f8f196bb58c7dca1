"""Instance files (``.flux.npz``): a zip of a JSON header and one ``.npy`` member a column.

The bytes depend on the content alone: no time stamps, fixed order and compression. A file is written whole or not at
all. ``numpy.load`` reads the columns too.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.instance.columns import check_columns
from fluxscale.instance.fits import check_fits
from fluxscale.instance.header import MAX_HEADER_BYTES, Header, make_header, read_header
from fluxscale.instance.instance import COLUMNS, Instance
from fluxscale.instance.names import LABEL_COLUMNS, Names, OpLabels

Ints = npt.NDArray[Any]

MAX_UNPACKED_BYTES = 16 * 2**30
"""Size that a file may unpack to."""

_HEADER = "header.json"
_LABEL_TYPES = dict.fromkeys(LABEL_COLUMNS, "i4") | {"role": "i1"}
_FAULTS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, KeyError, OSError)


def save_instance(path: str | Path, instance: Instance) -> Path:
    """Write an instance; an existing file is replaced only once the new one is complete.

    Parameters
    ----------
    path
        Name that ends in ``.npz`` (``.flux.npz`` is the custom).
    instance
        The instance.

    Raises
    ------
    InputError
        Another ending, or a place that cannot be written.
    """
    path = Path(path)
    if path.suffix != ".npz":
        raise InputError("unknown kind of instance file", file=path, value=path.suffix, maybe='end it in ".flux.npz".')
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with draft.open("wb") as target:
            _write(target, instance)
        os.replace(draft, path)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=path) from None
    finally:
        draft.unlink(missing_ok=True)
    return path


def _write(target: IO[bytes], instance: Instance) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(_member(_HEADER), json.dumps(make_header(instance), sort_keys=True), compresslevel=1)
        for name, dtype in COLUMNS.items():
            _write_column(archive, name, getattr(instance, name), dtype)
        if instance.names.labels is not None:
            for name, dtype in _LABEL_TYPES.items():
                _write_column(archive, f"label.{name}", getattr(instance.names.labels, name), dtype)


def _write_column(archive: zipfile.ZipFile, name: str, column: Ints, dtype: str) -> None:
    fixed = np.ascontiguousarray(column, dtype=np.dtype(dtype).newbyteorder("<"))
    with archive.open(_member(f"{name}.npy"), "w", force_zip64=True) as member:
        np.lib.format.write_array(member, fixed, version=(1, 0), allow_pickle=False)


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3
    info.external_attr = 0o644 << 16
    return info


def load_instance(path: str | Path) -> Instance:
    """Read an instance file. It is not trusted: sizes, types, ranges and the hash are checked; nothing is unpickled.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    InputError
        One line that says what is wrong, where.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError("is a directory, not an instance file", file=path)
    try:
        with zipfile.ZipFile(path) as archive:
            instance, claimed = _read(archive, path)
    except FileNotFoundError:
        raise InputError("no such file", file=path) from None
    except _FAULTS as error:
        raise InputError(f"is no readable instance file: {str(error).rstrip('.')}", file=path) from None
    check_columns(instance, file=path)
    if instance.sha256 != claimed:
        raise InputError(
            "the content does not match its hash: the file is damaged or was changed", file=path, field="sha256"
        )
    check_fits(instance)
    return instance


def _read(archive: zipfile.ZipFile, path: Path) -> tuple[Instance, str]:
    sizes = {info.filename: info.file_size for info in archive.infolist()}
    if len(sizes) < len(archive.infolist()):
        raise InputError("a member is given twice", file=path)
    if sum(sizes.values()) > MAX_UNPACKED_BYTES:
        raise InputError(f"unpacks to more than {MAX_UNPACKED_BYTES >> 30} GiB", file=path, value=sum(sizes.values()))
    for name in [_HEADER, *(f"{column}.npy" for column in COLUMNS)]:
        if name not in sizes:
            raise InputError(f"is no instance file: {name} is missing", file=path)
    if sizes[_HEADER] > MAX_HEADER_BYTES:
        raise InputError("the header is too large", file=path, value=sizes[_HEADER])
    header = read_header(archive.read(_HEADER), file=path)
    content: dict[str, Any] = {name: _read_column(archive, name, dtype, path) for name, dtype in COLUMNS.items()}
    content |= header.scalars
    return Instance(**content, names=_names(archive, header, path)), header.sha256


def _names(archive: zipfile.ZipFile, header: Header, path: Path) -> Names:
    labels = None
    if header.has_labels:
        found = {name: _read_column(archive, f"label.{name}", dtype, path) for name, dtype in _LABEL_TYPES.items()}
        labels = OpLabels(**found)
    return Names(**header.names, labels=labels)


def _read_column(archive: zipfile.ZipFile, name: str, dtype: str, path: Path) -> Ints:
    wanted = np.dtype(dtype).newbyteorder("<")
    n_axes = 2 if name == "attach" else 1
    with archive.open(f"{name}.npy") as member:
        data = member.read(archive.getinfo(f"{name}.npy").file_size + 1)
    text = io.BytesIO(data)
    try:
        if np.lib.format.read_magic(text) != (1, 0):
            raise ValueError
        shape, fortran, found = np.lib.format.read_array_header_1_0(text)
    except ValueError:
        raise InputError("is no npy column", file=path, field=name) from None
    if found != wanted or len(shape) != n_axes or fortran:
        raise InputError(f"must be {wanted.str} of {n_axes} axes", file=path, field=name, value=f"{found} {shape}")
    rest = len(data) - text.tell()
    if rest != int(np.prod(shape, dtype=object)) * wanted.itemsize or min(shape) < 0:
        raise InputError(f"has {rest} bytes for the shape {shape}", file=path, field=name)
    return np.frombuffer(data, dtype=wanted, offset=text.tell()).reshape(shape)
