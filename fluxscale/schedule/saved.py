"""SavedSchedule: what a schedule file says, before it is put on an instance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fluxscale.errors import InputError, did_you_mean
from fluxscale.instance.instance import Instance
from fluxscale.schedule.schedule import Schedule
from fluxscale.units import MAX_TICKS

FORMAT = "fluxscale-schedule"
VERSION = 1

HEADER_KEYS = ("format", "version", "instance_sha256", "iteration_time_ns", "tick_ns", "provenance", "source")
"""What every schedule file begins with, whatever its columns look like."""


@dataclass(frozen=True)
class Header:
    """The part of a schedule file that is not columns.

    Attributes
    ----------
    version
        Version of the format.
    instance_sha256
        Hash of the instance that the schedule is for; None in files of other makers, which then are matched
        by names alone.
    iteration_time_ns
        Iteration time (cyclic: period) that the file claims.
    tick_ns
        Length of a tick.
    provenance
        Command, versions, seed, hashes: whatever the maker states.
    source
        From what the instance can be rebuilt, or None.
    """

    version: int
    instance_sha256: str | None
    iteration_time_ns: int
    tick_ns: int
    provenance: dict[str, Any]
    source: dict[str, Any] | None

    def as_dict(self) -> dict[str, Any]:
        """Header as a JSON object."""
        return {
            "format": FORMAT,
            "version": self.version,
            "instance_sha256": self.instance_sha256,
            "iteration_time_ns": self.iteration_time_ns,
            "tick_ns": self.tick_ns,
            "provenance": self.provenance,
            "source": self.source,
        }


@dataclass(frozen=True)
class SavedSchedule:
    """A schedule file that has been read; :meth:`bind` makes it the schedule of an instance.

    Attributes
    ----------
    path
        Where it was read from.
    header
        Everything but the columns.
    """

    path: str
    header: Header
    _bind: Callable[[Instance], Schedule] = field(repr=False)

    @property
    def provenance(self) -> dict[str, Any]:
        """Command, versions, seed, hashes: whatever the maker states."""
        return self.header.provenance

    @property
    def source(self) -> dict[str, Any] | None:
        """From what the instance can be rebuilt, or None."""
        return self.header.source

    @property
    def instance_sha256(self) -> str | None:
        """Hash of the instance that the schedule is for, or None."""
        return self.header.instance_sha256

    def bind(self, instance: Instance) -> Schedule:
        """Put the file's columns on an instance.

        Parameters
        ----------
        instance
            The problem that the schedule is for.

        Raises
        ------
        InputError
            The file is for another instance, or names what the instance does not have.
        """
        claimed = self.header.instance_sha256
        if claimed is not None and claimed != instance.sha256:
            raise InputError(
                f"this schedule is for another instance ({claimed[:12]}..., not {instance.sha256[:12]}...)",
                file=self.path,
                field="instance_sha256",
                maybe="give the job, fabric and settings that it was made with.",
            )
        if self.header.tick_ns != instance.tick_ns:
            raise InputError(
                "ticks differ from the instance's", file=self.path, field="tick_ns", value=self.header.tick_ns
            )
        return self._bind(instance)


def read_header(raw: dict[str, Any], file: str) -> Header:
    """Check the header keys of a schedule file.

    Parameters
    ----------
    raw
        JSON object; keys besides the header's are not looked at.
    file
        For messages.

    Raises
    ------
    InputError
        Another format, an unknown version, a missing key or a wrong type.
    """
    if raw.get("format") != FORMAT:
        raise InputError(
            f"not a schedule file: format must be {FORMAT!r}", file=file, field="format", value=raw.get("format")
        )
    version = raw.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= VERSION:
        raise InputError(
            "unknown version of the schedule format", file=file, field="version", value=version,
            maybe=f"this fluxscale reads versions 1 to {VERSION}; a newer one may read it.",
        )  # fmt: skip
    sha256 = raw.get("instance_sha256")
    if sha256 is not None and not (
        isinstance(sha256, str) and len(sha256) == 64 and set(sha256) <= set("0123456789abcdef")
    ):
        raise InputError("must be 64 hexadecimal digits or null", file=file, field="instance_sha256", value=sha256)
    tick_ns = whole_number(raw.get("tick_ns", 1), file, "tick_ns")
    if not 1 <= tick_ns <= 10**9:
        raise InputError("must be from 1 to 1000000000", file=file, field="tick_ns", value=tick_ns)
    if "iteration_time_ns" not in raw:
        raise InputError("is missing", file=file, field="iteration_time_ns")
    provenance, source = raw.get("provenance"), raw.get("source")
    for key, value in (("provenance", provenance), ("source", source)):
        if value is not None and not isinstance(value, dict):
            raise InputError("must be an object or null", file=file, field=key, value=value)
    return Header(
        version,
        sha256,
        whole_number(raw["iteration_time_ns"], file, "iteration_time_ns"),
        tick_ns,
        provenance or {},
        source,
    )


def refuse_unknown_keys(raw: dict[str, Any], known: tuple[str, ...], file: str, where: str = "") -> None:
    """Raise for the first key that is not known, with the near one."""
    for key in raw:
        if key not in known:
            raise InputError(f"unknown key {key!r}", file=file, field=where or None, maybe=did_you_mean(key, known))


def whole_number(value: object, file: str, where: str) -> int:
    """Check one time in ns: an integer from 0 to 2**62."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_TICKS:
        raise InputError("must be a whole number from 0 to 2**62", file=file, field=where, value=value)
    return value


def to_ticks(ns: int, tick_ns: int, file: str, where: str) -> int:
    """Turn ns into ticks; refuses fractions of a tick."""
    if ns % tick_ns:
        raise InputError(f"is not a multiple of the tick ({tick_ns} ns)", file=file, field=where, value=ns)
    return ns // tick_ns
