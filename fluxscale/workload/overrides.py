"""``--set KEY=VALUE``: changes of single fields of a job or fabric, made in the document before it is checked."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from fluxscale.errors import InputError, did_you_mean
from fluxscale.fabric.spec import FabricSpec

WHERE = "--set"


def apply_overrides(document: dict[str, Any], overrides: Sequence[str], *, dag: bool = False) -> dict[str, Any]:
    """Set fields of a document; the one given is not changed.

    Parameters
    ----------
    document
        Tables by section, as read from TOML.
    overrides
        ``KEY=VALUE`` texts, e.g. ``fabric.reconfiguration_delay=25ms``; later ones win. A value is read as TOML where
        that is possible and is a text otherwise.
    dag
        Whether this is a DAG, which has a fabric but no sections of a job.

    Raises
    ------
    InputError
        No ``=``, or an unknown section or field (with the near one).
    """
    sections = _sections(dag)
    changed = {key: dict(value) if isinstance(value, Mapping) else value for key, value in document.items()}
    for text in overrides:
        key, equals, value = text.partition("=")
        path = key.strip().split(".")
        if not equals or not all(path):
            raise InputError("must be KEY=VALUE", file=WHERE, value=text, maybe="fabric.reconfiguration_delay=25ms.")
        _check_path(path, sections, dag)
        _set(changed, path, _value(value.strip()))
    return changed


def _sections(dag: bool) -> dict[str, list[str]]:
    """Fields of each section; a key of the top level has none."""
    sections: dict[str, list[str]] = {"fabric": list(FabricSpec.model_fields)}
    if not dag:
        from fluxscale.workload.spec import JobSpec

        for name, field in JobSpec.model_fields.items():
            types: list[Any] = [field.annotation, *getattr(field.annotation, "__args__", ())]
            fields = [list(kind.model_fields) for kind in types if hasattr(kind, "model_fields")]
            sections.setdefault(name, fields[0] if fields else [])
    return sections


def _check_path(path: list[str], sections: dict[str, list[str]], dag: bool) -> None:
    key, section = ".".join(path), path[0]
    if section not in sections:
        message = "unknown section; a DAG has only a fabric" if dag else "unknown section"
        raise InputError(message, file=WHERE, field=key, maybe=did_you_mean(section, sections))
    known = sections[section]
    if not known and len(path) > 1:
        raise InputError(f"{section} has no fields", file=WHERE, field=key)
    if known and len(path) == 1:
        maybe = "--fabric FILE gives a whole fabric." if section == "fabric" else did_you_mean("", known)
        raise InputError("names a section, not a field", file=WHERE, field=key, maybe=maybe)
    if known and path[1] not in known:
        raise InputError(f"unknown field of {section}", file=WHERE, field=key, maybe=did_you_mean(path[1], known))
    if len(path) > 2 and path[:2] != ["fabric", "plane"]:
        raise InputError("leads too deep", file=WHERE, field=key, maybe=f"{path[0]}.{path[1]}.")


def _set(document: dict[str, Any], path: list[str], value: Any) -> None:
    if len(path) == 1:
        document[path[0]] = value
        return
    section = document.setdefault(path[0], {})
    if not isinstance(section, dict):
        raise InputError("is not a table in this job", file=WHERE, field=path[0], value=section)
    if len(path) == 2:
        section[path[1]] = value
        return
    planes, key = section.get("plane"), ".".join(path)
    if len(path) != 4 or not path[2].isascii() or not path[2].isdigit():
        raise InputError("must name a plane and one of its fields", file=WHERE, field=key, maybe="fabric.plane.0.rate.")
    number = int(path[2][:9])
    if not isinstance(planes, list) or number >= len(planes) or not isinstance(planes[number], dict):
        raise InputError("there is no such [[fabric.plane]] table", file=WHERE, field=key)
    section["plane"] = [*planes[:number], {**planes[number], path[3]: value}, *planes[number + 1 :]]


def _value(text: str) -> Any:
    """Read a value as TOML if it is one value of TOML; otherwise it is a text."""
    try:
        found = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return found["value"] if list(found) == ["value"] else text
