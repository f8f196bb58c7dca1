"""Sub-schedules of several windows and the incumbent around them as one schedule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.decompose.fixed_planes import fixed_problem
from fluxscale.decompose.incumbent import Incumbent, settle, value_of
from fluxscale.decompose.subproblem import Subproblem, SubResult
from fluxscale.decompose.timeline import Timeline, leg_ports, port_sequences
from fluxscale.instance.instance import Instance
from fluxscale.kernels.stitch_order import stitch_order
from fluxscale.schedule.circuits import op_ends

Ints = npt.NDArray[Any]
Solved = tuple[Subproblem, SubResult]


def merge(timeline: Timeline, solved: Sequence[Solved]) -> Incumbent | None:
    """Put windows' new port orders and planes into the incumbent, and start everything as early as they allow.

    On every port the legs outside the windows keep their sequence, and the legs of a window stand, by their new starts,
    where its first one stood.

    Parameters
    ----------
    timeline
        The incumbent from which the windows were cut.
    solved
        Windows with their results (start times given); no op may be inside two of them.

    Returns
    -------
    Incumbent
        None where the new sequences of different windows contradict each other.
    """
    instance, incumbent = timeline.instance, timeline.incumbent
    leg_plane = incumbent.leg_plane.copy()
    position = timeline.position
    rank = np.repeat(position[np.repeat(np.arange(instance.n_ops), np.diff(instance.leg_indptr))].astype(np.int64), 2)
    fine = np.zeros(2 * instance.n_legs, dtype=np.int64)
    key = incumbent.op_start_ticks.copy()
    for sub, result in solved:
        assert result.start_ticks is not None
        assert result.leg_plane is not None
        moved = sub.ops[sub.inside]
        key[moved] = result.start_ticks[sub.inside] + sub.origin_ticks
        row = np.repeat(np.arange(len(sub.ops)), np.diff(sub.instance.leg_indptr))
        mine = np.flatnonzero(sub.inside[row])
        legs = sub.legs[mine]
        old = np.concatenate(leg_ports(instance, legs, leg_plane[legs]))
        leg_plane[legs] = result.leg_plane[mine]
        new = np.concatenate(leg_ports(instance, legs, leg_plane[legs]))
        ports, of_old = np.unique(old, return_inverse=True)
        anchor = np.full(len(ports), instance.n_ops, dtype=np.int64)
        np.minimum.at(anchor, of_old, np.tile(position[sub.ops[row[mine]]], 2))
        place = np.minimum(np.searchsorted(ports, new), len(ports) - 1)
        entries = np.concatenate([2 * legs, 2 * legs + 1])
        rank[entries] = np.where(ports[place] == new, anchor[place], sub.low)
        fine[entries] = np.tile(1 + result.start_ticks[row[mine]] * len(sub.ops) + row[mine], 2)
    sequences = port_sequences(instance, leg_plane, rank, fine)
    problem = fixed_problem(instance, leg_plane)
    order, count = stitch_order(
        problem.succ_indptr, problem.succ_index, problem.next_on_device, problem.in_degree, instance.leg_indptr,
        sequences.leg_entry, sequences.entry_port, sequences.entry_op, key, position,
    )  # fmt: skip
    if count < instance.n_ops:
        return None
    settled = settle(instance, order, leg_plane)
    if len(solved) == 1 and len(solved[0][0].ops) == instance.n_ops:
        # the back end may start ops later than they could, which shortens a cyclic period, or cut epochs otherwise
        whole = _as_solved(instance, *solved[0], leg_plane)
        return whole if whole.value_ticks < settled.value_ticks else settled
    return settled


def _as_solved(instance: Instance, sub: Subproblem, result: SubResult, leg_plane: Ints) -> Incumbent:
    """Take the starts of a window that holds every op as they are."""
    assert result.start_ticks is not None
    starts = np.empty(instance.n_ops, dtype=np.int64)
    starts[sub.ops] = result.start_ticks
    place = np.empty(instance.n_ops, dtype=np.int64)
    place[sub.ops] = sub.position
    order = np.lexsort((place, op_ends(instance, starts, leg_plane), starts)).astype(np.int32)
    return Incumbent(starts, leg_plane, order, value_of(instance, starts, leg_plane))


def stitch(timeline: Timeline, solved: Sequence[Solved]) -> tuple[Incumbent, int]:
    """Take the windows that together give the best schedule found; never worse than the incumbent.

    All at once first; where that is longer than the incumbent, or contradicts itself, halves are tried on their
    own, one after the other. The result depends only on the windows and their results, not on who solved them.

    Parameters
    ----------
    timeline, solved
        As in :func:`merge`.

    Returns
    -------
    incumbent, taken
        The schedule, and how many windows are in it.
    """
    if not solved:
        return timeline.incumbent, 0
    found = merge(timeline, solved)
    if found is not None and found.value_ticks <= timeline.incumbent.value_ticks:
        return found, len(solved)
    if len(solved) == 1:
        return timeline.incumbent, 0
    best, taken, chosen = timeline.incumbent, 0, list[Solved]()
    half = len(solved) // 2
    for part in (solved[:half], solved[half:]):
        trial = [*chosen, *part]
        found = merge(timeline, trial)
        if found is not None and found.value_ticks <= best.value_ticks:
            best, taken, chosen = found, len(trial), trial
    return best, taken
