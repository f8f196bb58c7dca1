"""An incumbent as decomposition reads it: port sequences, positions, ends, and the longest path behind each op."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.decompose.incumbent import Incumbent, decode_starts
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance
from fluxscale.schedule.circuits import op_ends

Ints = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Sequences:
    """Who comes after whom on each port.

    Attributes
    ----------
    entry_port, entry_op
        int64 ``[2 L]`` and int32 ``[2 L]``: leg ends grouped by port, in sequence on each.
    entry_key
        int64 ``[2 L]``, ascending: ``port x n + rank``, for searches.
    leg_entry
        int64 ``[2 L]``: place of the sending (even) and the receiving (odd) end of each leg.
    """

    entry_port: Ints
    entry_op: Ints
    entry_key: Ints
    leg_entry: Ints


def leg_ports(instance: Instance, legs: Ints, planes: Ints) -> tuple[Ints, Ints]:
    """Sending and receiving port of legs on planes: (plane x endpoints + endpoint) x 2 + side; duplex: one for both."""
    base = planes.astype(np.int64) * instance.n_endpoints
    side = np.where(instance.plane_duplex[planes], 0, 1)
    return (base + instance.leg_tx[legs]) * 2, (base + instance.leg_rx[legs]) * 2 + side


def port_sequences(instance: Instance, leg_plane: Ints, rank: Ints, fine: Ints | None = None) -> Sequences:
    """Sort all leg ends by port, then by a rank of each end, then by ``fine``.

    Parameters
    ----------
    instance
        The problem.
    leg_plane
        int16 ``[L]``.
    rank
        int64 ``[2 L]``, below n: place of each leg's sending (even) and receiving (odd) end.
    fine
        int64 ``[2 L]``, or None: decides between equal ranks.
    """
    tx, rx = leg_ports(instance, np.arange(instance.n_legs), leg_plane)
    port = np.stack([tx, rx], axis=1).ravel()
    key = port * max(1, instance.n_ops) + rank
    by = np.argsort(key, kind="stable") if fine is None else np.lexsort((fine, key))
    place = np.empty(len(by), dtype=np.int64)
    place[by] = np.arange(len(by))
    leg_op = derive(instance).leg_op
    return Sequences(port[by], leg_op[by // 2], key[by], place)


@dataclass(frozen=True, eq=False)
class Timeline:
    """What windows are cut from.

    Attributes
    ----------
    instance, incumbent
        The problem and the schedule to improve.
    position
        int32 ``[n]``: place of each op in the incumbent's order.
    end_ticks, tail_ticks
        int64 ``[n]``: end of each op, and longest path behind it.
    sequences
        Sequences of all ports.
    """

    instance: Instance
    incumbent: Incumbent
    position: Ints
    end_ticks: Ints
    tail_ticks: Ints
    sequences: Sequences

    @cached_property
    def n_with_legs(self) -> int:
        """Number of ops that use circuits."""
        return int(np.count_nonzero(np.diff(self.instance.leg_indptr)))

    @cached_property
    def stamp(self) -> Ints:
        """Scratch for searches, int32 ``[n]``."""
        return np.zeros(self.instance.n_ops, dtype=np.int32)


def make_timeline(instance: Instance, incumbent: Incumbent) -> Timeline:
    """Read port sequences and longest paths off an incumbent.

    Parameters
    ----------
    instance, incumbent
        The problem and its schedule.
    """
    position = np.empty(instance.n_ops, dtype=np.int32)
    position[incumbent.order] = np.arange(instance.n_ops, dtype=np.int32)
    rank = np.repeat(position[derive(instance).leg_op].astype(np.int64), 2)
    return Timeline(
        instance,
        incumbent,
        position,
        op_ends(instance, incumbent.op_start_ticks, incumbent.leg_plane),
        decode_starts(instance, incumbent.order, incumbent.leg_plane, backwards=True),
        port_sequences(instance, incumbent.leg_plane, rank),
    )
