"""A fabric's planes on given endpoints, as columns: who hangs on which OCS, at what rate, under which rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.fabric.members import Endpoints
from fluxscale.fabric.spec import FabricSpec, PlaneSpec

Ints = npt.NDArray[Any]

MAX_PLANES = 2**15 - 1
MAX_ATTACHMENTS = 2**30
"""Planes x endpoints that an instance may have (4 GiB of attachment map)."""


@dataclass(frozen=True, eq=False)
class Planes:
    """Planes of a fabric. Columns as in :class:`fluxscale.instance.instance.Instance`, times in ns.

    Attributes
    ----------
    names
        Name of each plane.
    rate_bps, latency_ns, delay_ns, radix, injection_rate_bps
        int64 ``[P]``.
    all_stop, duplex
        bool ``[P]``.
    attach
        int32 ``[P, E]``: OCS of each endpoint on each plane, or -1.
    """

    names: tuple[str, ...]
    rate_bps: Ints
    latency_ns: Ints
    delay_ns: Ints
    radix: Ints
    injection_rate_bps: Ints
    all_stop: Ints
    duplex: Ints
    attach: Ints


def resolve_planes(fabric: FabricSpec, endpoint_names: Sequence[str], endpoint_rail: Ints) -> Planes:
    """Put the planes of a fabric on endpoints.

    Parameters
    ----------
    fabric
        The fabric.
    endpoint_names
        Name of each endpoint; empty: they are called ep0, ep1, ...
    endpoint_rail
        Rail of each endpoint ``[E]``.

    Raises
    ------
    InputError
        An unknown member, an endpoint on two OCS of one plane, an OCS with more endpoints than ports, too many planes.
    """
    rails = np.unique(endpoint_rail).tolist() or [0]
    per_rail = fabric.plane is None and fabric.attachment == "rail"
    n_planes = len(fabric.plane) if fabric.plane is not None else fabric.planes * (len(rails) if per_rail else 1)
    if n_planes > MAX_PLANES or n_planes * len(endpoint_rail) > MAX_ATTACHMENTS:
        raise InputError(f"{n_planes} planes of {len(endpoint_rail)} endpoints are too many", field="fabric.planes")
    if fabric.plane is not None:
        tables = fabric.plane
        attach = _attach_tables(tables, endpoint_names, len(endpoint_rail))
        names = tuple(plane.name or f"plane{number}" for number, plane in enumerate(tables))
    elif per_rail:
        tables = [PlaneSpec()] * n_planes
        on_rail = np.where(endpoint_rail[None, :] == np.array(rails)[:, None], 0, -1)
        attach = np.repeat(on_rail, fabric.planes, axis=0)
        names = tuple(_rail_name(rail, k, len(rails), fabric.planes) for rail in rails for k in range(fabric.planes))
    else:
        tables = [PlaneSpec()] * n_planes
        attach = np.zeros((n_planes, len(endpoint_rail)))
        names = tuple(f"plane{k}" for k in range(n_planes))
    _refuse_twin_names(names)
    planes = _columns(fabric, tables, names, attach.astype(np.int32))
    _check_radix(planes)
    return planes


def _columns(fabric: FabricSpec, tables: Sequence[PlaneSpec], names: tuple[str, ...], attach: Ints) -> Planes:
    def column(field: str) -> list[Any]:
        return [fabric.plane_value(plane, field) for plane in tables]

    rates = column("rate")
    injection = [
        given if given is not None else rate for given, rate in zip(column("injection_rate"), rates, strict=True)
    ]
    return Planes(
        names=names,
        rate_bps=np.array(rates, dtype=np.int64),
        latency_ns=np.array(column("latency"), dtype=np.int64),
        delay_ns=np.array(column("reconfiguration_delay"), dtype=np.int64),
        radix=np.array(column("radix"), dtype=np.int64),
        injection_rate_bps=np.array(injection, dtype=np.int64),
        all_stop=np.array([rule == "all-stop" for rule in column("rule")]),
        duplex=np.array([kind == "duplex" for kind in column("duplex")]),
        attach=attach,
    )


def _rail_name(rail: int, k: int, n_rails: int, per_rail: int) -> str:
    if n_rails == 1:
        return f"plane{k}"
    return f"rail{rail}" if per_rail == 1 else f"rail{rail}.plane{k}"


def _attach_tables(tables: Sequence[PlaneSpec], endpoint_names: Sequence[str], n_endpoints: int) -> Ints:
    names = endpoint_names if len(endpoint_names) else [f"ep{k}" for k in range(n_endpoints)]
    endpoints = Endpoints(names)
    attach = np.full((len(tables), n_endpoints), -1, dtype=np.int32)
    for row, plane, number in zip(attach, tables, range(len(tables)), strict=True):
        field = f"fabric.plane[{number}]"
        members = None if plane.members is None else endpoints.find(plane.members, f"{field}.members")
        if plane.ocs is None:
            row[slice(None) if members is None else members] = 0
            continue
        for ocs, listed in enumerate(plane.ocs):
            found = endpoints.find(listed, f"{field}.ocs[{ocs}]")
            taken = found[row[found] >= 0]
            if len(taken):
                first = int(taken[0])
                raise InputError(
                    f"endpoint {names[first]!r} already hangs on OCS {row[first]} of this plane",
                    field=f"{field}.ocs[{ocs}]",
                    maybe="an endpoint with two ports sits on two planes.",
                )
            row[found] = ocs
        if members is not None and not np.array_equal(members, np.flatnonzero(row >= 0)):
            odd = names[int(np.setxor1d(members, np.flatnonzero(row >= 0))[0])]
            raise InputError(
                f"members and ocs disagree about endpoint {odd!r}", field=field, maybe="leave members out."
            )
    return attach


def _refuse_twin_names(names: tuple[str, ...]) -> None:
    seen: set[str] = set()
    for number, name in enumerate(names):
        if name in seen:
            raise InputError("two planes have this name", field=f"fabric.plane[{number}].name", value=name)
        seen.add(name)


def _check_radix(planes: Planes) -> None:
    for p in np.flatnonzero(planes.radix).tolist():
        row = planes.attach[p]
        counts = np.bincount(row[row >= 0], minlength=1)
        ocs, radix = int(counts.argmax()), int(planes.radix[p])
        if counts[ocs] > radix:
            raise InputError(
                f"plane {planes.names[p]!r}: OCS {ocs} has {radix} ports, but {counts[ocs]} endpoints hang on it",
                field="fabric.radix",
                value=radix,
                maybe="raise radix, or spread them over several OCS: [[fabric.plane]] with ocs = [[...], [...]].",
            )
