"""From a fluid simulator that has ended to a FluidRun: what was sent, when, and over which circuits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.schedule.fluid_run import FluidRun
from fluxscale.schedule.fluid_trace import FluidTrace
from fluxscale.simulate.fluid import FluidSimulator
from fluxscale.simulate.windows import Windows

Ints = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class CircuitRows:
    """Circuits of a program in absolute time: those that some pair of the instance can use.

    Attributes
    ----------
    pair, plane
        Which circuit on which plane.
    up_from_ticks, up_to_ticks
        int64: when it is up.
    """

    pair: Ints
    plane: Ints
    up_from_ticks: Ints
    up_to_ticks: Ints

    @staticmethod
    def joined(parts: list[CircuitRows]) -> CircuitRows:
        """All rows of several programs that follow each other."""
        names = ("pair", "plane", "up_from_ticks", "up_to_ticks")
        empty = np.zeros(0, dtype=np.int64)
        return CircuitRows(*(np.concatenate([empty, *(getattr(part, name) for part in parts)]) for name in names))

    def until(self, end_ticks: int) -> CircuitRows:
        """The rows that come up before ``end_ticks``, cut there."""
        kept = self.up_from_ticks < end_ticks
        return CircuitRows(
            self.pair[kept],
            self.plane[kept],
            self.up_from_ticks[kept],
            np.minimum(self.up_to_ticks[kept], end_ticks),
        )


def busy_ticks(windows: Windows, used_ticks: Ints, n_planes: int) -> Ints:
    """Time that each plane's circuits sent, int64 ``[P]``, from how long each window was used."""
    return np.array(
        [int(used_ticks[(windows.mask >> plane) & 1 == 1].sum()) for plane in range(n_planes)], dtype=np.int64
    )


def make_run(
    simulator: FluidSimulator,
    *,
    busy: Ints,
    up: Ints,
    dark: Ints,
    reconfigurations: int,
    notes: tuple[str, ...] = (),
    trace: FluidTrace | None = None,
) -> FluidRun:
    """Put the figures of a finished simulation together; the arguments are the columns of ``FluidRun``."""
    amount = np.zeros(simulator.pairs.count, dtype=np.int64)
    np.add.at(amount, simulator.pairs.leg_pair, simulator.work.leg_amount)
    return FluidRun(
        simulator.op_start,
        simulator.op_end,
        int(simulator.op_end.max(initial=0)),
        reconfigurations,
        up,
        busy,
        dark,
        amount,
        simulator.port_peak_bytes(),
        simulator.events,
        notes,
        trace,
    )


def make_trace(simulator: FluidSimulator, piece_mask: Ints, rows: CircuitRows) -> FluidTrace:
    """Write a traced simulation down plane by plane.

    A window may stand for several planes; the first of them are taken to send as much as they can.

    Parameters
    ----------
    simulator
        A simulator that had room for all its pieces.
    piece_mask
        int64 ``[K]``: planes of the window of each piece, one bit each.
    rows
        The circuits of the program up to the end of the run.
    """
    count = simulator.n_pieces
    leg, begin, end = simulator.piece_leg[:count], simulator.piece_from[:count], simulator.piece_to[:count]
    rest = simulator.piece_amount[:count].copy()
    fixed = simulator.work.leg_fixed[leg]
    parts: list[tuple[Ints, Ints, Ints, Ints, Ints]] = []
    for plane in range(simulator.instance.n_planes):
        speed = np.where(fixed, 1, simulator.work.plane_speed[plane])
        sent = np.where((piece_mask >> plane) & 1 == 1, np.minimum(rest, speed * (end - begin)), 0)
        rest -= sent
        some = np.flatnonzero(sent)
        parts.append((leg[some], np.full(len(some), plane), begin[some], end[some], sent[some]))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    tx, rx = simulator.pairs.tx[rows.pair], simulator.pairs.rx[rows.pair]
    duplex = simulator.instance.plane_duplex[rows.plane]
    low, high = np.where(duplex, np.minimum(tx, rx), tx), np.where(duplex, np.maximum(tx, rx), rx)
    circuits = _joined_rows(rows.plane, low, high, rows.up_from_ticks, rows.up_to_ticks)
    return FluidTrace(columns[0], columns[1].astype(np.int16), *columns[2:], *circuits)


def _joined_rows(plane: Ints, tx: Ints, rx: Ints, begin: Ints, end: Ints) -> tuple[Ints, ...]:
    """Rows of one circuit that touch or overlap become one."""
    order = np.lexsort((begin, rx, tx, plane))
    plane, tx, rx, begin, end = (column[order] for column in (plane, tx, rx, begin, end))
    if not len(order):
        return plane, tx, rx, begin, end
    other = (plane[1:] != plane[:-1]) | (tx[1:] != tx[:-1]) | (rx[1:] != rx[:-1])
    circuit = np.concatenate([[0], np.cumsum(other)])
    # The largest end so far within a circuit: shift circuits apart, then a running maximum does not cross them.
    apart = circuit * (int(end.max()) + 1)
    reach = np.maximum.accumulate(end + apart) - apart
    first = np.concatenate([[True], other | (begin[1:] > reach[:-1])])
    at = np.flatnonzero(first)
    last = np.concatenate([at[1:], [len(order)]]) - 1
    return plane[at], tx[at], rx[at], begin[at], reach[last]
