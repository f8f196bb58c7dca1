"""FabricSpec: the optical switches as their TOML table describes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema, model_validator

from fluxscale.errors import InputError
from fluxscale.spec_errors import as_input_error, reading
from fluxscale.units import format_rate, format_size, format_time, parse_rate, parse_size, parse_time

MAX_PORTS = 2**31 - 1


def _size_or_zero(value: object, **where: object) -> int:
    return parse_size(value, allow_zero=True, **where)


_UNIT = WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "number"}]})
TimeNs = Annotated[int, BeforeValidator(reading(parse_time)), _UNIT]
BitsPerSecond = Annotated[int, BeforeValidator(reading(parse_rate)), _UNIT]
SizeBytes = Annotated[int, BeforeValidator(reading(_size_or_zero)), _UNIT]
Rule = Literal["per-port", "all-stop"]
Duplex = Literal["simplex", "duplex"]
Members = Annotated[list[str], Field(min_length=1)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, validate_default=True)


class PlaneSpec(_Table):
    """One ``[[fabric.plane]]`` table. What it leaves out is taken from ``[fabric]``."""

    name: str | None = Field(default=None, min_length=1, description="Name of the plane; default: plane0, plane1, ...")
    members: Members | None = Field(
        default=None, description="Endpoints on this plane, by name or pattern (*, ?, [...]); default: all."
    )
    ocs: Annotated[list[Members], Field(min_length=1)] | None = Field(
        default=None,
        description="Attachment map: one list of members for each OCS of the plane; default: one OCS holds all.",
    )
    rate: BitsPerSecond | None = Field(default=None, description="Rate of a circuit in each direction.")
    latency: TimeNs | None = Field(default=None, description="Time that every transfer takes besides its bytes.")
    reconfiguration_delay: TimeNs | None = Field(
        default=None, description="Dark time of a port when its circuit changes: control, optics and receiver."
    )
    rule: Rule | None = Field(default=None, description="What goes dark in a change: two ports, or the plane.")
    duplex: Duplex | None = Field(default=None, description="Port kind.")
    radix: Annotated[int, Field(ge=0, le=MAX_PORTS)] | None = Field(
        default=None, description="Ports of one OCS; 0: unlimited."
    )
    injection_rate: BitsPerSecond | None = Field(default=None, description="Rate from host to NIC; default: the rate.")


class FabricSpec(_Table):
    """The ``[fabric]`` table: planes of optical circuit switches and how they behave."""

    planes: Annotated[int, Field(ge=1, le=1024)] = Field(
        default=1, description="Planes that every endpoint is attached to (in each rail, see attachment)."
    )
    plane: Annotated[list[PlaneSpec], Field(min_length=1, max_length=8192)] | None = Field(
        default=None, description="Planes one by one, instead of a number of equal ones."
    )
    attachment: Literal["rail", "all"] = Field(
        default="rail", description="rail: each rail has planes of its own; all: every plane holds all endpoints."
    )
    rate: BitsPerSecond = Field(default="400Gbps", description="Rate of a circuit in each direction.")  # type: ignore[assignment]
    latency: TimeNs = Field(default="0ns", description="Time that every transfer takes besides its bytes.")  # type: ignore[assignment]
    reconfiguration_delay: TimeNs = Field(
        default="10ms", description="Dark time of a port when its circuit changes: control, optics and receiver."
    )  # type: ignore[assignment]
    rule: Rule = Field(default="per-port", description="What goes dark in a change: two ports, or the plane.")
    duplex: Duplex = Field(
        default="simplex",
        description="simplex: a transmit and a receive port on each plane; duplex: one port, both ways with one peer.",
    )
    boundary: Literal["dark", "preset", "cyclic"] = Field(
        default="dark",
        description="Ports at time 0: dark; preset: first circuits are free; cyclic: as they end.",
    )
    radix: Annotated[int, Field(ge=0, le=MAX_PORTS)] = Field(
        default=0, description="Ports of one OCS; 0: unlimited. An endpoint takes one."
    )
    injection_rate: BitsPerSecond | None = Field(default=None, description="Rate from host to NIC; default: the rate.")
    striping: Literal["none", "equal"] = Field(
        default="none",
        description="equal: every transfer is split into equal parts, one for each plane that it could take.",
    )
    nic_buffer: SizeBytes = Field(
        default=0, description="Limit of the eager NIC buffer of every transmit port of every plane; 0: no limit."
    )

    @model_validator(mode="after")
    def _one_way_to_give_planes(self) -> Self:
        if self.plane is not None and "planes" in self.model_fields_set and self.planes != len(self.plane):
            raise ValueError(f"planes = {self.planes}, but there are {len(self.plane)} [[fabric.plane]] tables")
        return self

    def plane_value(self, plane: PlaneSpec, field: str) -> Any:
        """Value of a field on one plane: its own, or else the fabric's."""
        own = getattr(plane, field)
        return getattr(self, field) if own is None else own

    @property
    def any_duplex(self) -> bool:
        """Whether some plane has duplex ports."""
        return any(self.plane_value(plane, "duplex") == "duplex" for plane in self.plane or [PlaneSpec()])

    @property
    def planes_per_endpoint(self) -> int:
        """Planes that surely hold every endpoint (of a rail); planes with members of their own are not counted."""
        if self.plane is None:
            return self.planes
        return max(
            1, sum(plane.ocs is None and (plane.members is None or "*" in plane.members) for plane in self.plane)
        )

    def describe(self) -> str:
        """One line for people, e.g. ``one plane per rail, 400 Gbps, reconfiguration 10 ms, per-port, ...``."""
        per_rail = " per rail" if self.attachment == "rail" else ""
        count = "one plane" if self.planes == 1 else f"{self.planes} planes"
        parts = [
            f"{len(self.plane)} planes given one by one" if self.plane else count + per_rail,
            format_rate(self.rate),
            f"reconfiguration {format_time(self.reconfiguration_delay)}",
            self.rule,
            self.duplex,
            f"boundary {self.boundary}",
            f"radix {self.radix}" if self.radix else "radix unlimited",
        ]
        if self.latency:
            parts.insert(2, f"latency {format_time(self.latency)}")
        if self.striping != "none":
            parts.append("transfers striped over the planes")
        if self.nic_buffer:
            parts.append(f"NIC buffer {format_size(self.nic_buffer)}")
        return ", ".join(parts)


class FabricDocument(_Table):
    """A fabric file."""

    fabric: FabricSpec = Field(description="The fabric.")


def parse_fabric(document: Mapping[str, Any], *, file: object = None) -> FabricSpec:
    """Read a fabric from its TOML document.

    Parameters
    ----------
    document
        ``{"fabric": {...}}``.
    file
        Where it came from, for messages.

    Raises
    ------
    InputError
        One line: file, field, what is wrong, the value, what to do.
    """
    try:
        fabric = FabricDocument.model_validate(dict(document)).fabric
    except ValidationError as error:
        raise as_input_error(error, FabricDocument, file=file) from None
    for number, plane in enumerate(fabric.plane or [PlaneSpec()]):
        rate, injection = (fabric.plane_value(plane, field) for field in ("rate", "injection_rate"))
        if injection is not None and injection < rate:
            place = "" if plane.injection_rate is None else f"plane[{number}]."
            raise InputError(
                f"is below the circuits' rate of {format_rate(rate)}, so the NIC would starve",
                file=file,
                field=f"fabric.{place}injection_rate",
                value=format_rate(injection),
                maybe="leave it out, or lower the rate.",
            )
    return fabric
