"""Switches of an instance, and the demand matrices that stand before them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.instance import Instance
from fluxscale.instance.pairs import Pairs, pairs
from fluxscale.instance.work import Work, work

Ints = npt.NDArray[Any]

CRUMBS = 8
"""Demand is rounded up to this part of a delay."""


@dataclass(frozen=True, eq=False)
class Switch:
    """What changes its circuits as one: an OCS of a per-port plane, or the whole of an all-stop plane.

    Attributes
    ----------
    plane
        Its plane.
    members
        int64 ``[N]``: endpoints on it, ascending.
    pair
        int64 ``[K]``: pairs of the instance that it can connect.
    tx, rx
        int64 ``[K]``: their ends as places in ``members``.
    """

    plane: int
    members: Ints
    pair: Ints
    tx: Ints
    rx: Ints

    @property
    def size(self) -> int:
        """Number of endpoints."""
        return len(self.members)


@dataclass(frozen=True, eq=False)
class Group:
    """Switches of several planes with the same members: parallel planes over which demand is spread evenly."""

    switches: tuple[Switch, ...]

    def demand_ticks(self, instance: Instance, asked: Pairs, amounts: Work, pair_units: Ints) -> Ints:
        """Send time of each pair on one of the switches, int64 ``[N, N]``, if all carry an equal part.

        Rounded up to an eighth of the delay: matchings for crumbs of time would cost more dark time than they send.

        Parameters
        ----------
        instance
            The problem.
        asked, amounts
            Its pairs and amounts.
        pair_units
            int64 ``[Q]``: what each pair has to send over all its planes.
        """
        first = self.switches[0]
        planes = np.diff(asked.plane_indptr)[first.pair]
        speed = int(amounts.plane_speed[first.plane])
        crumb = max(1, int(instance.plane_delay_ticks[first.plane]) // CRUMBS)
        matrix = np.zeros((first.size, first.size), dtype=np.int64)
        matrix[first.tx, first.rx] = -(-pair_units[first.pair] // (speed * planes * crumb)) * crumb
        return matrix


def switches(instance: Instance) -> list[Switch]:
    """All switches that some pair of the instance can use.

    Parameters
    ----------
    instance
        The problem.
    """
    asked = pairs(instance)
    row_pair = np.repeat(np.arange(asked.count), np.diff(asked.plane_indptr))
    found: list[Switch] = []
    place = np.zeros(instance.n_endpoints, dtype=np.int64)
    for plane in range(instance.n_planes):
        attach = instance.attach[plane]
        on_plane = row_pair[asked.planes == plane]
        whole = bool(instance.plane_all_stop[plane])
        ocs_of_pair = np.zeros(len(on_plane), np.int64) if whole else attach[asked.tx[on_plane]]
        for ocs in np.unique(ocs_of_pair).tolist():
            members = np.flatnonzero(attach >= 0) if whole else np.flatnonzero(attach == ocs)
            place[members] = np.arange(len(members))
            mine = on_plane[ocs_of_pair == ocs]
            found.append(Switch(plane, members, mine, place[asked.tx[mine]], place[asked.rx[mine]]))
    return found


def groups(instance: Instance) -> list[Group]:
    """Switches grouped by their members; planes of one group have the same rate, delay, rule and kind of port.

    Parameters
    ----------
    instance
        The problem.
    """
    by_key: dict[Any, list[Switch]] = {}
    for switch in switches(instance):
        plane = switch.plane
        key = (
            switch.members.tobytes(),
            switch.pair.tobytes(),
            int(instance.plane_rate_bps[plane]),
            int(instance.plane_delay_ticks[plane]),
            bool(instance.plane_all_stop[plane]),
            bool(instance.plane_duplex[plane]),
        )
        by_key.setdefault(key, []).append(switch)
    return [Group(tuple(members)) for members in by_key.values()]


def total_units(instance: Instance) -> Ints:
    """What each pair has to send in the whole iteration, int64 ``[Q]``.

    Given durations count at the rate of the pair's first plane.

    Parameters
    ----------
    instance
        The problem.
    """
    asked, amounts = pairs(instance), work(instance)
    size = amounts.leg_amount.copy()
    if amounts.leg_fixed.any():
        first = asked.planes[asked.plane_indptr[asked.leg_pair]]
        size = np.where(amounts.leg_fixed, size * amounts.plane_speed[first], size)
    total = np.zeros(asked.count, dtype=np.int64)
    np.add.at(total, asked.leg_pair, size)
    return total
