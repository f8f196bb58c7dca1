"""The buffer of one NIC over time: what producers have handed over and the circuits have not yet taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import Instance
from fluxscale.instance.pairs import pairs
from fluxscale.instance.work import work
from fluxscale.schedule.fluid_run import FluidRun
from fluxscale.simulate.fluid import hand_over

Ints = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class BufferCurve:
    """Level of one NIC's buffer (all its transmit ports together) as a broken line.

    Attributes
    ----------
    at_ticks
        int64 ``[K]``, ascending: the level is linear in between, but for the last tick of a piece.
    units
        int64 ``[K]``.
    units_per_byte
        Units in one byte.
    """

    at_ticks: Ints
    units: Ints
    units_per_byte: int

    @property
    def bytes(self) -> Ints:
        """Level in bytes, rounded up, int64 ``[K]``."""
        return -(-self.units // self.units_per_byte)

    @property
    def peak_bytes(self) -> int:
        """Largest level."""
        return int(self.bytes.max(initial=0))


def buffer_curve(instance: Instance, run: FluidRun, endpoint: int) -> BufferCurve:
    """Follow the eager buffer of an endpoint through a traced run.

    A transfer is handed over at the injection rate from the end of its last predecessor on, as in
    ``FluidRun.port_peak_bytes``, whose figure is the peak of this line spread over the endpoint's planes.

    Parameters
    ----------
    instance
        The problem.
    run
        A run whose pieces were written down.
    endpoint
        Number of the endpoint.

    Raises
    ------
    InputError
        If the run has no trace, or there is no such endpoint.
    """
    if run.trace is None:
        raise InputError("the run was not written down piece by piece, so its buffers have only a peak")
    if not 0 <= endpoint < instance.n_endpoints:
        raise InputError("no such endpoint", field="endpoint", value=endpoint)
    leg_op = derive(instance).leg_op
    legs = np.flatnonzero(instance.leg_tx == endpoint)
    size, injection, per_unit = hand_over(instance, work(instance), pairs(instance))
    release = _release(instance, run.op_end_ticks, leg_op[legs])
    handing = -(-size[legs] // injection[legs])
    mine = np.flatnonzero(np.isin(run.trace.piece_leg, legs))
    piece_leg = run.trace.piece_leg[mine]
    begin, end = run.trace.piece_from_ticks[mine], run.trace.piece_to_ticks[mine]
    amount = run.trace.piece_amount[mine] * per_unit[piece_leg]
    span = np.maximum(end - begin, 1)
    # Every line goes up or down by whole units a tick; what its last tick has too much is put right at its end.
    rate = -(-amount // span)
    at = np.concatenate([release, release + handing, begin, end])
    slope = np.concatenate([injection[legs], -injection[legs], -rate, rate])
    jump = np.concatenate(
        [np.zeros_like(release), size[legs] - injection[legs] * handing, np.zeros_like(begin), rate * span - amount]
    )
    order = np.argsort(at, kind="stable")
    at, slope, jump = at[order], slope[order], jump[order]
    before = np.concatenate([[0], np.diff(at)])
    level = np.cumsum(before * np.concatenate([[0], np.cumsum(slope)[:-1]]) + jump)
    last = np.concatenate([at[1:] != at[:-1], [True]]) if len(at) else np.zeros(0, dtype=np.bool_)
    return BufferCurve(at[last], np.maximum(level[last], 0), work(instance).units_per_byte)


def _release(instance: Instance, op_end: Ints, ops: Ints) -> Ints:
    """End of the last predecessor of each op, 0 without any."""
    counts = np.diff(instance.pred_indptr)[ops]
    release = np.zeros(len(ops), dtype=np.int64)
    some = np.flatnonzero(counts)
    if len(some):
        first = instance.pred_indptr[ops[some]]
        at = np.arange(int(counts[some].sum())) + np.repeat(
            first - (np.cumsum(counts[some]) - counts[some]), counts[some]
        )
        ends = op_end[instance.pred_index[at]]
        release[some] = np.maximum.reduceat(ends, np.cumsum(counts[some]) - counts[some])
    return release
