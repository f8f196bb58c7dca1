"""A window of an incumbent as a subproblem: its ops, what holds the circuits at its rim, heads and tails."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.decompose.subproblem import Subproblem
from fluxscale.decompose.timeline import Timeline, leg_ports
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import DARK, PRESET, Instance

Ints = npt.NDArray[Any]


@dataclass(frozen=True)
class SubSettings:
    """What every subproblem of a run is told: limits, back end, seed, and a bound on the whole's iteration time."""

    work_limit: int
    max_pairs: int
    backend: str = "cpsat"
    seed: int = 0
    lower_bound_ticks: int = 0


def extract(timeline: Timeline, inside: Ints, free: Ints, low: int, settings: SubSettings) -> Subproblem | None:
    """Cut a subproblem out of an incumbent.

    Ops outside that no op inside delays keep their times and become releases; those behind become tails, which are the
    longest paths of the incumbent and stay exact whatever happens inside, because no path leaves the window and
    comes back (``inside`` is closed, see :mod:`fluxscale.kernels.hull`).

    Parameters
    ----------
    timeline
        The incumbent.
    inside
        Ops of the window, closed under paths between them.
    free
        bool, one for each of ``inside``: whether its planes and its place among the free ones may change.
    low
        First position of the window: where ops would go on ports that hold none of it.
    settings
        For the subproblem.

    Returns
    -------
    Subproblem
        None where the rim contradicts itself (an op would be before and behind the window).
    """
    instance, incumbent = timeline.instance, timeline.incumbent
    before, behind = _rim(timeline, inside, free, low)
    if len(np.intersect1d(before, behind)) or len(np.intersect1d(np.concatenate([before, behind]), inside)):
        return None
    ops = np.concatenate([inside, before, behind]).astype(np.int64)
    role = np.repeat([0, -1, 1], [len(inside), len(before), len(behind)])
    is_free = np.zeros(len(ops), dtype=bool)
    is_free[: len(inside)] = free
    by = np.argsort(timeline.position[ops])
    ops, role, is_free = ops[by], role[by], is_free[by]

    alone = len(ops) == instance.n_ops
    found = _local(instance, ops, timeline.position)
    start = incumbent.op_start_ticks[ops]
    release = _releases(timeline, ops, role, found)
    tail, base = _tails(timeline, ops, role, found)
    # An op with nothing inside before it could start at its release; nothing can start earlier than all of these.
    origin = int(release[(role == 0) & found.begins_here].min(initial=int(start[role <= 0].min())))
    if alone or (instance.boundary == DARK and origin <= int(instance.plane_delay_ticks.max(initial=0))):
        origin = 0
    begun = start - origin
    ends = timeline.end_ticks[ops] - origin
    boundary = instance.boundary if alone or (instance.boundary == DARK and origin == 0) else PRESET
    return Subproblem(
        instance=replace(found.instance, boundary=boundary),
        release_ticks=np.maximum(release - origin, 0),
        tail_ticks=tail,
        free=is_free,
        position=np.arange(len(ops), dtype=np.int32),
        start_ticks=begun,
        leg_plane=incumbent.leg_plane[found.legs],
        value_ticks=int((ends + tail).max(initial=0)),
        floor_ticks=max(0, settings.lower_bound_ticks - origin - base),
        work_limit=settings.work_limit,
        max_pairs=settings.max_pairs,
        backend=settings.backend,
        seed=settings.seed,
        ops=ops,
        legs=found.legs,
        inside=role == 0,
        outside=instance.n_ops - len(ops),
        low=low,
        origin_ticks=origin,
    )


def rows(indptr: Ints, of: Ints) -> tuple[Ints, Ints]:
    """Entries of some rows of a CSR: for each its row (numbered within ``of``) and its place."""
    counts = indptr[of + 1] - indptr[of]
    row = np.repeat(np.arange(len(of)), counts)
    first = np.cumsum(counts) - counts
    return row, np.arange(len(row)) - first[row] + indptr[of][row]


def _rim(timeline: Timeline, inside: Ints, free: Ints, low: int) -> tuple[Ints, Ints]:
    """Last op before and first op behind the window on each port that one of its ops may use."""
    instance, sequences = timeline.instance, timeline.sequences
    derived = derive(instance)
    row, legs = rows(instance.leg_indptr, inside)
    if not len(legs):
        return np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32)
    held = np.concatenate([sequences.leg_entry[2 * legs], sequences.leg_entry[2 * legs + 1]])
    ports = sequences.entry_port[held]
    open_legs = legs[free[row]]
    at, choice = rows(derived.leg_plane_indptr, open_legs)
    all_ports = np.concatenate([ports, *leg_ports(instance, open_legs[at], derived.leg_planes[choice])])
    port = np.unique(all_ports)
    n = max(1, instance.n_ops)
    first = np.searchsorted(sequences.entry_key, port * n + low)
    last = first - 1
    index = np.searchsorted(port, ports)
    holds = np.zeros(len(port), dtype=bool)
    holds[index] = True
    lowest, highest = np.full(len(port), len(sequences.entry_op)), np.full(len(port), -1)
    np.minimum.at(lowest, index, held)
    np.maximum.at(highest, index, held)
    first, last = np.where(holds, lowest, first), np.where(holds, highest, last)
    return _neighbours(sequences, port, first - 1), _neighbours(sequences, port, last + 1)


def _neighbours(sequences: Any, port: Ints, entry: Ints) -> Ints:
    exists = (entry >= 0) & (entry < len(sequences.entry_op))
    entry, port = entry[exists], port[exists]
    return np.unique(sequences.entry_op[entry[sequences.entry_port[entry] == port]])


