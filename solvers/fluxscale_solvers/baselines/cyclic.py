"""Run an iteration under circuits that come round again and again, and put down what happened."""

from __future__ import annotations

from typing import Any, Protocol

import numpy.typing as npt

from fluxscale.instance.instance import Instance
from fluxscale.instance.pairs import pairs
from fluxscale.instance.work import work
from fluxscale.schedule.fluid_run import FluidRun
from fluxscale.simulate.fluid import CUT, FluidSimulator
from fluxscale.simulate.fluid_result import CircuitRows, busy_ticks, make_run, make_trace
from fluxscale.simulate.windows import make_windows

Ints = npt.NDArray[Any]

TRACE_PIECES = 400_000
"""Runs of more pieces are not written down piece by piece."""


class CyclicProgram(Protocol):
    """Circuits of a cyclic program: rows within a cycle, and what they add up to."""

    @property
    def row_pair(self) -> Ints:
        """Pair of each row."""
        ...

    @property
    def row_plane(self) -> Ints:
        """Plane of each row."""
        ...

    @property
    def row_from_ticks(self) -> Ints:
        """When each row comes up within the cycle."""
        ...

    @property
    def row_to_ticks(self) -> Ints:
        """When each row goes down."""
        ...

    @property
    def cycle_ticks(self) -> Ints | int:
        """Period of each pair's rows, or of all."""
        ...

    @property
    def pair_floor_ticks(self) -> Ints:
        """Before this a pair's circuit is never up."""
        ...

    def rows_until(self, total_ticks: int) -> int:
        """Count the circuit rows up to a time."""
        ...

    def circuits(self, total_ticks: int) -> CircuitRows:
        """List the circuit rows up to a time."""
        ...

    def account(self, total_ticks: int) -> tuple[int, Ints, Ints]:
        """Circuits set up, time up and dark time of each plane up to a time."""
        ...


def trace_room(instance: Instance) -> int:
    """Pieces to make room for: none where the transfers alone would fill most of it.

    Parameters
    ----------
    instance
        The problem.
    """
    return TRACE_PIECES if instance.n_legs < TRACE_PIECES // 4 else 0


def run_cyclic(
    instance: Instance, program: CyclicProgram, cutoff_ticks: int | None, notes: tuple[str, ...] = ()
) -> FluidRun | None:
    """Run an iteration under a cyclic program.

    Parameters
    ----------
    instance
        The problem.
    program
        Its circuits.
    cutoff_ticks
        Give up when the clock passes this.
    notes
        For the run.

    Returns
    -------
    run
        None if the cutoff was passed.
    """
    asked = pairs(instance)
    windows = make_windows(
        asked.count,
        program.row_pair,
        program.row_plane,
        program.row_from_ticks,
        program.row_to_ticks,
        work(instance).plane_speed,
        instance.plane_latency_ticks,
        program.cycle_ticks,
    )
    room = trace_room(instance)
    simulator = FluidSimulator(
        instance, asked=asked, pair_floor_ticks=program.pair_floor_ticks, cutoff_ticks=cutoff_ticks, trace_pieces=room
    )
    status, used = simulator.play(windows)
    if status == CUT:
        return None
    total = int(simulator.op_end.max(initial=0))
    trace = None
    if room and simulator.n_pieces < room and program.rows_until(total) <= TRACE_PIECES:
        mask = windows.mask[simulator.piece_window[: simulator.n_pieces]]
        trace = make_trace(simulator, mask, program.circuits(total))
    setups, up, dark = program.account(total)
    return make_run(
        simulator,
        busy=busy_ticks(windows, used, instance.n_planes),
        up=up,
        dark=dark,
        reconfigurations=setups,
        notes=notes,
        trace=trace,
    )
