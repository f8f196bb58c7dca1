"""Header of an instance file: format, settings, names and the content hash."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from fluxscale.errors import InputError
from fluxscale.instance.instance import SCALARS, Instance

FORMAT = "fluxscale-instance"
VERSION = 1
MAX_HEADER_BYTES = 2**30

NAME_LISTS = ("ops", "devices", "endpoints", "planes")
_SCALAR_RANGES = {"boundary": (0, 2), "nic_buffer_bytes": (0, 2**60), "tick_ns": (1, 10**9)}


@dataclass(frozen=True)
class Header:
    """What a header says, checked.

    Attributes
    ----------
    sha256
        Content hash that the instance must have.
    scalars
        Settings that are single integers.
    names
        Given names of ops, devices, endpoints and planes.
    has_labels
        Whether label columns follow.
    """

    sha256: str
    scalars: dict[str, int]
    names: dict[str, tuple[str, ...]]
    has_labels: bool


def make_header(instance: Instance) -> dict[str, Any]:
    """Build the header of an instance as a JSON object."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "sha256": instance.sha256,
        "scalars": {name: int(getattr(instance, name)) for name in SCALARS},
        "names": {name: [str(text) for text in getattr(instance.names, name)] for name in NAME_LISTS},
        "labels": instance.names.labels is not None,
    }


def read_header(data: bytes, *, file: object) -> Header:
    """Read the header of a file that is not trusted.

    Parameters
    ----------
    data
        The JSON text.
    file
        For messages.

    Raises
    ------
    InputError
        Not a header, another format, an unknown version, wrong types or ranges.
    """
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        raise InputError("the header is not JSON", file=file, field="header") from None
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise InputError(f"is no instance file: the format must be {FORMAT!r}", file=file, field="format")
    if type(raw.get("version")) is not int or raw["version"] != VERSION:
        maybe = f"this fluxscale reads version {VERSION}; a newer one may read it."
        raise InputError("unknown version", file=file, field="version", value=raw.get("version"), maybe=maybe)
    scalars, names, labels = raw.get("scalars"), raw.get("names"), raw.get("labels")
    if not isinstance(scalars, dict) or set(scalars) != set(SCALARS):
        raise InputError("must be the settings of an instance", file=file, field="scalars", value=scalars)
    for name, (least, most) in _SCALAR_RANGES.items():
        value = scalars[name]
        if type(value) is not int or not least <= value <= most:
            raise InputError(f"must be from {least} to {most}", file=file, field=name, value=value)
    if not isinstance(names, dict) or set(names) != set(NAME_LISTS):
        raise InputError("must be the names of ops, devices, endpoints and planes", file=file, field="names")
    for name, given in names.items():
        if not isinstance(given, list) or not set(map(type, given)) <= {str}:
            raise InputError("must be a list of texts", file=file, field=f"names.{name}")
    if not isinstance(labels, bool) or not isinstance(raw.get("sha256"), str):
        raise InputError("labels or sha256 has the wrong type", file=file, field="header")
    return Header(raw["sha256"], scalars, {name: tuple(given) for name, given in names.items()}, labels)