@dataclass(frozen=True, eq=False)
class _Local:
    """The window's instance, and which neighbours its ops have outside.

    ``legs`` int64: legs of the whole. ``outer_pred``, ``outer_succ``: pairs of an op of the window (row) and an op
    outside that is its predecessor or successor, by precedence or on its device. ``begins_here``, ``ends_here`` bool
    ``[k]``: no op of the window precedes, or follows, by precedence or on the device.
    """

    instance: Instance
    legs: Ints
    outer_pred: tuple[Ints, Ints]
    outer_succ: tuple[Ints, Ints]
    begins_here: Ints
    ends_here: Ints


def _local(instance: Instance, ops: Ints, position: Ints) -> _Local:
    derived = derive(instance)
    by = np.argsort(ops)
    sorted_ops = ops[by]

    def number(of: Ints) -> Ints:
        place = np.minimum(np.searchsorted(sorted_ops, of), len(ops) - 1)
        return np.where(sorted_ops[place] == of, by[place], -1)

    row, at = rows(instance.pred_indptr, ops)
    preds = instance.pred_index[at]
    inner = number(preds)
    kept = inner >= 0
    back, ahead = derived.prev_on_device[ops], derived.next_on_device[ops]
    late, early = np.flatnonzero((back >= 0) & (number(back) < 0)), np.flatnonzero((ahead >= 0) & (number(ahead) < 0))
    succ_row, succ_at = rows(derived.succ_indptr, ops)
    succs = derived.succ_index[succ_at]
    outside = number(succs) < 0
    ends_here = np.ones(len(ops), dtype=bool)
    ends_here[inner[kept]] = False
    ends_here[(ahead >= 0) & (number(ahead) >= 0)] = False
    begins_here = np.ones(len(ops), dtype=bool)
    begins_here[row[kept]] = False
    begins_here[(back >= 0) & (number(back) >= 0)] = False

    leg_row, legs = rows(instance.leg_indptr, ops)
    tx, rx = instance.leg_tx[legs], instance.leg_rx[legs]
    endpoints, tx_rx = _first_seen(np.stack([tx, rx], axis=1).ravel())
    device = instance.op_device[ops]
    computes = np.flatnonzero(device >= 0)
    devices, device_of = _first_seen(device[computes])
    in_order = computes[np.lexsort((position[ops[computes]], device_of))]
    local_device = np.full(len(ops), -1, dtype=np.int32)
    local_device[computes] = device_of
    attach = instance.attach[:, endpoints]
    attach = np.stack([np.where(line >= 0, _first_seen(line)[1], -1) for line in attach]) if attach.size else attach
    part = Instance(
        op_kind=instance.op_kind[ops],
        op_device=local_device,
        op_bytes=instance.op_bytes[ops],
        op_fixed_ticks=instance.op_fixed_ticks[ops],
        pred_indptr=_indptr(row[kept], len(ops)),
        pred_index=inner[kept],
        device_indptr=_indptr(device_of, len(devices)),
        device_ops=in_order,
        leg_indptr=_indptr(leg_row, len(ops)),
        leg_tx=tx_rx[0::2],
        leg_rx=tx_rx[1::2],
        plane_rate_bps=instance.plane_rate_bps,
        plane_latency_ticks=instance.plane_latency_ticks,
        plane_delay_ticks=instance.plane_delay_ticks,
        plane_radix=instance.plane_radix,
        plane_all_stop=instance.plane_all_stop,
        plane_duplex=instance.plane_duplex,
        attach=attach,
        injection_rate_bps=instance.injection_rate_bps,
        boundary=PRESET,
        nic_buffer_bytes=0,
        tick_ns=instance.tick_ns,
    )
    return _Local(
        part,
        legs,
        (np.concatenate([row[~kept], late]), np.concatenate([preds[~kept], back[late]])),
        (np.concatenate([succ_row[outside], early]), np.concatenate([succs[outside], ahead[early]])),
        begins_here,
        ends_here,
    )


def _releases(timeline: Timeline, ops: Ints, role: Ints, found: _Local) -> Ints:
    """Earliest starts: from outside for ops inside, as they are for ops before, none for ops behind."""
    release = np.zeros(len(ops), dtype=np.int64)
    row, other = found.outer_pred
    np.maximum.at(release, row, timeline.end_ticks[other])
    release[role < 0] = timeline.incumbent.op_start_ticks[ops[role < 0]]
    release[role > 0] = 0
    return release


def _tails(timeline: Timeline, ops: Ints, role: Ints, found: _Local) -> tuple[Ints, int]:
    """Longest path through ops outside behind each op, less what is behind every op that has one; and that."""
    tail = np.zeros(len(ops), dtype=np.int64)
    exits = (role == 0) & found.ends_here
    row, other = found.outer_succ
    through = timeline.end_ticks[other] - timeline.incumbent.op_start_ticks[other] + timeline.tail_ticks[other]
    inner = role[row] == 0
    np.maximum.at(tail, row[inner], through[inner])
    exits[row[inner]] = True
    tail[role > 0] = timeline.tail_ticks[ops[role > 0]]
    exits |= role > 0
    base = int(tail[exits].min()) if exits.any() else 0
    return np.where(exits, tail - base, 0), base


def _first_seen(values: Ints) -> tuple[Ints, Ints]:
    """Distinct values in the order in which they appear, and each value's number."""
    distinct, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    by = np.argsort(first)
    number = np.empty(len(by), dtype=np.int64)
    number[by] = np.arange(len(by))
    return distinct[by], number[inverse.ravel()]


def _indptr(row: Ints, n_rows: int) -> Ints:
    """CSR pointer of entries that are sorted by row."""
    return np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n_rows))]).astype(np.int64)
