"""Turns what pydantic says about a job or fabric document into the one-line errors that the command line prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ValidationError

from fluxscale.errors import InputError, did_you_mean


class UnitRefused(ValueError):
    """A value that a reader of ``fluxscale.units`` refused; kept so that it can be asked again with the field."""

    def __init__(self, reader: Callable[..., int], value: object, text: str) -> None:
        super().__init__(text)
        self.reader = reader
        self.value = value


def reading(reader: Callable[..., int]) -> Callable[[object], int]:
    """Make a reader of ``fluxscale.units`` usable inside a pydantic model."""

    def read(value: object) -> int:
        try:
            return reader(value)
        except InputError as error:
            raise UnitRefused(reader, value, str(error)) from None

    return read


def as_input_error(error: ValidationError, model: type[BaseModel], *, file: object = None) -> InputError:
    """Choose the most telling complaint and write it as one line with field, value and remedy.

    Parameters
    ----------
    error
        What pydantic raised.
    model
        The model that was being filled; its keys are what an unknown key is compared with.
    file
        Where the document came from.
    """
    # A misspelt key may also leave a required one absent; the complaint about the unknown key names the remedy.
    first = min(error.errors(), key=lambda item: item["type"] != "extra_forbidden")
    path = first["loc"]
    field = _dotted(path)
    if first["type"] == "extra_forbidden":
        known = _keys(model, path[:-1])
        return InputError("unknown key", file=file, field=field, maybe=did_you_mean(str(path[-1]), known))
    if first["type"] == "missing":
        return InputError("is required but absent", file=file, field=field)
    refused = first.get("ctx", {}).get("error")
    if isinstance(refused, UnitRefused):
        try:
            refused.reader(refused.value, file=file, field=field)
        except InputError as again:
            return again
    if first["type"] in ("model_type", "dict_type"):
        return InputError("should be a table", file=file, field=field, value=first["input"])
    text = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return InputError(text, file=file, field=field, value=first["input"])


def _dotted(path: tuple[int | str, ...]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".")


def _keys(model: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    for part in path:
        if isinstance(part, int) or part not in model.model_fields:
            continue
        inner: Any = model.model_fields[part].annotation
        for candidate in (inner, *getattr(inner, "__args__", ())):
            if isinstance(candidate, type) and issubclass(candidate, BaseModel):
                model = candidate
    return list(model.model_fields)
