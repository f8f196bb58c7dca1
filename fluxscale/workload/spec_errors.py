"""Turns what pydantic reports into the one-line errors that the command line prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ValidationError

from fluxscale.errors import InputError, did_you_mean


class UnitRefused(ValueError):
    """A value that a reader of ``fluxscale.units`` refused; it is asked again once the field's name is known."""

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
    """Choose the most telling of pydantic's complaints and write it as one line with field, value and remedy.

    Parameters
    ----------
    error
        What pydantic raised.
    model
        The model that was being filled; its keys are what an unknown key is compared with.
    file
        File (or preset) that the document came from.
    """
    # A misspelt key that is also required gives two complaints; the one about the unknown key names the remedy.
    found = sorted(error.errors(), key=lambda item: item["type"] != "extra_forbidden")
    first = found[0]
    path = tuple(str(part) for part in first["loc"])
    field = ".".join(path)
    more = f"; {len(found) - 1} more like this" if len(found) > 1 else ""
    if first["type"] == "extra_forbidden":
        return InputError(
            "unknown key" + more, file=file, field=field, maybe=did_you_mean(path[-1], _keys(model, path[:-1]))
        )
    if first["type"] == "missing":
        return InputError("is required but absent" + more, file=file, field=field)
    refused = first.get("ctx", {}).get("error")
    if isinstance(refused, UnitRefused):
        try:
            refused.reader(refused.value, file=file, field=field)
        except InputError as again:
            return again
    text = first["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return InputError(f"should be {text}" + more, file=file, field=field, value=first["input"])


def _keys(model: type[BaseModel], path: tuple[str, ...]) -> list[str]:
    for part in path:
        inner: Any = model.model_fields[part].annotation if part in model.model_fields else None
        for candidate in (inner, *getattr(inner, "__args__", ())):
            if isinstance(candidate, type) and issubclass(candidate, BaseModel):
                model = candidate
    return list(model.model_fields)
