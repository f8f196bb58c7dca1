"""Finds and reads a job: a preset, a job TOML or a DAG JSON file, with its fabric and the changes asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fluxscale.errors import InputError, UnsupportedError, did_you_mean
from fluxscale.fabric.spec import FabricSpec, parse_fabric
from fluxscale.workload.dag_json import check_head
from fluxscale.workload.job import Job, job_from_description
from fluxscale.workload.overrides import apply_overrides
from fluxscale.workload.reading import parse_toml, read_json, read_toml

__all__ = ["Job", "job_from_description", "load_job"]

TRACES = (".et", ".csv", ".gz")


def load_job(ref: str | Path, *, fabric_file: str | Path | None = None, overrides: Sequence[str] = ()) -> Job:
    """Read a job.

    Parameters
    ----------
    ref
        Name of a preset, or path of a job TOML or DAG JSON file.
    fabric_file
        TOML file whose fabric is used instead of the job's.
    overrides
        ``KEY=VALUE`` changes of fields of job or fabric (see :func:`fluxscale.workload.overrides.apply_overrides`).

    Returns
    -------
    Job
        Its ``notes`` say if the fabric is assumed. The ops of a DAG are not looked at before :meth:`Job.dag`.

    Raises
    ------
    InputError
        One line: file, field, what is wrong, the value, what to do.
    UnsupportedError
        For traces, which cannot be read yet.
    """
    from fluxscale.workload.presets import preset_names, preset_text

    ref = str(ref)
    suffix = Path(ref).suffix.lower()
    if ref in (presets := preset_names()):
        document = parse_toml(preset_text(ref), file=ref)
        return _job(document, ref, ref, None, fabric_file, overrides, preset=True)
    if suffix == ".toml":
        document = read_toml(ref)
        return _job(document, Path(ref).stem, ref, Path(ref).parent, fabric_file, overrides)
    if suffix == ".json":
        return _dag(ref, fabric_file, overrides)
    if suffix in TRACES:
        raise UnsupportedError("trace import is not there yet", file=ref, maybe="convert it to DAG JSON.")
    if Path(ref).is_dir():
        raise InputError("is a directory, not a job", file=ref)
    if Path(ref).exists():
        raise InputError("unknown kind of file", file=ref, value=suffix, maybe="a job ends in .toml, a DAG in .json.")
    raise InputError("unknown preset or file", field="job", value=ref, maybe=did_you_mean(ref, presets, many=20))


def _job(
    document: dict[str, Any],
    name: str,
    file: str,
    folder: Path | None,
    fabric_file: str | Path | None,
    overrides: Sequence[str],
    *,
    preset: bool = False,
) -> Job:
    from fluxscale.workload.spec import parse_job

    given, origin = _fabric_table(document, file, folder, fabric_file)
    changed = apply_overrides({**document, "fabric": {} if given is None else given}, overrides)
    fabric = parse_fabric({"fabric": changed["fabric"]}, file=origin)
    spec = parse_job(changed, file=file)
    assumed = fabric_file is None and (given is None or (preset and spec.fabric_source is None))
    notes = _assumption(fabric) if assumed else ()
    return Job(name if preset or "name" not in changed else spec.name, "job", spec, fabric, None, notes, origin=file)


def _fabric_table(
    document: dict[str, Any], file: str, folder: Path | None, fabric_file: str | Path | None
) -> tuple[Any, str]:
    """Table of the fabric, or None where there is none, and the file that it is in."""
    given = document.get("fabric")
    if fabric_file is None and isinstance(given, str):
        fabric_file = (folder or Path()) / given
    if fabric_file is None:
        return given, file
    inner = read_toml(fabric_file)
    if set(inner) != {"fabric"}:
        parse_fabric(inner, file=fabric_file)
    return inner["fabric"], str(fabric_file)


def _dag(file: str, fabric_file: str | Path | None, overrides: Sequence[str]) -> Job:
    document = read_json(file)
    check_head(document, file=file)
    given, origin = _fabric_table({}, file, None, fabric_file)
    changed = apply_overrides({"fabric": {} if given is None else given}, overrides, dag=True)
    fabric = parse_fabric({"fabric": changed["fabric"]}, file=origin)
    notes = _assumption(fabric) if fabric_file is None else ()
    return Job(Path(file).stem, "dag", None, fabric, document, notes, file, file)


def _assumption(fabric: FabricSpec) -> tuple[str, ...]:
    return (f"fabric assumed: {fabric.describe()}",)
