"""The circuits of turning rotors, in closed form: which pair is up when on which plane, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import UnsupportedError
from fluxscale.instance.instance import DARK, Instance
from fluxscale.instance.pairs import pairs
from fluxscale.matchings.round_robin import position_one_way, position_two_way
from fluxscale.simulate.fluid_result import CircuitRows

Ints = npt.NDArray[Any]

MOST_ROWS = 20_000_000
"""Most windows of all pairs in one cycle, where planes of different sizes turn together."""


@dataclass(frozen=True, eq=False)
class Rotation:
    """Rotors on every OCS of every plane.

    Attributes
    ----------
    instance
        The problem.
    slot_ticks
        Length of a slot, the dark part included.
    row_pair, row_plane, row_from_ticks, row_to_ticks
        Windows of the instance's pairs within their cycle.
    cycle_ticks
        int64 ``[Q]``.
    pair_floor_ticks
        int64 ``[Q]``: end of the first dark time under a dark boundary, for circuits that are up for good.
    ocs_plane, ocs_size, ocs_rounds
        int64: each OCS that turns.
    notes
        What a reader should know.
    """

    instance: Instance
    slot_ticks: int
    row_pair: Ints
    row_plane: Ints
    row_from_ticks: Ints
    row_to_ticks: Ints
    cycle_ticks: Ints
    pair_floor_ticks: Ints
    ocs_plane: Ints
    ocs_size: Ints
    ocs_rounds: Ints
    notes: tuple[str, ...]

    def account(self, total_ticks: int) -> tuple[int, Ints, Ints]:
        """Circuits set up, circuit time up and dark time of each plane (int64 ``[P]``) within ``total_ticks``."""
        instance, slot = self.instance, self.slot_ticks
        dark_start = instance.boundary == DARK
        setups, up, dark = 0, np.zeros(instance.n_planes, np.int64), np.zeros(instance.n_planes, np.int64)
        for plane, size, rounds in zip(
            self.ocs_plane.tolist(), self.ocs_size.tolist(), self.ocs_rounds.tolist(), strict=True
        ):
            delay = int(instance.plane_delay_ticks[plane])
            duplex = bool(instance.plane_duplex[plane])
            circuits, ways = (size // 2, 2) if duplex else (size, 1)
            if rounds <= 1:
                count, up_ticks = int(dark_start), max(0, total_ticks - (delay if dark_start else 0))
            else:
                # A slot begins with its dark time; without a dark start the first one lies before 0.
                clock = total_ticks + (0 if dark_start else delay)
                whole, rest = divmod(clock, slot)
                count = whole + (rest > 0) - (0 if dark_start else 1)
                up_ticks = whole * (slot - delay) + max(0, rest - delay)
            setups += count * circuits
            up[plane] += up_ticks * circuits * ways
            dark[plane] += count * delay * (1 if instance.plane_all_stop[plane] else circuits)
        return setups, up, dark

    def rows_until(self, total_ticks: int) -> int:
        """Number of circuit rows of the instance's pairs within ``total_ticks``."""
        cycle = np.maximum(self.cycle_ticks[self.row_pair], 1)
        return int((total_ticks // cycle + 1).sum())

    def circuits(self, total_ticks: int) -> CircuitRows:
        """Circuits of the instance's pairs within ``total_ticks``, cycle by cycle."""
        cycle = self.cycle_ticks[self.row_pair]
        times = total_ticks // np.maximum(cycle, 1) + 1
        row = np.repeat(np.arange(len(cycle)), times)
        turn = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
        shift = turn * cycle[row]
        begin, end = self.row_from_ticks[row] + shift, self.row_to_ticks[row] + shift
        begin = np.maximum(begin, self.pair_floor_ticks[self.row_pair[row]])
        keep = begin < end
        return CircuitRows(self.row_pair[row][keep], self.row_plane[row][keep], begin[keep], end[keep]).until(
            total_ticks
        )


def rotation(instance: Instance, slot_ticks: int, *, staggered: bool) -> Rotation:
    """Set up the rotors of an instance.

    Parameters
    ----------
    instance
        The problem.
    slot_ticks
        Length of a slot, longer than any delay.
    staggered
        Plane p of P begins its cycle ``p rounds / P`` rounds ahead.

    Raises
    ------
    UnsupportedError
        If planes of different sizes would make a common cycle too long.
    """
    asked, n_planes = pairs(instance), instance.n_planes
    row_pair = np.repeat(np.arange(asked.count), np.diff(asked.plane_indptr))
    row_plane = asked.planes.astype(np.int64)
    rank, size = _ranks(instance)
    tx, rx = asked.tx[row_pair], asked.rx[row_pair]
    members = size[row_plane, tx]
    two_way = instance.plane_duplex[row_plane]
    rounds = np.where(two_way & (members % 2 == 1), members, members - 1)
    a, b = rank[row_plane, tx], rank[row_plane, rx]
    place = np.where(two_way, position_two_way(members, a, b), position_one_way(members, a, b))
    ahead = row_plane * rounds // n_planes if staggered else np.zeros(len(rounds), dtype=np.int64)
    slot_number = (place - ahead) % np.maximum(rounds, 1)

    common = np.ones(asked.count, dtype=np.int64)
    for value in np.unique(rounds).tolist():
        touched = np.unique(row_pair[rounds == value])
        common[touched] = np.lcm(common[touched], value)
    copies = common[row_pair] // np.maximum(rounds, 1)
    if copies.sum() > MOST_ROWS:
        raise UnsupportedError(
            "rotors of different sizes take too long to come around together",
            field="fabric.planes",
            value=sorted(set(rounds.tolist()))[:4],
            maybe="attach the same endpoints to every plane.",
        )
    row = np.repeat(np.arange(len(row_pair)), copies)
    copy = np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
    cycle = common * slot_ticks
    delay = instance.plane_delay_ticks[row_plane]
    dark_start = instance.boundary == DARK
    single = rounds <= 1
    begin = (slot_number[row] + copy * rounds[row]) * slot_ticks + np.where(single, 0, delay)[row]
    length = (slot_ticks - np.where(single, 0, delay))[row]
    if not dark_start:
        begin = (begin - np.where(single, 0, delay)[row]) % cycle[row_pair[row]]
    over = np.maximum(begin + length - cycle[row_pair[row]], 0)
    wrapped = np.flatnonzero(over)
    floor = np.zeros(asked.count, dtype=np.int64)
    if dark_start:
        np.maximum.at(floor, row_pair[single], delay[single])
    planes, sizes, rounds_of = _switches(instance)
    odd = sorted({size for size, two in zip(sizes, instance.plane_duplex[planes], strict=True) if two and size % 2})
    notes = tuple(f"a rotor of {size} two-way ports leaves one port idle in each of its {size} rounds" for size in odd)
    return Rotation(
        instance,
        slot_ticks,
        np.concatenate([row_pair[row], row_pair[row[wrapped]]]),
        np.concatenate([row_plane[row], row_plane[row[wrapped]]]),
        np.concatenate([begin, np.zeros(len(wrapped), dtype=np.int64)]),
        np.concatenate([begin + length - over, over[wrapped]]),
        cycle,
        floor,
        planes,
        sizes,
        rounds_of,
        notes,
    )


def _ranks(instance: Instance) -> tuple[Ints, Ints]:
    """Rank of an endpoint among those of its OCS, and their number, int64 ``[P, E]`` each."""
    rank = np.zeros(instance.attach.shape, dtype=np.int64)
    size = np.zeros(instance.attach.shape, dtype=np.int64)
    for plane in range(instance.n_planes):
        for ocs in np.unique(instance.attach[plane][instance.attach[plane] >= 0]).tolist():
            members = np.flatnonzero(instance.attach[plane] == ocs)
            rank[plane, members], size[plane, members] = np.arange(len(members)), len(members)
    return rank, size


def _switches(instance: Instance) -> tuple[Ints, Ints, Ints]:
    """Plane, number of endpoints and number of rounds of every OCS with at least two endpoints."""
    found: list[tuple[int, int, int]] = []
    for plane in range(instance.n_planes):
        ocs, counts = np.unique(instance.attach[plane][instance.attach[plane] >= 0], return_counts=True)
        for count in counts[counts >= 2].tolist() if len(ocs) else []:
            odd_duplex = bool(instance.plane_duplex[plane]) and count % 2 == 1
            found.append((plane, count, count if odd_duplex else count - 1))
    columns = np.array(found, dtype=np.int64).reshape(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]
