"""Decompositions played on switches: rows of circuits within one period."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.instance import DARK, Instance
from fluxscale.kernels.fluid.play_matchings import play_matchings
from fluxscale.matchings.decomposition import Decomposition
from fluxscale_solvers.baselines.switches import Switch

Ints = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Rows:
    """Circuit rows of one switch within a period.

    Attributes
    ----------
    pair, begin_ticks, end_ticks
        int64: the circuit of a pair is up in ``[begin, end)``; both directions of a two-way circuit have a row.
    ways
        int64: directions that a row stands for: 2 where a two-way circuit serves a pair in one direction only.
    setup
        bool: rows before which the circuit is set (one of the two rows of a two-way circuit).
    length_ticks
        When the last matching ends.
    dark_slots
        Matchings that needed dark time.
    """

    pair: Ints
    begin_ticks: Ints
    end_ticks: Ints
    ways: Ints
    setup: npt.NDArray[Any]
    length_ticks: int
    dark_slots: int


@dataclass(eq=False)
class Player:
    """Plays decompositions on one switch and remembers what its ports hold.

    Parameters
    ----------
    instance
        The problem.
    switch
        The switch.
    """

    instance: Instance
    switch: Switch
    held: Ints = field(init=False)
    held_by: Ints = field(init=False)
    lookup: Ints = field(init=False)

    def __post_init__(self) -> None:
        size = self.switch.size
        self.lookup = np.full((size, size), -1, dtype=np.int64)
        self.lookup[self.switch.tx, self.switch.rx] = self.switch.pair
        self.forget()

    def forget(self) -> None:
        """Let the ports hold nothing, as at time 0."""
        self.held = np.full(self.switch.size, -1, dtype=np.int32)
        duplex = bool(self.instance.plane_duplex[self.switch.plane])
        self.held_by = self.held if duplex else np.full(self.switch.size, -1, dtype=np.int32)

    def wanted(self, made: Decomposition, demand: Ints) -> Decomposition:
        """Drop circuits without any demand: setting them would only darken ports."""
        duplex = bool(self.instance.plane_duplex[self.switch.plane])
        asked = (demand > 0) | (demand.T > 0) if duplex else demand > 0
        matchings = made.matchings.copy()
        at, tx = np.nonzero(matchings >= 0)
        idle = ~asked[tx, matchings[at, tx]]
        matchings[at[idle], tx[idle]] = -1
        some = (matchings >= 0).any(axis=1)
        return Decomposition(matchings[some], made.durations[some])

    def play(self, made: Decomposition) -> Rows:
        """Play a decomposition from the ports' present circuits on, from time 0 of the period."""
        plane, shape = self.switch.plane, made.matchings.shape
        begin, end = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        is_setup = np.zeros(shape, dtype=np.bool_)
        length, dark_slots = play_matchings(
            made.matchings, made.durations, int(self.instance.plane_delay_ticks[plane]),
            bool(self.instance.plane_all_stop[plane]), self.instance.boundary == DARK, self.held, self.held_by,
            begin, end, is_setup,
        )  # fmt: skip
        at, tx = np.nonzero(made.matchings >= 0)
        rx = made.matchings[at, tx]
        pair = self.lookup[tx, rx]
        lone = bool(self.instance.plane_duplex[plane]) & (self.lookup[rx, tx] < 0)
        counted = (tx < rx) | lone | (not self.instance.plane_duplex[plane])
        known = pair >= 0
        return Rows(
            pair[known],
            begin[at, tx][known],
            end[at, tx][known],
            np.where(lone, 2, 1)[known],
            (is_setup[at, tx] & counted)[known],
            int(length),
            int(dark_slots),
        )

    def steady(self, made: Decomposition) -> Rows:
        """Rows of a decomposition that is played over and over, as of its second turn."""
        self.forget()
        self.play(made)
        return self.play(made)


def stretched(made: Decomposition, dark_ticks: int, period_ticks: int) -> Decomposition:
    """Scale durations so that, with the dark time in it, one turn takes about a period (each at least one tick).

    Parameters
    ----------
    made
        The decomposition.
    dark_ticks
        Dark time in one turn.
    period_ticks
        Length asked for; more than the dark time.
    """
    total = int(made.durations.sum())
    room = max(1, period_ticks - dark_ticks)
    scaled = np.array([max(1, int(d) * room // max(total, 1)) for d in made.durations.tolist()], dtype=np.int64)
    return Decomposition(made.matchings, scaled)
