"""Bounded reading of untrusted TOML and JSON files: whatever is wrong with one, it is one line of ``InputError``."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from fluxscale.errors import InputError
from fluxscale.kernels.text import json_depth

MAX_TOML_BYTES = 2**20
MAX_JSON_BYTES = 2**30
MAX_DEPTH = 64
"""Nesting of tables, lists and objects that is still read."""


def read_toml(path: str | Path, *, max_bytes: int = MAX_TOML_BYTES) -> dict[str, Any]:
    """Read a TOML file.

    Parameters
    ----------
    path
        The file; a byte order mark at its start is skipped.
    max_bytes
        Largest size that is read.

    Raises
    ------
    InputError
        Missing, a directory, unreadable, too large, too deep, not UTF-8, or not TOML (with line and column).
    """
    text = _decode(_read(path, max_bytes), path)
    return parse_toml(text, file=path)


def parse_toml(text: str, *, file: object) -> dict[str, Any]:
    """Read TOML that is already in memory; see :func:`read_toml`.

    Parameters
    ----------
    text
        The document.
    file
        What to call it in messages.
    """
    try:
        document = tomllib.loads(text)
        if _deeper_than(document, MAX_DEPTH):
            raise _too_deep(file)
    except RecursionError:
        raise _too_deep(file) from None
    except ValueError as error:
        raise InputError(f"not TOML: {_plain(error)}", file=file) from None
    return document


def read_json(path: str | Path, *, max_bytes: int = MAX_JSON_BYTES) -> Any:
    """Read a JSON file. NaN, Infinity and keys that are given twice are refused, which JSON leaves open.

    Parameters
    ----------
    path
        The file; a byte order mark at its start is skipped.
    max_bytes
        Largest size that is read.

    Raises
    ------
    InputError
        As for :func:`read_toml`.
    """
    data = _read(path, max_bytes)
    if json_depth(np.frombuffer(data, dtype=np.uint8)) > MAX_DEPTH:
        raise _too_deep(path)
    text = _decode(data, path)
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_object)
    except _Refused as error:
        raise InputError(str(error), file=path, value=error.value) from None
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}", file=path) from None
    except RecursionError:
        raise _too_deep(path) from None
    except ValueError as error:
        raise InputError(f"not JSON: {_plain(error)}", file=path) from None


def _read(path: str | Path, max_bytes: int) -> bytes:
    try:
        with Path(path).open("rb") as file:
            data = file.read(max_bytes + 1)
    except FileNotFoundError:
        raise InputError("no such file", file=path) from None
    except IsADirectoryError:
        raise InputError("is a directory, not a file", file=path) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=path) from None
    if len(data) > max_bytes:
        raise InputError(f"is larger than {max_bytes} bytes", file=path)
    return data


def _decode(data: bytes, path: str | Path) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"is not UTF-8 text: byte 0x{data[error.start]:02x} in line {line}", file=path) from None


def _too_deep(file: object) -> InputError:
    return InputError(f"is nested deeper than {MAX_DEPTH} levels", file=file)


def _plain(error: Exception) -> str:
    text = str(error).strip().rstrip(".")
    return text[:1].lower() + text[1:]


def _deeper_than(value: object, levels: int) -> bool:
    if not isinstance(value, (dict, list)):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_deeper_than(part, levels - 1) for part in inner)


class _Refused(Exception):
    """Something that JSON readers tend to let through."""

    def __init__(self, message: str, value: object) -> None:
        super().__init__(message)
        self.value = value


def _refuse_constant(name: str) -> Any:
    raise _Refused("numbers must be finite", name)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _Refused("a key is given twice in one object", next(key for key in keys if keys.count(key) > 1))
    return found
