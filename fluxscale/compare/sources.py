"""Where a worker gets its instances from: given, out of a file, or built from a job with a changed fabric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from fluxscale.errors import InputError
from fluxscale.fabric.spec import parse_fabric
from fluxscale.instance.instance import Instance
from fluxscale.workload.job import Job
from fluxscale.workload.overrides import apply_overrides


class Source(Protocol):
    """Gives the instance of a point (changes of the fabric); can be sent to another process."""

    def instance(self, point: tuple[str, ...]) -> Instance:
        """Instance at a point."""
        ...


@dataclass(frozen=True)
class Given:
    """One instance, already here."""

    it: Instance

    def instance(self, point: tuple[str, ...]) -> Instance:
        """The instance."""
        return self.it


@dataclass
class Saved:
    """One instance in a file, read once in each process."""

    path: Path
    _kept: Instance | None = None

    def instance(self, point: tuple[str, ...]) -> Instance:
        """The instance."""
        if self._kept is None:
            from fluxscale.instance.io import load_instance

            self._kept = load_instance(self.path)
        return self._kept


@dataclass
class Built:
    """A job whose fabric changes from point to point; the last instance is kept, as tasks come point by point."""

    job: Job
    _point: tuple[str, ...] | None = None
    _kept: Instance | None = None

    def instance(self, point: tuple[str, ...]) -> Instance:
        """Build the instance at a point."""
        if self._kept is None or point != self._point:
            from fluxscale.instance.build import build_instance

            self._point, self._kept = None, None
            self._kept = build_instance(with_fabric(self.job, point))
            self._point = point
        return self._kept


def with_fabric(job: Job, changes: Sequence[str]) -> Job:
    """Change fields of a job's fabric.

    Parameters
    ----------
    job
        The job.
    changes
        ``fabric.KEY=VALUE`` texts.

    Raises
    ------
    InputError
        If the changed fabric is not acceptable, or tables of single planes say otherwise and would win.
    """
    own = [key for key in _keys(changes) for plane in job.fabric.plane or [] if getattr(plane, key, None) is not None]
    if own:
        raise InputError(
            "a [[fabric.plane]] table has a value of its own, so changing the fabric's would not change that plane",
            field=f"fabric.{own[0]}",
            maybe=f"leave {own[0]} out of the plane tables.",
        )
    stated = job.fabric.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    changed = apply_overrides({"fabric": stated}, changes, dag=True)
    return replace(job, fabric=parse_fabric({"fabric": changed["fabric"]}, file=job.origin))


def _keys(changes: Sequence[str]) -> list[str]:
    return [change.partition("=")[0].removeprefix("fabric.") for change in changes]
