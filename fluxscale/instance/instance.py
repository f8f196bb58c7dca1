"""Instance: the scheduling problem of one training iteration as frozen integer columns."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.names import Names

COMPUTE, TRANSFER, GANG, LOCAL = 0, 1, 2, 3
"""Op kinds. LOCAL is a fixed delay that needs neither device nor circuit (traffic that stays inside a host)."""

DARK, PRESET, CYCLIC = 0, 1, 2
"""Boundary modes: what the ports hold at time 0."""

BOUNDARY_NAMES = ("dark", "preset", "cyclic")

Ints = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Instance:
    """One training iteration on one fabric; all times are integer ticks.

    Attributes
    ----------
    op_kind
        int8 ``[n]``: COMPUTE, TRANSFER, GANG or LOCAL.
    op_device
        int32 ``[n]``: device of a compute op, -1 for the others.
    op_bytes
        int64 ``[n]``: bytes through each circuit of a transfer or gang, 0 otherwise.
    op_fixed_ticks
        int64 ``[n]``: given duration; -1 where it follows from the bytes and the plane's rate.
    pred_indptr, pred_index
        int64 ``[n+1]``, int32 ``[m]``: CSR of each op's predecessors. The order on a device is not repeated here.
    device_indptr, device_ops
        int64 ``[D+1]``, int32: CSR of each device's compute ops in the order in which it runs them.
    leg_indptr
        int64 ``[n+1]``: CSR of each op's legs. A leg is one circuit that the op holds: a transfer has one, a gang one
        for each of its circuits, compute and local ops none.
    leg_tx, leg_rx
        int32 ``[L]``: sending and receiving endpoint of each leg.
    plane_rate_bps, plane_latency_ticks, plane_delay_ticks, plane_radix
        int64 ``[P]``: rate of a circuit, latency, reconfiguration delay, ports of one OCS (0: unlimited).
    plane_all_stop, plane_duplex
        bool ``[P]``: reconfiguration rule and port kind.
    attach
        int32 ``[P, E]``: OCS (numbered within the plane) on which an endpoint hangs, -1 where it is not attached.
    boundary
        DARK, PRESET or CYCLIC.
    injection_rate_bps
        int64 ``[P]``: rate at which a host hands bytes to its NIC.
    nic_buffer_bytes
        Buffer limit per port; 0: no limit.
    tick_ns
        Length of a tick in nanoseconds.
    names
        How ops, devices and endpoints are called. Not part of the hash.
    """

    op_kind: Ints
    op_device: Ints
    op_bytes: Ints
    op_fixed_ticks: Ints
    pred_indptr: Ints
    pred_index: Ints
    device_indptr: Ints
    device_ops: Ints
    leg_indptr: Ints
    leg_tx: Ints
    leg_rx: Ints
    plane_rate_bps: Ints
    plane_latency_ticks: Ints
    plane_delay_ticks: Ints
    plane_radix: Ints
    plane_all_stop: Ints
    plane_duplex: Ints
    attach: Ints
    injection_rate_bps: Ints
    boundary: int = DARK
    nic_buffer_bytes: int = 0
    tick_ns: int = 1
    names: Names = field(default_factory=Names, repr=False)

    def __post_init__(self) -> None:
        for name, dtype in COLUMNS.items():
            column = np.ascontiguousarray(getattr(self, name), dtype=dtype)
            column.flags.writeable = False
            object.__setattr__(self, name, column)

    @property
    def n_ops(self) -> int:
        """Number of ops."""
        return len(self.op_kind)

    @property
    def n_legs(self) -> int:
        """Number of legs (circuits asked for, counted with each op that asks)."""
        return len(self.leg_tx)

    @property
    def n_devices(self) -> int:
        """Number of devices."""
        return len(self.device_indptr) - 1

    @property
    def n_planes(self) -> int:
        """Number of planes."""
        return self.attach.shape[0]

    @property
    def n_endpoints(self) -> int:
        """Number of endpoints."""
        return self.attach.shape[1]

    @property
    def n_transfers(self) -> int:
        """Number of transfers and gangs."""
        return int(np.count_nonzero((self.op_kind == TRANSFER) | (self.op_kind == GANG)))

    @cached_property
    def sha256(self) -> str:
        """Content hash over every column and setting but the names; the same on every machine."""
        digest = hashlib.sha256(b"fluxscale-instance-1")
        for name, dtype in COLUMNS.items():
            column = getattr(self, name)
            digest.update(f"{name}:{dtype}:{column.shape};".encode())
            digest.update(np.ascontiguousarray(column, dtype=np.dtype(dtype).newbyteorder("<")).data)
        digest.update(f"{self.boundary};{self.nic_buffer_bytes};{self.tick_ns}".encode())
        return digest.hexdigest()

    def __repr__(self) -> str:
        return (
            f"Instance({self.n_ops} ops, {self.n_transfers} transfers, {self.n_devices} devices, "
            f"{self.n_endpoints} endpoints, {self.n_planes} planes, boundary {BOUNDARY_NAMES[self.boundary]!r})"
        )


COLUMNS: dict[str, str] = {
    "op_kind": "i1",
    "op_device": "i4",
    "op_bytes": "i8",
    "op_fixed_ticks": "i8",
    "pred_indptr": "i8",
    "pred_index": "i4",
    "device_indptr": "i8",
    "device_ops": "i4",
    "leg_indptr": "i8",
    "leg_tx": "i4",
    "leg_rx": "i4",
    "plane_rate_bps": "i8",
    "plane_latency_ticks": "i8",
    "plane_delay_ticks": "i8",
    "plane_radix": "i8",
    "plane_all_stop": "?",
    "plane_duplex": "?",
    "attach": "i4",
    "injection_rate_bps": "i8",
}
"""Array columns of an instance and their types, in hash and file order."""

SCALARS = tuple(f.name for f in fields(Instance) if f.name not in COLUMNS and f.name != "names")
"""Settings of an instance that are single integers."""
