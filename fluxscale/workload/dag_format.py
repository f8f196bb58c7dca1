"""What the DAG JSON format is made of: kinds, keys, limits. Shared by the parser, its diagnosis and the schema."""

from __future__ import annotations

from fluxscale.workload.dag import COMPUTE, GANG, LOCAL, TRANSFER

FORMAT = "fluxscale-dag"
VERSION = 1

MAX_OPS = 20_000_000
MAX_BYTES = 2**60 - 1
"""Bytes of a transfer: their bits still fit 63 bits."""

DOCUMENT_KEYS = ("format", "version", "ops", "endpoints")
REQUIRED_DOCUMENT_KEYS = ("format", "version", "ops")

KINDS = {"compute": COMPUTE, "transfer": TRANSFER, "gang": GANG, "local": LOCAL}

REQUIRED_KEYS = {
    "compute": ("id", "kind", "device", "duration"),
    "transfer": ("id", "kind", "src", "dst"),
    "gang": ("id", "kind", "circuits"),
    "local": ("id", "kind", "duration"),
}
"""Keys that an op of each kind must have. A transfer or gang has ``bytes`` or ``duration`` besides."""

OPTIONAL_KEYS = {
    "compute": ("after",),
    "transfer": ("after", "bytes", "duration"),
    "gang": ("after", "bytes", "duration"),
    "local": ("after",),
}
"""Keys that an op of each kind may have."""
