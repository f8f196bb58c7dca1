"""Endpoints of a DAG JSON document: what its devices are called on the fabric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError, did_you_mean

Ints = npt.NDArray[Any]

MAX_RAILS = 1024
"""Endpoints that one device may have."""


class EndpointTable:
    """Numbers and rails of endpoints, and which name of a transfer means which of them.

    An endpoint is called like its device unless the document's ``endpoints`` lists others for it; the place in that
    list is the endpoint's rail. A device with exactly one endpoint may be named instead of it.

    Parameters
    ----------
    listed
        Device -> names of its endpoints, as checked by :func:`check_endpoints`.
    devices
        Devices of compute ops in the order of the document.
    """

    def __init__(self, listed: Mapping[str, list[str]], devices: Iterable[str]) -> None:
        self._listed = listed
        self.rails: list[int] = []
        self.number: dict[str, int] = {}
        for names in listed.values():
            for rail, name in enumerate(names):
                self._add(name, rail)
        for device in devices:
            if device not in listed and device not in self.number:
                self._add(device, 0)
        self._meant = dict(self.number)
        for device, names in listed.items():
            if len(names) == 1:
                self._meant.setdefault(device, self.number[names[0]])

    def _add(self, name: str, rail: int) -> None:
        self.number[name] = len(self.number)
        self.rails.append(rail)

    def numbers(self, names: list[str]) -> Ints:
        """Endpoint numbers of names in transfers, int32.

        Raises
        ------
        KeyError
            If a name means no endpoint (only where the document lists endpoints).
        """
        meant = self._meant
        if not self._listed:
            for name in dict.fromkeys(names):
                if name not in meant:
                    self._add(name, 0)
                    meant[name] = self.number[name]
        return np.fromiter(map(meant.__getitem__, names), dtype=np.int32, count=len(names))

    def check(self, name: str, *, file: object, field: str) -> int:
        """Number of the endpoint that a name means, or the error that says why there is none."""
        several = self._listed.get(name)
        if name in self._meant or not self._listed:
            return int(self.numbers([name])[0])
        if several:
            raise InputError(
                "this device has several endpoints", file=file, field=field, value=name, maybe=did_you_mean("", several)
            )
        raise InputError("unknown endpoint", file=file, field=field, value=name, maybe=did_you_mean(name, self._meant))


def check_endpoints(listed: object, *, file: object = None) -> dict[str, list[str]]:
    """Check the ``endpoints`` of a document.

    Parameters
    ----------
    listed
        What the document says.
    file
        For messages.

    Raises
    ------
    InputError
        If it is no object of lists of names, or if a name is given twice.
    """
    if not isinstance(listed, dict):
        raise InputError("must be an object: device to list of endpoints", file=file, field="endpoints", value=listed)
    owner: dict[str, str] = {}
    for device, names in listed.items():
        field = f"endpoints.{device}"
        if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
            raise InputError("must be a list of endpoint names", file=file, field=field, value=names)
        if len(names) > MAX_RAILS:
            raise InputError(f"has {len(names)} endpoints, more than {MAX_RAILS}", file=file, field=field)
        for name in names:
            if name in owner:
                raise InputError(f"endpoint {name!r} already belongs to {owner[name]!r}", file=file, field=field)
            if name != device and name in listed:
                raise InputError(f"endpoint {name!r} is called like another device", file=file, field=field)
            owner[name] = device
    return listed
