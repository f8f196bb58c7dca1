"""Periodic play of what is queued: at every period start the waiting bytes are decomposed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fluxscale.errors import UnsupportedError
from fluxscale.instance.instance import Instance
from fluxscale.instance.pairs import pairs
from fluxscale.instance.work import work
from fluxscale.matchings.decomposition import Decomposition
from fluxscale.schedule.fluid_run import FluidRun
from fluxscale.simulate.fluid import CUT, ENDED, FluidSimulator
from fluxscale.simulate.fluid_result import CircuitRows, busy_ticks, make_run, make_trace
from fluxscale.simulate.windows import make_windows
from fluxscale_solvers.baselines.cyclic import trace_room
from fluxscale_solvers.baselines.periodic_program import Player
from fluxscale_solvers.baselines.switches import groups

Decompose = Callable[[Any, int, "int | None", int, bool], list[Decomposition]]

MOST_DECOMPOSED = 20_000
"""Most demand matrices that are decomposed in one iteration."""


class _Tally:
    """What the circuits did, added up period by period."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.setups = 0
        self.busy, self.up, self.dark = (np.zeros(instance.n_planes, dtype=np.int64) for _ in range(3))
        self.rows: list[CircuitRows] = []
        self.masks: list[Any] = []


def run_queued(
    instance: Instance, decompose: Decompose, period_ticks: int | None, cutoff_ticks: int | None
) -> FluidRun | None:
    """Run an iteration period by period.

    Parameters
    ----------
    instance
        The problem.
    decompose
        Demand matrix, delay, window, number of planes, two-way -> one decomposition for each plane.
    period_ticks
        Length of a period; None: a period ends when its matchings have been played. Where nothing waits, the next
        period that matters is the first (auto: the moment) at which something does.
    cutoff_ticks
        Give up when the clock passes this.

    Returns
    -------
    run
        None if the cutoff was passed.

    Raises
    ------
    UnsupportedError
        If more than 20,000 demand matrices would have to be decomposed.
    """
    asked, amounts = pairs(instance), work(instance)
    players = [[Player(instance, switch) for switch in group.switches] for group in groups(instance)]
    all_groups = groups(instance)
    tracing = trace_room(instance)
    simulator = FluidSimulator(instance, asked=asked, cutoff_ticks=cutoff_ticks, trace_pieces=tracing)
    tally = _Tally(instance)
    none = np.zeros(0, dtype=np.int64)
    nothing = make_windows(asked.count, none, none, none, none, amounts.plane_speed, instance.plane_latency_ticks)
    now, decomposed = 0, 0
    status, _ = simulator.play(nothing, horizon_ticks=0)
    while status not in (ENDED, CUT):
        if not simulator.queued.any():
            coming = simulator.next_event_ticks
            now = _next_start(now, int(coming if coming is not None else now), period_ticks)
            status, _ = simulator.play(nothing, origin_ticks=now, horizon_ticks=now)
            continue
        if decomposed > MOST_DECOMPOSED:
            raise UnsupportedError(
                f"the iteration takes more than {MOST_DECOMPOSED} decompositions",
                field="solver.period",
                value="auto" if period_ticks is None else period_ticks * instance.tick_ns,
                maybe="use longer periods, or demand=aggregate.",
            )
        parts = []
        # Rails mostly carry the same: what is decomposed once need not be again.
        known: dict[Any, list[Decomposition]] = {}
        for group, of_group in zip(all_groups, players, strict=True):
            demand = group.demand_ticks(instance, asked, amounts, simulator.queued)
            if not demand.any():
                continue
            plane = group.switches[0].plane
            delay, duplex = int(instance.plane_delay_ticks[plane]), bool(instance.plane_duplex[plane])
            key = (demand.tobytes(), delay, len(of_group), duplex)
            if key not in known:
                known[key] = decompose(demand, delay, period_ticks, len(of_group), duplex)
                decomposed += 1
            made = known[key]
            for player, one in zip(of_group, made, strict=True):
                trimmed = player.wanted(one, demand)
                if trimmed.count:
                    parts.append((player, player.play(_fitting(player, trimmed, period_ticks))))
        length = period_ticks or max(1, max((rows.length_ticks for _, rows in parts), default=1))
        status = _play_period(simulator, tally, parts, now, length)
        now += length
    if status == CUT:
        return None
    return _result(simulator, tally, tracing)


def _fitting(player: Player, made: Decomposition, period_ticks: int | None) -> Decomposition:
    """The matchings that can begin within a period: what comes later is never set."""
    if period_ticks is None:
        return made
    delay = int(player.instance.plane_delay_ticks[player.switch.plane])
    starts = np.cumsum(made.durations + delay) - made.durations
    count = max(1, int(np.searchsorted(starts, period_ticks)))
    return Decomposition(made.matchings[:count], made.durations[:count])


def _next_start(now: int, coming: int, period_ticks: int | None) -> int:
    """First period start at or after the next event; without a fixed period, the event itself."""
    if period_ticks is None:
        return max(now, coming)
    return now + -(-max(0, coming - now) // period_ticks) * period_ticks


def _play_period(simulator: FluidSimulator, tally: _Tally, parts: list[Any], now: int, length: int) -> int:
    """Play one period's rows; the last matching of a switch stays up until the period is over."""
    instance = simulator.instance
    pair, plane, begin, end = [], [], [], []
    for player, rows in parts:
        last = rows.end_ticks == rows.length_ticks
        stop = np.where(last, length, np.minimum(rows.end_ticks, length))
        kept = rows.begin_ticks < stop
        where = player.switch.plane
        pair.append(rows.pair[kept])
        plane.append(np.full(int(kept.sum()), where, dtype=np.int64))
        begin.append(rows.begin_ticks[kept])
        end.append(stop[kept])
        tally.setups += int(rows.setup[kept].sum())
        delay = int(instance.plane_delay_ticks[where])
        tally.dark[where] += delay * (
            rows.dark_slots if instance.plane_all_stop[where] else int(rows.setup[kept].sum())
        )
        tally.up[where] += int(((stop - rows.begin_ticks) * rows.ways)[kept].sum())
    none = np.zeros(0, dtype=np.int64)
    pairs_up, planes_up, up_from, up_to = (np.concatenate([none, *column]) for column in (pair, plane, begin, end))
    speed, latency = simulator.work.plane_speed, instance.plane_latency_ticks
    windows = make_windows(simulator.pairs.count, pairs_up, planes_up, up_from, up_to, speed, latency)
    before = simulator.n_pieces
    status, used = simulator.play(windows, origin_ticks=now, horizon_ticks=now + length)
    tally.busy += busy_ticks(windows, used, instance.n_planes)
    if len(simulator.piece_leg):
        tally.masks.append(windows.mask[simulator.piece_window[before : simulator.n_pieces]])
        tally.rows.append(CircuitRows(pairs_up, planes_up, up_from + now, up_to + now))
    return status


def _result(simulator: FluidSimulator, tally: _Tally, tracing: int) -> FluidRun:
    total = int(simulator.op_end.max(initial=0))
    trace = None
    if tracing and simulator.n_pieces < tracing:
        masks = np.concatenate([np.zeros(0, dtype=np.int64), *tally.masks])
        trace = make_trace(simulator, masks, CircuitRows.joined(tally.rows).until(total))
    return make_run(
        simulator, busy=tally.busy, up=tally.up, dark=tally.dark, reconfigurations=tally.setups, trace=trace
    )
