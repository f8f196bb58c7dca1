"""Fluid simulator: the DAG driven by a program of circuits that is fixed, cyclic, or made while the run goes on."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import BackendError
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance
from fluxscale.instance.pairs import Pairs, pairs
from fluxscale.instance.work import Work, work
from fluxscale.kernels.fluid import run as kernels
from fluxscale.kernels.fluid.walk import NEVER
from fluxscale.simulate.windows import Windows

Ints = npt.NDArray[Any]

ENDED, PAUSED, CUT = kernels.ENDED, kernels.PAUSED, kernels.CUT


class FluidSimulator:
    """One run of an iteration under fluid rules (problem.md, "What it is compared with").

    A pair's transfers are sent one at a time in order of release, over all planes whose circuit is up. Legs of a gang
    drain each on its own; the gang ends when its last leg has arrived.

    Usage: :meth:`play` a program up to a horizon, look at :attr:`queued`, play the next one, until it returns
    ``ENDED``.

    Parameters
    ----------
    instance
        The problem.
    pair_floor_ticks
        int64 ``[Q]``: before this time a pair's circuit is never up; None: 0.
    not_before_ticks
        int64 ``[n]``: no op starts before; None: 0.
    asked
        Pairs to queue by, if not those of the instance.
    cutoff_ticks
        Stop (``CUT``) when the clock passes this.
    trace_pieces
        Room for that many pieces to be written down; 0: none.
    """

    def __init__(
        self,
        instance: Instance,
        *,
        pair_floor_ticks: Ints | None = None,
        not_before_ticks: Ints | None = None,
        asked: Pairs | None = None,
        cutoff_ticks: int | None = None,
        trace_pieces: int = 0,
    ) -> None:
        derived = derive(instance)
        self.instance = instance
        self.work: Work = work(instance)
        self.pairs: Pairs = pairs(instance) if asked is None else asked
        self._cutoff = int(NEVER) if cutoff_ticks is None else cutoff_ticks
        n, n_legs, n_pairs, n_ends = instance.n_ops, instance.n_legs, self.pairs.count, instance.n_endpoints
        self._floor = np.zeros(n_pairs, dtype=np.int64) if pair_floor_ticks is None else pair_floor_ticks
        not_before = np.zeros(n, dtype=np.int64) if not_before_ticks is None else not_before_ticks

        size, injection, size_speed = hand_over(instance, self.work, self.pairs)
        zeros, full = np.zeros, np.full
        self.state = zeros(6, dtype=np.int64)
        waiting = (np.diff(instance.pred_indptr) + (derived.prev_on_device >= 0)).astype(np.int32)
        heap_time, heap_number = (np.empty(n + n_pairs + 2 * n_legs + 8, dtype=np.int64) for _ in range(2))
        first = np.flatnonzero(waiting == 0)
        by_time = first[np.lexsort((first, not_before[first]))]
        # In ascending order they already form a heap.
        heap_time[: len(first)], heap_number[: len(first)] = not_before[by_time], n + by_time
        self.state[kernels.HEAP] = len(first)
        self.op_start, self.op_end = full(n, -1, dtype=np.int64), full(n, -1, dtype=np.int64)
        self._leg_left = self.work.leg_amount.copy()
        self._pair_head = full(n_pairs, -1, dtype=np.int64)
        self._pair_since, self._pair_sending = zeros(n_pairs, dtype=np.int64), zeros(n_pairs, dtype=np.int64)
        self._pair_queued = zeros(n_pairs, dtype=np.int64)
        self._endpoint_queued, self.endpoint_peak = zeros(n_ends, dtype=np.int64), zeros(n_ends, dtype=np.int64)
        self._size, self._size_speed = size, size_speed
        by_endpoint = zeros(n_ends + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.pairs.tx, minlength=n_ends), out=by_endpoint[1:])
        self._dag = (
            instance.op_kind, derived.min_ticks, derived.succ_indptr, derived.succ_index, derived.next_on_device,
            instance.leg_indptr, derived.leg_op, self.pairs.leg_pair, self.work.leg_fixed, not_before,
        )  # fmt: skip
        self._going = (
            self.state, heap_time, heap_number, waiting, self.op_start, self.op_end, zeros(n, dtype=np.int64),
            zeros(n, dtype=np.int64), self._leg_left, full(n_legs, -1, dtype=np.int64), self._pair_head,
            full(n_pairs, -1, dtype=np.int64), self._pair_since, self._pair_sending,
        )  # fmt: skip
        self._buffers = (
            size, size_speed, zeros(n_legs, dtype=np.int64), zeros(n_legs, dtype=np.bool_),
            full(n_legs, -1, dtype=np.int64), full(n_ends, -1, dtype=np.int64), self._endpoint_queued,
            self.endpoint_peak, self.pairs.tx, self._pair_queued, injection, by_endpoint,
            zeros(n_pairs, dtype=np.int64), zeros(n_ends, dtype=np.int64), zeros(n_pairs, dtype=np.int64),
        )  # fmt: skip
        self._tracing = trace_pieces > 0
        self.piece_leg, self.piece_window = (np.empty(trace_pieces, dtype=np.int64) for _ in range(2))
        self.piece_from, self.piece_to, self.piece_amount = (np.empty(trace_pieces, dtype=np.int64) for _ in range(3))
        self._resumable = False

    def play(self, windows: Windows, *, origin_ticks: int = 0, horizon_ticks: int | None = None) -> tuple[int, Ints]:
        """Go on under a program until everything has ended, the horizon or the cutoff.

        Parameters
        ----------
        windows
            The program.
        origin_ticks
            When its time 0 is.
        horizon_ticks
            All that happens up to and including this time is worked off; None: to the end.

        Returns
        -------
        status
            ``ENDED``, ``PAUSED`` or ``CUT``.
        used_ticks
            int64 ``[W]``: how long each window was used.

        Raises
        ------
        BackendError
            If nothing can ever happen again but ops are left and there is no horizon.
        """
        horizon = int(NEVER) - 1 if horizon_ticks is None else horizon_ticks
        used = np.zeros(len(windows.begin), dtype=np.int64)
        program = (
            windows.indptr, windows.begin, windows.end, windows.speed, windows.planes, windows.latency, windows.cycle,
            self._floor, windows.units, windows.ticks, used,
        )  # fmt: skip
        trace = (
            self._tracing, self.piece_leg, self.piece_window, self.piece_from, self.piece_to, self.piece_amount,
        )  # fmt: skip
        op_kind, leg_op, leg_fixed = self._dag[0], self._dag[6], self._dag[8]
        if self._resumable:
            going = self._going
            kernels.resume(
                int(self._resume_at), horizon, origin_ticks, self.pairs.count, op_kind, leg_op, leg_fixed, *program,
                self.state, going[1], going[2], self.op_start, going[6], self._leg_left, self._pair_head,
                self._pair_since, self._pair_sending, *trace,
            )  # fmt: skip
        status = kernels.advance(
            horizon, self._cutoff, origin_ticks, self.pairs.count, *self._dag, *program, *self._going, *self._buffers,
            *trace,
        )  # fmt: skip
        if status == PAUSED and horizon_ticks is None:
            pair = int(np.argmax(self._pair_head >= 0))
            names = self.instance.names
            raise BackendError(
                f"the program never sets the circuit {names.endpoint(int(self.pairs.tx[pair]))} -> "
                f"{names.endpoint(int(self.pairs.rx[pair]))}, which a transfer waits for"
            )
        if status == PAUSED:
            kernels.settle(
                horizon, origin_ticks, self.pairs.count, op_kind, leg_op, leg_fixed, self._size, self._size_speed,
                self.pairs.tx, self._pair_head, self._pair_sending, self._leg_left, self._pair_queued,
                self._endpoint_queued,
            )  # fmt: skip
            self._resumable, self._resume_at = True, horizon
        return int(status), used

    @property
    def queued(self) -> Ints:
        """Units that wait at each pair at the horizon, int64 ``[Q]``; a rest of given duration counts as bytes."""
        return self._pair_queued

    @property
    def next_event_ticks(self) -> int | None:
        """When the next op begins or ends, or None if nothing is under way."""
        return int(self._going[1][0]) if self.state[kernels.HEAP] else None

    @property
    def events(self) -> int:
        """Events so far: ops that begin or end, transfers that are released or end, and windows that are used."""
        return int(self.state[kernels.EVENTS])

    @property
    def n_pieces(self) -> int:
        """Pieces that were written down."""
        return int(self.state[kernels.PIECES])

    def port_peak_bytes(self) -> Ints:
        """Peak eager buffer of an endpoint's transmit ports, spread evenly over its planes, int64 ``[E]``."""
        planes = np.maximum((self.instance.attach >= 0).sum(axis=0), 1)
        return -(-self.endpoint_peak // (self.work.units_per_byte * planes))


def _per_pair_sum(asked: Pairs, plane_value: Ints) -> Ints:
    """Sum a column of the planes over those of each pair."""
    total = np.zeros(asked.count + 1, dtype=np.int64)
    sums = np.concatenate([[0], np.cumsum(plane_value[asked.planes])])
    total[:-1] = sums[asked.plane_indptr[1:]] - sums[asked.plane_indptr[:-1]]
    return np.maximum(total[:-1], 1)


def hand_over(instance: Instance, amounts: Work, asked: Pairs) -> tuple[Ints, Ints, Ints]:
    """How legs are handed to their NICs.

    A transfer with a duration and no bytes carries what its first plane can send in that time. A given duration says
    how fast a transfer leaves, so it is handed over as fast.

    Parameters
    ----------
    instance
        The problem.
    amounts, asked
        Its amounts, and the pairs by which legs queue.

    Returns
    -------
    size
        int64 ``[L]``: units that a leg puts into the buffer.
    injection
        int64 ``[L]``: units handed over in a tick, over all planes that the leg may use.
    unit_size
        int64 ``[L]``: what one of the leg's own units (``leg_amount``) stands for.
    """
    size = amounts.leg_amount.copy()
    unit_size = np.ones(len(size), dtype=np.int64)
    fixed = np.flatnonzero(amounts.leg_fixed)
    if len(fixed):
        op_bytes = instance.op_bytes[derive(instance).leg_op[fixed]]
        plane = asked.planes[asked.plane_indptr[asked.leg_pair[fixed]]]
        given = np.where(op_bytes > 0, op_bytes * amounts.units_per_byte, size[fixed] * amounts.plane_speed[plane])
        unit_size[fixed] = given // np.maximum(size[fixed], 1)
        size[fixed] = given
    injection = _per_pair_sum(asked, amounts.plane_injection)[asked.leg_pair]
    n_planes = np.diff(asked.plane_indptr)[asked.leg_pair]
    return size, np.maximum(np.where(amounts.leg_fixed, unit_size * n_planes, injection), 1), unit_size
