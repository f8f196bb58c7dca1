"""Checks that the columns of an instance are right in themselves, for files that are not trusted."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.instance.instance import COMPUTE, GANG, LOCAL, TRANSFER, Instance
from fluxscale.instance.names import LABEL_COLUMNS, ROLES
from fluxscale.kernels.toposort import topological_order
from fluxscale.units import MAX_TICKS

Ints = npt.NDArray[Any]


def check_columns(instance: Instance, *, file: object = None) -> None:
    """Refuse an instance whose columns contradict each other.

    Parameters
    ----------
    instance
        As it was read.
    file
        For messages.

    Raises
    ------
    InputError
        Names the column and, where there is one, the first entry that is wrong.
    """
    n, legs, devices = instance.n_ops, instance.n_legs, instance.n_devices
    planes, endpoints = instance.n_planes, instance.n_endpoints
    lengths = {
        "op_device": n, "op_bytes": n, "op_fixed_ticks": n, "pred_indptr": n + 1, "leg_indptr": n + 1, "leg_rx": legs,
        "plane_rate_bps": planes, "plane_latency_ticks": planes, "plane_delay_ticks": planes, "plane_radix": planes,
        "plane_all_stop": planes, "plane_duplex": planes, "injection_rate_bps": planes,
    }  # fmt: skip
    for name, length in lengths.items():
        if len(getattr(instance, name)) != length:
            _fail(f"has {len(getattr(instance, name))} entries instead of {length}", name, file)
    for pointer, index in (("pred_indptr", "pred_index"), ("device_indptr", "device_ops"), ("leg_indptr", "leg_tx")):
        _check_pointer(getattr(instance, pointer), len(getattr(instance, index)), pointer, file)
    ranges = {
        "op_kind": (COMPUTE, LOCAL), "op_device": (-1, devices - 1), "op_bytes": (0, 2**60 - 1),
        "op_fixed_ticks": (-1, MAX_TICKS), "pred_index": (0, n - 1), "device_ops": (0, n - 1),
        "leg_tx": (0, endpoints - 1), "leg_rx": (0, endpoints - 1), "plane_rate_bps": (1, 2**60),
        "plane_latency_ticks": (0, MAX_TICKS), "plane_delay_ticks": (0, MAX_TICKS), "plane_radix": (0, 2**31),
        "injection_rate_bps": (1, 2**60), "attach": (-1, max(endpoints - 1, 0)),
    }  # fmt: skip
    for name, (least, most) in ranges.items():
        column = getattr(instance, name).ravel()
        _refuse((column < least) | (column > most), f"must be from {least} to {most}", name, file, column)
    _check_ops(instance, file)
    _check_devices(instance, file)
    _check_names(instance, file)
    _, count = topological_order(instance.pred_indptr, instance.pred_index, instance.device_indptr, instance.device_ops)
    if count < n:
        _fail("the ops wait for each other in a cycle", "pred_index", file)


def _fail(message: str, field: str, file: object, value: object = None) -> NoReturn:
    raise InputError(message, file=file, field=field, value=value)


def _refuse(wrong: Ints, message: str, field: str, file: object, column: Ints | None = None) -> None:
    places = np.flatnonzero(wrong)
    if len(places):
        at = int(places[0])
        _fail(f"entry {at} {message}", field, file, None if column is None else int(column[at]))


def _check_pointer(pointer: Ints, length: int, name: str, file: object) -> None:
    if not len(pointer) or pointer[0] != 0 or pointer[-1] != length:
        _fail(f"must run from 0 to {length}", name, file)
    _refuse(np.diff(pointer) < 0, "is followed by a smaller one", name, file)


def _check_ops(instance: Instance, file: object) -> None:
    kind, legs = instance.op_kind, np.diff(instance.leg_indptr)
    _refuse((kind == COMPUTE) != (instance.op_device >= 0), "must be a device for compute ops alone", "op_device", file)
    needs = (kind == TRANSFER) | (kind == GANG)
    _refuse(~needs & (instance.op_fixed_ticks < 0), "must be a duration", "op_fixed_ticks", file)
    wrong_legs = np.where(kind == TRANSFER, legs != 1, np.where(kind == GANG, legs < 1, legs != 0))
    _refuse(wrong_legs, "has a number of circuits that does not fit its kind", "leg_indptr", file)
    _refuse(instance.leg_tx == instance.leg_rx, "sends to itself", "leg_rx", file)


def _check_devices(instance: Instance, file: object) -> None:
    order = instance.device_ops
    device = np.repeat(np.arange(instance.n_devices), np.diff(instance.device_indptr))
    _refuse(instance.op_device[order] != device, "is an op of another device", "device_ops", file, order)
    computes = np.count_nonzero(instance.op_kind == COMPUTE)
    if len(np.unique(order)) != len(order) or len(order) != computes:
        _fail("must hold each compute op once", "device_ops", file)


def _check_names(instance: Instance, file: object) -> None:
    names = instance.names
    lengths = {
        "ops": instance.n_ops, "devices": instance.n_devices,
        "endpoints": instance.n_endpoints, "planes": instance.n_planes,
    }  # fmt: skip
    for name, length in lengths.items():
        found = len(getattr(names, name))
        if found not in (0, length):
            _fail(f"has {found} entries instead of {length}", f"names.{name}", file)
    if names.labels is None:
        return
    for name in LABEL_COLUMNS:
        column = getattr(names.labels, name)
        if len(column) != instance.n_ops:
            _fail(f"has {len(column)} entries instead of {instance.n_ops}", f"label.{name}", file)
    role = names.labels.role
    _refuse((role < 0) | (role >= len(ROLES)), "is no role", "label.role", file, role)
