"""A cyclic program of several switches: rows shifted to where each switch begins, and what they add up to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.instance import Instance
from fluxscale.instance.pairs import pairs
from fluxscale.simulate.fluid_result import CircuitRows
from fluxscale_solvers.baselines.periodic_program import Player, Rows

Ints = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Turning:
    """Rows within one turn, the same turn for all switches.

    Attributes
    ----------
    instance
        The problem.
    turn_ticks
        Length of a turn.
    row_pair, row_plane, row_from_ticks, row_to_ticks
        Rows within ``[0, turn)``; a row that runs over the end is two.
    row_ways
        int64: directions that a row stands for.
    setup_at_ticks, setup_plane
        When dark time begins within a turn, for each circuit that is set; and on which plane.
    stop_at_ticks, stop_plane
        The same for each change of an all-stop plane.
    pair_floor_ticks
        int64 ``[Q]``: nothing is up before.
    """

    instance: Instance
    turn_ticks: int
    row_pair: Ints
    row_plane: Ints
    row_from_ticks: Ints
    row_to_ticks: Ints
    row_ways: Ints
    setup_at_ticks: Ints
    setup_plane: Ints
    stop_at_ticks: Ints
    stop_plane: Ints
    pair_floor_ticks: Ints

    @property
    def cycle_ticks(self) -> int:
        """Period of all windows."""
        return self.turn_ticks

    def rows_until(self, total_ticks: int) -> int:
        """Number of circuit rows within ``total_ticks``."""
        return (total_ticks // self.turn_ticks + 1) * len(self.row_pair)

    def circuits(self, total_ticks: int) -> CircuitRows:
        """Circuit rows within ``total_ticks``, turn by turn."""
        turns = total_ticks // self.turn_ticks + 1
        shift = np.repeat(np.arange(turns) * self.turn_ticks, len(self.row_pair))
        pair = np.tile(self.row_pair, turns)
        begin = np.maximum(np.tile(self.row_from_ticks, turns) + shift, self.pair_floor_ticks[pair])
        end = np.tile(self.row_to_ticks, turns) + shift
        keep = begin < end
        return CircuitRows(pair[keep], np.tile(self.row_plane, turns)[keep], begin[keep], end[keep]).until(total_ticks)

    def account(self, total_ticks: int) -> tuple[int, Ints, Ints]:
        """Circuits set up, circuit time up and dark time of each plane (int64 ``[P]``) within ``total_ticks``."""
        turns, rest = divmod(total_ticks, self.turn_ticks)
        n_planes = self.instance.n_planes
        up, dark = np.zeros(n_planes, dtype=np.int64), np.zeros(n_planes, dtype=np.int64)
        length = self.row_to_ticks - self.row_from_ticks
        last = np.clip(np.minimum(self.row_to_ticks, rest) - self.row_from_ticks, 0, None)
        np.add.at(up, self.row_plane, (turns * length + last) * self.row_ways)
        setups = np.zeros(n_planes, dtype=np.int64)
        np.add.at(setups, self.setup_plane, turns + (self.setup_at_ticks < rest))
        stops = np.zeros(n_planes, dtype=np.int64)
        np.add.at(stops, self.stop_plane, turns + (self.stop_at_ticks < rest))
        delay = self.instance.plane_delay_ticks
        dark += np.where(self.instance.plane_all_stop, stops, setups) * delay
        return int(setups.sum()), up, dark


def turning(instance: Instance, plays: list[tuple[Player, Rows, int]], *, boundary_dark: bool) -> Turning:
    """Put the rows of all switches on one circle.

    Parameters
    ----------
    instance
        The problem.
    plays
        For each switch its rows from 0 on, and how far its turn is ahead.
    boundary_dark
        Whether the first dark time lies at time 0; else the first matching is up then.
    """
    asked = pairs(instance)
    turn = max((rows.length_ticks for _, rows, _ in plays), default=1)
    columns: list[list[Ints]] = [[] for _ in range(5)]
    setup_at, setup_plane, stop_at, stop_plane = [], [], [], []
    floor = np.zeros(asked.count, dtype=np.int64)
    for player, rows, ahead in plays:
        plane = player.switch.plane
        delay = int(instance.plane_delay_ticks[plane])
        first_up = int(rows.begin_ticks.min(initial=0)) if len(rows.begin_ticks) else 0
        shift = -ahead - (0 if boundary_dark else first_up)
        # A switch whose matchings end before the common turn does keeps its last ones.
        end = np.where(rows.end_ticks == rows.length_ticks, turn, rows.end_ticks)
        begin = (rows.begin_ticks + shift) % turn
        length = end - rows.begin_ticks
        over = np.maximum(begin + length - turn, 0)
        wrapped = np.flatnonzero(over)
        for column, straight, rest in (
            (0, rows.pair, rows.pair[wrapped]),
            (1, np.full(len(begin), plane), np.full(len(wrapped), plane)),
            (2, begin, np.zeros(len(wrapped), dtype=np.int64)),
            (3, begin + length - over, over[wrapped]),
            (4, rows.ways, rows.ways[wrapped]),
        ):
            columns[column] += [straight, rest]
        dark_from = (rows.begin_ticks[rows.setup] - delay + shift) % turn
        setup_at.append(dark_from)
        setup_plane.append(np.full(len(dark_from), plane))
        changes = np.unique(dark_from)
        stop_at.append(changes)
        stop_plane.append(np.full(len(changes), plane))
        if boundary_dark:
            floor[player.switch.pair] = np.maximum(floor[player.switch.pair], delay)
    empty = np.zeros(0, dtype=np.int64)
    rows = [np.concatenate([empty, *parts]) for parts in columns]
    marks = [np.concatenate([empty, *parts]) for parts in (setup_at, setup_plane, stop_at, stop_plane)]
    return Turning(
        instance, turn, rows[0], rows[1], rows[2], rows[3], rows[4], marks[0], marks[1], marks[2], marks[3], floor
    )
