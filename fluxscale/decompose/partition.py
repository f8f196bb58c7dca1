"""Partition: the transfers of each stage group cut into time windows of about equally many order pairs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.decompose.extract import SubSettings, extract
from fluxscale.decompose.subproblem import Subproblem
from fluxscale.decompose.timeline import Timeline
from fluxscale.instance.derived import derive
from fluxscale.kernels.cut_windows import cut_windows
from fluxscale.kernels.hull import hull

Ints = npt.NDArray[Any]

HULL_OPS = 4000
"""Most ops that one window may hold; a window whose ops are tied together beyond that is left out."""


@dataclass(frozen=True, eq=False)
class Window:
    """Transfers of one stage group within a stretch of time.

    Attributes
    ----------
    transfers
        int32: ops whose order and planes become free, by start.
    slack_ticks
        Least slack of these: 0 where the window lies on a critical path.
    """

    transfers: Ints
    slack_ticks: int


def windows_of(timeline: Timeline, group: Ints, budget: int, first_budget: int) -> list[Window]:
    """Cut every stage group into windows.

    Parameters
    ----------
    timeline
        The incumbent.
    group
        int64 ``[E]``: stage group of each endpoint. A transfer belongs to the groups of both its endpoints, so
        neighbouring groups overlap; a gang belongs to the groups of its first circuit.
    budget, first_budget
        Most pairs of transfers with a common port in one window, and in the first of each group, which shifts all
        others.

    Returns
    -------
    windows
        Sorted by slack, then by time.
    """
    instance = timeline.instance
    ops = np.flatnonzero(np.diff(instance.leg_indptr) > 0)
    if not len(ops):
        return []
    first = instance.leg_indptr[ops]
    sender, receiver = group[instance.leg_tx[first]], group[instance.leg_rx[first]]
    twice = sender != receiver
    of = np.concatenate([sender, receiver[twice]])
    member = np.concatenate([ops, ops[twice]])
    by = np.lexsort((timeline.position[member], of))
    of, member = of[by], member[by].astype(np.int32)
    bounds = np.concatenate([[0], np.flatnonzero(np.diff(of)) + 1, [len(of)]])
    start = timeline.incumbent.op_start_ticks
    slack = timeline.incumbent.value_ticks - timeline.end_ticks - timeline.tail_ticks
    counts = np.zeros(2 * instance.n_endpoints, dtype=np.int64)
    found = []
    for begin, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        mine = member[begin:stop]
        cuts = cut_windows(
            mine, instance.leg_indptr, instance.leg_tx, instance.leg_rx, budget, first_budget, counts
        ).tolist()
        for low, high in itertools.pairwise(cuts):
            window = mine[low:high]
            if len(window) > 1 or len(window) == len(ops):
                found.append(Window(window, int(slack[window].min())))
    found.sort(key=lambda w: (w.slack_ticks, int(start[w.transfers[0]]), int(w.transfers[0])))
    return found


def cut_out(timeline: Timeline, window: Window, base: int, settings: SubSettings) -> Subproblem | None:
    """Make the subproblem of a window; None where its ops are tied together beyond ``HULL_OPS``.

    Parameters
    ----------
    timeline, window, settings
        Where, what, and what the subproblem is told.
    base
        More than every value in ``timeline.stamp``; the call uses two.
    """
    instance, sequences = timeline.instance, timeline.sequences
    derived = derive(instance)
    position = timeline.position
    if len(window.transfers) == timeline.n_with_legs:
        # all of them: then the rest of the instance comes along, and the window is the whole problem
        others = np.setdiff1d(np.arange(instance.n_ops, dtype=np.int32), window.transfers)
        free = np.repeat([True, False], [len(window.transfers), len(others)])
        return extract(timeline, np.concatenate([window.transfers, others]), free, 0, settings)
    low, high = int(position[window.transfers].min()), int(position[window.transfers].max()) + 1
    inside = hull(
        window.transfers, low, high, HULL_OPS, base, timeline.stamp, position,
        derived.succ_indptr, derived.succ_index, derived.next_on_device,
        instance.pred_indptr, instance.pred_index, derived.prev_on_device,
        instance.leg_indptr, sequences.leg_entry, sequences.entry_port, sequences.entry_op,
    )  # fmt: skip
    if not len(inside):
        return None
    free = np.zeros(len(inside), dtype=bool)
    free[: len(window.transfers)] = True
    return extract(timeline, inside, free, low, settings)
