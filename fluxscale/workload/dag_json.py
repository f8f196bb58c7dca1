"""Reads the DAG JSON interchange format into a :class:`CommDag`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fluxscale.errors import InputError, did_you_mean
from fluxscale.workload.dag import CommDag
from fluxscale.workload.dag_columns import Misfit, read_columns
from fluxscale.workload.dag_cycle import refuse_cycle
from fluxscale.workload.dag_diagnosis import diagnose
from fluxscale.workload.dag_endpoints import check_endpoints
from fluxscale.workload.dag_format import DOCUMENT_KEYS, FORMAT, MAX_OPS, REQUIRED_DOCUMENT_KEYS, VERSION
from fluxscale.workload.reading import read_json


def read_dag(source: str | Path | Mapping[str, Any], *, file: object = None) -> CommDag:
    """Read a DAG from a file, or from a document that has been read already.

    Parameters
    ----------
    source
        Path of a JSON file, or its document.
    file
        Where a document came from, for messages.

    Returns
    -------
    CommDag
        Ops in the document's order, predecessors ascending. The rail of an endpoint is its place in its device's list.

    Raises
    ------
    InputError
        One line that names op, field and value.
    """
    document: Any = source
    if isinstance(source, (str, Path)):
        document, file = read_json(source), source
    check_head(document, file=file)
    ops = document["ops"]
    listed = check_endpoints(document.get("endpoints", {}), file=file)
    try:
        dag = read_columns(ops, listed)
    except Misfit:
        diagnose(ops, listed, file=file)
    refuse_cycle(dag, file=file)
    return dag


def check_head(document: Any, *, file: object = None) -> None:
    """Check everything of a DAG document but its ops and endpoints.

    Raises
    ------
    InputError
        Another format or version, unknown or missing keys, no ops or too many.
    """
    if not isinstance(document, Mapping):
        raise InputError("a DAG must be an object", file=file, value=document)
    found = document.get("format")
    if found != FORMAT:
        maybe = "`fluxscale check` reads schedules." if found == "fluxscale-schedule" else f'"format": "{FORMAT}".'
        raise InputError(
            f"is no DAG: the format must be {FORMAT!r}", file=file, field="format", value=found, maybe=maybe
        )
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise InputError(f"must be {VERSION}", file=file, field="version", value=version)
    for key in document:
        if key not in DOCUMENT_KEYS:
            raise InputError("unknown key", file=file, field=key, maybe=did_you_mean(str(key), DOCUMENT_KEYS))
    for key in REQUIRED_DOCUMENT_KEYS:
        if key not in document:
            raise InputError("is required but absent", file=file, field=key)
    ops = document["ops"]
    if not isinstance(ops, list):
        raise InputError("must be a list", file=file, field="ops", value=ops)
    if not ops:
        raise InputError("there are no ops, so there is nothing to schedule", file=file, field="ops")
    if len(ops) > MAX_OPS:
        raise InputError(f"there are {len(ops)} ops, more than the {MAX_OPS} that are read", file=file, field="ops")
