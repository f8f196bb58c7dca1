"""Schedules as an archive of columns by number: for large instances. ``numpy.load`` reads the columns too.

The archive is a zip of ``header.json`` (as in the JSON form, without its sections) and one ``.npy`` member a column,
in ticks and indices. Its bytes depend on the content alone: no time stamps, fixed order and compression.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from functools import partial
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.instance.instance import Instance
from fluxscale.schedule.json_form import parse_json
from fluxscale.schedule.saved import HEADER_KEYS, Header, SavedSchedule, read_header, refuse_unknown_keys, to_ticks
from fluxscale.schedule.schedule import COLUMNS, Schedule
from fluxscale.units import MAX_TICKS

Ints = npt.NDArray[Any]

MAX_UNPACKED = 4 * 2**30
MAX_HEADER = 512 * 2**20
_HEADER = "header.json"

_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
)
"""What zipfile raises for archives that are not as they should be."""


def write_archive(target: IO[bytes], header: Header, schedule: Schedule) -> None:
    """Write a schedule as an archive of columns.

    Parameters
    ----------
    target
        Binary file.
    header
        Everything but the columns.
    schedule
        The schedule.
    """
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        text = json.dumps(header.as_dict(), allow_nan=False, ensure_ascii=False, sort_keys=True)
        archive.writestr(_member(_HEADER), text.encode(), compresslevel=1)
        for name, dtype in COLUMNS.items():
            column = np.ascontiguousarray(getattr(schedule, name), dtype=np.dtype(dtype).newbyteorder("<"))
            with archive.open(_member(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, column, version=(1, 0), allow_pickle=False)


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3
    info.external_attr = 0o644 << 16
    return info


def read_archive(data: bytes, file: str) -> SavedSchedule:
    """Read an untrusted archive; sizes are checked before anything is unpacked, and nothing is unpickled.

    Parameters
    ----------
    data
        Content of the file.
    file
        For messages.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _read(archive, file)
    except _DAMAGE as error:
        raise InputError(f"damaged archive: {error}", file=file) from None


def _read(archive: zipfile.ZipFile, file: str) -> SavedSchedule:
    sizes = {info.filename: info.file_size for info in archive.infolist()}
    expected = [_HEADER] + [f"{name}.npy" for name in COLUMNS]
    if len(sizes) < len(archive.infolist()):
        raise InputError("a member is given twice", file=file)
    for name in expected:
        if name not in sizes:
            raise InputError(f"not a schedule archive: {name} is missing", file=file)
    if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in archive.infolist()):
        raise InputError("a member is compressed in an unknown way", file=file)
    if sum(sizes.values()) > MAX_UNPACKED or sizes[_HEADER] > MAX_HEADER:
        raise InputError(f"unpacks to more than {MAX_UNPACKED >> 30} GiB", file=file, value=sum(sizes.values()))
    raw = parse_json(archive.read(_HEADER), f"{file}: {_HEADER}")
    header = read_header(raw, file)
    refuse_unknown_keys(raw, HEADER_KEYS, file, _HEADER)
    if header.instance_sha256 is None:
        raise InputError("must be given: columns by number mean nothing without it", file=file, field="instance_sha256")
    columns = {name: _read_column(archive, name, dtype, file) for name, dtype in COLUMNS.items()}
    return SavedSchedule(file, header, partial(_bind, columns, header, file))


def _read_column(archive: zipfile.ZipFile, name: str, dtype: str, file: str) -> Ints:
    wanted = np.dtype(dtype).newbyteorder("<")
    with archive.open(f"{name}.npy") as member:
        try:
            version = np.lib.format.read_magic(member)
            if version != (1, 0):
                raise InputError("unknown version of the npy format", file=file, field=name, value=version)
            shape, _, found = np.lib.format.read_array_header_1_0(member)
        except ValueError:
            raise InputError("not an npy column", file=file, field=name) from None
        if found != wanted or len(shape) != 1:
            raise InputError(f"must be one column of {wanted.str}", file=file, field=name, value=f"{found} {shape}")
        data = member.read()
    if len(data) != shape[0] * wanted.itemsize:
        raise InputError(f"has {len(data)} bytes for {shape[0]} entries", file=file, field=name)
    return np.frombuffer(data, dtype=wanted)


def _bind(columns: dict[str, Ints], header: Header, file: str, instance: Instance) -> Schedule:
    n_rows = len(columns["circuit_tx"])
    limits = {
        "op_start_ticks": (instance.n_ops, MAX_TICKS),
        "leg_plane": (instance.n_legs, instance.n_planes - 1),
        "circuit_plane": (n_rows, instance.n_planes - 1),
        "circuit_tx": (n_rows, instance.n_endpoints - 1),
        "circuit_rx": (n_rows, instance.n_endpoints - 1),
        "circuit_up_from_ticks": (n_rows, MAX_TICKS),
        "circuit_up_to_ticks": (n_rows, MAX_TICKS),
    }
    for name, (length, largest) in limits.items():
        column = columns[name]
        if len(column) != length:
            raise InputError(f"has {len(column)} entries where the instance needs {length}", file=file, field=name)
        wrong = np.flatnonzero((column < 0) | (column > largest))
        if len(wrong):
            at = int(wrong[0])
            raise InputError(f"entry {at} must be from 0 to {largest}", file=file, field=name, value=int(column[at]))
    total = to_ticks(header.iteration_time_ns, instance.tick_ns, file, "iteration_time_ns")
    return Schedule(instance.sha256, **columns, iteration_time_ticks=total)
