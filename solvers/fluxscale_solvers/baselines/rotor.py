"""`rotor`: a fabric that knows nothing and cycles through fixed matchings; data goes over direct circuits only."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluxscale.errors import InputError
from fluxscale.instance.instance import Instance
from fluxscale.instance.pairs import pairs
from fluxscale.instance.work import work
from fluxscale.schedule.fluid_run import FluidRun
from fluxscale.simulate.fluid import CUT, FluidSimulator
from fluxscale.simulate.fluid_result import busy_ticks, make_run, make_trace
from fluxscale.simulate.windows import make_windows
from fluxscale.solving.protocol import Capabilities, Outcome, ProgressCallback, SolveParams
from fluxscale.solving.status import Termination
from fluxscale_solvers.baselines.options import slot_lengths, ticks_option, word_option
from fluxscale_solvers.baselines.periodic_queued import TRACE_PIECES
from fluxscale_solvers.baselines.rotor_program import Rotation, rotation

DUTY = 10
"""Default slot in delays: a duty cycle of 90 %, as the Flux paper runs RotorNet."""

OFFSETS = ("staggered", "same")


class Rotor:
    """RotorNet with direct circuits (Mellette et al., "RotorNet", SIGCOMM 2017).

    On every plane the endpoints of one OCS cycle through fixed matchings that together hold every pair once, in slots
    of equal length. All ports of a rotor change together: a slot begins with the delay, dark. Where we had to choose:
    planes are staggered evenly over the cycle (RotorNet's several rotors show different matchings at any time); one-way
    ports use the cyclic shifts, two-way ports the round-robin tournament, with one port idle in each round if their
    number is odd; with a single round nothing ever changes, so nothing goes dark. Options: ``slot`` (time, the dark
    part included; default ten delays), ``offset`` ("staggered" or "same").
    """

    name = "rotor"
    capabilities = Capabilities(comparison=True, options=("slot", "offset"))

    def sweep(self, instance: Instance) -> list[dict[str, Any]]:
        """Slot lengths, and both offsets where planes share pairs."""
        several = bool(np.any(np.diff(pairs(instance).plane_indptr) > 1))
        return [
            {"slot": slot * instance.tick_ns, **({"offset": offset} if several else {})}
            for slot in slot_lengths(instance)
            for offset in (OFFSETS if several else OFFSETS[:1])
        ]

    def solve(self, instance: Instance, params: SolveParams, progress: ProgressCallback) -> Outcome:
        """Let the rotors turn; see :class:`fluxscale.solving.protocol.Solver`."""
        delay = int(instance.plane_delay_ticks.max(initial=0))
        slot = read_slot(instance, params.options)
        offset = word_option(params.options, "offset", OFFSETS, OFFSETS[0])
        turning = rotation(instance, slot, staggered=offset == OFFSETS[0])
        run = _run(instance, turning, params.cutoff_ticks)
        if run is None:
            return Outcome(None, None, None, None, Termination.WORK_LIMIT, {"slot_ticks": slot})
        stats = {"slot_ticks": slot, "delay_ticks": delay, "events": run.events}
        return Outcome(None, run.iteration_time_ticks, None, None, Termination.FINISHED, stats, run)


def read_slot(instance: Instance, options: dict[str, Any]) -> int:
    """Slot of a rotor in ticks, the dark part included.

    Raises
    ------
    InputError
        If nothing could be sent in it.
    """
    delay = int(instance.plane_delay_ticks.max(initial=0))
    slots = slot_lengths(instance, 1)
    slot = ticks_option(instance, options, "slot", DUTY * delay if delay else slots[0])
    if slot <= delay:
        raise InputError(
            f"a slot of {slot * instance.tick_ns} ns is not longer than the reconfiguration delay of "
            f"{delay * instance.tick_ns} ns, so nothing could be sent in it",
            field="solver.slot",
            value=options.get("slot", slot),
            maybe=f"use {DUTY * delay * instance.tick_ns} ns, a duty cycle of 90 %.",
        )
    return slot


def _run(instance: Instance, turning: Rotation, cutoff: int | None) -> FluidRun | None:
    amounts, asked = work(instance), pairs(instance)
    windows = make_windows(
        asked.count,
        turning.row_pair,
        turning.row_plane,
        turning.row_from_ticks,
        turning.row_to_ticks,
        amounts.plane_speed,
        instance.plane_latency_ticks,
        turning.cycle_ticks,
    )
    tracing = TRACE_PIECES if instance.n_legs < TRACE_PIECES // 4 else 0
    simulator = FluidSimulator(
        instance, asked=asked, pair_floor_ticks=turning.pair_floor_ticks, cutoff_ticks=cutoff, trace_pieces=tracing
    )
    status, used = simulator.play(windows)
    if status == CUT:
        return None
    total = int(simulator.op_end.max(initial=0))
    trace = None
    if tracing and simulator.n_pieces < tracing and turning.rows_until(total) <= TRACE_PIECES:
        mask = windows.mask[simulator.piece_window[: simulator.n_pieces]]
        trace = make_trace(simulator, mask, turning.circuits(total))
    setups, up, dark = turning.account(total)
    return make_run(
        simulator,
        busy=busy_ticks(windows, used, instance.n_planes),
        up=up,
        dark=dark,
        reconfigurations=setups,
        notes=turning.notes,
        trace=trace,
    )
