"""`rotor`: a fabric that knows nothing and cycles through fixed matchings; data goes over direct circuits only."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluxscale.errors import InputError
from fluxscale.instance.instance import Instance
from fluxscale.instance.pairs import pairs
from fluxscale.solving.protocol import Capabilities, Outcome, ProgressCallback, SolveParams
from fluxscale.solving.status import Termination
from fluxscale_solvers.baselines.cyclic import run_cyclic
from fluxscale_solvers.baselines.options import slot_lengths, ticks_option, word_option
from fluxscale_solvers.baselines.rotor_program import rotation

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
        run = run_cyclic(instance, turning, params.cutoff_ticks, turning.notes)
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
