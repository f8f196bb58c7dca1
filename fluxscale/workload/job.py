"""Job: what is to be scheduled and on which fabric, before it becomes columns."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fluxscale.errors import InputError
from fluxscale.fabric.spec import FabricSpec, parse_fabric
from fluxscale.workload.dag import CommDag
from fluxscale.workload.dag_json import check_head, read_dag
from fluxscale.workload.reading import read_json

if TYPE_CHECKING:
    from fluxscale.workload.spec import JobSpec

EMBED_OPS = 20_000
"""DAG documents of up to this many ops are kept inside a description; larger ones are named by file and hash."""


@dataclass(frozen=True)
class Job:
    """A training job, or a DAG, with its fabric.

    Attributes
    ----------
    name
        Name of the preset, the job or the file.
    kind
        ``job`` (built from a model and its parallelism) or ``dag`` (given op by op).
    spec
        The job; None for a DAG.
    fabric
        The fabric.
    dag_document
        The DAG JSON document; None for a job.
    notes
        Facts that the output must state, e.g. that the fabric is assumed.
    file
        File that a DAG came from, or None.
    origin
        What errors call the job: the file or preset that it was read from.
    """

    name: str
    kind: Literal["job", "dag"]
    spec: JobSpec | None
    fabric: FabricSpec
    dag_document: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    file: str | None = None
    origin: str | None = None

    def dag(self) -> CommDag:
        """Build the DAG of the iteration (its ``notes`` say more than the job's).

        Raises
        ------
        InputError
            Whatever is wrong with the ops, or the job does not fit the ports of the fabric.
        """
        if self.dag_document is not None:
            return read_dag(self.dag_document, file=self.file)
        if self.spec is None:
            raise InputError("a job has either a spec or a DAG document", field=self.name)
        from fluxscale.workload.build import build_dag

        duplex, planes = self.fabric.any_duplex, self.fabric.planes_per_endpoint
        return build_dag(self.spec, duplex=duplex, planes_per_endpoint=planes)

    def describe(self) -> dict[str, Any]:
        """Describe the job in JSON terms, so that :func:`job_from_description` makes it again.

        A DAG of more than ``EMBED_OPS`` ops is named by its file and the file's hash instead of copied.
        """
        found: dict[str, Any] = {"kind": self.kind, "name": self.name}
        if self.spec is not None:
            found["job"] = self.spec.model_dump(mode="json", exclude={"fabric"}, exclude_none=True)
        elif self.dag_document is not None and self.file is not None and len(self.dag_document["ops"]) > EMBED_OPS:
            path = Path(self.file).resolve()
            found["dag_file"] = str(path)
            found["dag_sha256"] = _file_sha256(path)
        else:
            found["dag"] = self.dag_document
        found["fabric"] = self.fabric.model_dump(mode="json", exclude_none=True)
        return found


def job_from_description(description: Mapping[str, Any], *, file: object = None) -> Job:
    """Make a job again from what :meth:`Job.describe` said.

    Parameters
    ----------
    description
        Not trusted: everything is checked as if it came from a file.
    file
        Where it came from, for messages.

    Raises
    ------
    InputError
        If it is no description, or the DAG's file is gone or has changed.
    """
    kind, name = description.get("kind"), description.get("name")
    if kind not in ("job", "dag") or not isinstance(name, str):
        raise InputError("does not describe a job", file=file, field="source.kind", value=kind)
    if not isinstance(description.get("fabric"), dict):
        raise InputError("does not describe a fabric", file=file, field="source.fabric")
    fabric = parse_fabric({"fabric": description["fabric"]}, file=file)
    if kind == "job":
        from fluxscale.workload.spec import parse_job

        document = description.get("job")
        if not isinstance(document, dict):
            raise InputError("does not describe a job", file=file, field="source.job", value=document)
        return Job(name, "job", parse_job(document, file=file), fabric)
    if "dag_file" in description:
        path = str(description["dag_file"])
        document = read_json(path)
        if _file_sha256(Path(path)) != description.get("dag_sha256"):
            raise InputError("has changed since the schedule was made", file=path)
        check_head(document, file=path)
        return Job(name, "dag", None, fabric, document, file=path)
    check_head(description.get("dag"), file=file)
    return Job(name, "dag", None, fabric, description["dag"])


def _file_sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
