"""Tables with which a rotor simulation begins; columns as in ``rotor_vlb_records``."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.kernels.rotor_vlb import records as at

Ints = npt.NDArray[Any]

LIMIT = 2**61


def new_switches(
    attach: Ints,
    two_way: Ints,
    delay_ticks: Ints,
    latency_ticks: Ints,
    speed: Ints,
    slot: int,
    *,
    dark_start: bool,
    staggered: bool,
) -> tuple[Ints, Ints, Ints, Ints]:
    """Make the tables of all OCSs with at least two endpoints; the others have no circuits.

    Parameters
    ----------
    attach
        int32 ``[P, E]``: OCS of each endpoint on each plane, -1 for none.
    two_way, delay_ticks, latency_ticks, speed
        ``[P]``: columns of the planes; speed in units a tick.
    slot
        Length of a slot in ticks, longer than any delay.
    dark_start
        Whether the first slot begins dark at time 0; else its dark time lies before.
    staggered
        Plane p of P begins its cycle ``p rounds / P`` rounds ahead.

    Returns
    -------
    ocs, place
        int64 tables.
    place_at
        int32 ``[E, P]``: place of an endpoint on a plane, -1 for none.
    bits
        uint64: endpoints with own traffic, a bit each.
    """
    n_planes, n_endpoints = attach.shape
    rows: list[Ints] = [np.zeros((0, at.N_OCS), dtype=np.int64)]
    places: list[Ints] = [np.zeros((0, at.N_PLACE), dtype=np.int64)]
    place_at = np.full((n_endpoints, n_planes), -1, dtype=np.int32)
    first, word = 0, 0
    for plane in range(n_planes):
        for number in np.unique(attach[plane][attach[plane] >= 0]).tolist():
            members = np.flatnonzero(attach[plane] == number)
            size = len(members)
            if size < 2:
                continue
            rounds = size if two_way[plane] and size % 2 else size - 1
            # With a single round nothing ever changes, so only the dark time of a dark start is left.
            delay, start = int(delay_ticks[plane]), int(delay_ticks[plane]) if dark_start else 0
            row = np.zeros((1, at.N_OCS), dtype=np.int64)
            row[0, : at.OCS_AHEAD + 1] = plane, first, size, rounds, plane * rounds // n_planes if staggered else 0
            row[0, at.OCS_OPEN] = start if rounds > 1 else 0
            row[0, at.OCS_CLOSE] = slot - (delay - start if rounds > 1 else 0)
            row[0, at.OCS_FLOOR] = start
            row[0, at.OCS_LATENCY : at.OCS_WORD + 1] = latency_ticks[plane], speed[plane], two_way[plane], word
            here = np.full((size, at.N_PLACE), -1, dtype=np.int64)
            here[:, at.OF_OCS], here[:, at.ENDPOINT], here[:, at.RANK] = len(rows) - 1, members, np.arange(size)
            here[:, at.TARGET] = at.IDLE
            place_at[members, plane] = first + np.arange(size)
            rows.append(row)
            places.append(here)
            first, word = first + size, word + size // 64 + 1
    return np.concatenate(rows), np.concatenate(places), place_at, np.zeros(word, dtype=np.uint64)


def new_cells(tx: Ints, rx: Ints, plane_indptr: Ints, planes: Ints, ocs: Ints, place: Ints, place_at: Ints) -> Ints:
    """Make the cells of the pairs that a workload asks for.

    Parameters
    ----------
    tx, rx
        ``[Q]``: the two ends of each pair.
    plane_indptr, planes
        CSR of the planes of each pair.
    ocs, place, place_at
        What :func:`new_switches` returned.
    """
    cell = np.full((len(tx), at.N_CELL), -1, dtype=np.int64)
    cell[:, at.TX], cell[:, at.RX] = tx, rx
    cell[:, [at.LOAD, at.SENT, at.CALENDAR, at.CAPACITY]] = 0
    pair = np.repeat(np.arange(len(tx)), np.diff(plane_indptr))
    of_ocs = place[place_at[tx[pair], planes], at.OF_OCS]
    speed = ocs[of_ocs, at.OCS_SPEED]
    in_slot = np.minimum(ocs[of_ocs, at.OCS_CLOSE] - ocs[of_ocs, at.OCS_OPEN], LIMIT // speed) * speed
    np.maximum.at(cell[:, at.CAPACITY], pair, in_slot)
    return cell


def new_endpoints(n_endpoints: int) -> Ints:
    """Endpoints without traffic."""
    endpoint = np.full((n_endpoints, at.N_ENDPOINT), -1, dtype=np.int64)
    endpoint[:, [at.QUEUED, at.PEAK]] = 0
    return endpoint


def new_state(n_pairs: int) -> Ints:
    """State of a simulation at time 0."""
    state = np.zeros(at.N_STATE, dtype=np.int64)
    state[at.FREE], state[at.CELLS] = -1, n_pairs
    return state
