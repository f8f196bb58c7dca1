"""Periodic play of the whole iteration's demand: decomposed once, played over and over."""

from __future__ import annotations

import math
from typing import Any

from fluxscale.errors import InputError
from fluxscale.instance.instance import DARK, Instance
from fluxscale.instance.pairs import pairs
from fluxscale.instance.work import work
from fluxscale.schedule.fluid_run import FluidRun
from fluxscale_solvers.baselines.cyclic import run_cyclic
from fluxscale_solvers.baselines.periodic_program import Player, Rows, stretched
from fluxscale_solvers.baselines.periodic_queued import Decompose
from fluxscale_solvers.baselines.switches import groups, total_units
from fluxscale_solvers.baselines.turning import turning


def run_aggregate(
    instance: Instance,
    decompose: Decompose,
    period_ticks: int | None,
    duty: float | None,
    cutoff_ticks: int | None,
) -> FluidRun | None:
    """Run an iteration under a cyclic program.

    Parameters
    ----------
    instance
        The problem.
    decompose
        Demand matrix, delay, window, number of planes, two-way -> one decomposition for each plane.
    period_ticks
        Length of a turn, or None.
    duty
        Share of a turn that is not dark, or None. Without both, a turn serves the whole demand once.
    cutoff_ticks
        Give up when the clock passes this.

    Returns
    -------
    run
        None if the cutoff was passed.

    Raises
    ------
    InputError
        If a turn of that length would be all dark.
    """
    units = total_units(instance)
    plays = _plays(instance, decompose, units, period_ticks, duty)
    program = turning(instance, plays, boundary_dark=instance.boundary == DARK)
    return run_cyclic(instance, program, cutoff_ticks)


def _plays(
    instance: Instance, decompose: Decompose, units: Any, period_ticks: int | None, duty: float | None
) -> list[tuple[Player, Rows, int]]:
    """Rows of each switch in the steady state, and by how many ticks its turn is shifted."""
    asked, amounts = pairs(instance), work(instance)
    made: list[tuple[int, int, Player, Any, int]] = []
    for group in groups(instance):
        plane = group.switches[0].plane
        delay, count = int(instance.plane_delay_ticks[plane]), len(group.switches)
        demand = group.demand_ticks(instance, asked, amounts, units)
        if not demand.any():
            continue
        each = decompose(demand, delay, None, count, bool(instance.plane_duplex[plane]))
        for number, (switch, one) in enumerate(zip(group.switches, each, strict=True)):
            player = Player(instance, switch)
            trimmed = player.wanted(one, demand)
            if trimmed.count:
                dark = player.steady(trimmed).dark_slots * delay
                made.append((number, count, player, trimmed, dark))
    dark_most = max((dark for *_, dark in made), default=0)
    if period_ticks is not None:
        if period_ticks <= dark_most:
            raise InputError(
                f"a turn of {period_ticks * instance.tick_ns} ns is not longer than the dark time of "
                f"{dark_most * instance.tick_ns} ns in it",
                field="solver.period",
                value=period_ticks * instance.tick_ns,
                maybe="use a longer period, or auto.",
            )
        turn = period_ticks
    elif duty is not None and dark_most:
        turn = max(dark_most + 1, math.ceil(dark_most / (1 - duty)))
    else:
        turn = max((int(one.durations.sum()) + dark for _, _, _, one, dark in made), default=1)
    plays = []
    for number, count, player, one, dark in made:
        scaled = player.steady(stretched(one, dark, turn))
        plays.append((player, scaled, number * turn // count))
    return plays
