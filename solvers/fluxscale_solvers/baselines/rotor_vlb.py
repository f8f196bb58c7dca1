"""`rotor-vlb`: the rotor fabric with RotorLB, which sends what spare capacity there is over one relay."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.errors import InputError, UnsupportedError
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import DARK, Instance
from fluxscale.instance.pairs import Pairs, pairs
from fluxscale.instance.work import LIMIT, Work, work
from fluxscale.kernels.rotor_vlb import records as at
from fluxscale.kernels.rotor_vlb.run import CUT, ENDED, NEVER, rotor_vlb
from fluxscale.kernels.rotor_vlb.tables import new_cells, new_endpoints, new_state, new_switches
from fluxscale.schedule.fluid_run import FluidRun
from fluxscale.solving.protocol import Capabilities, Outcome, ProgressCallback, SolveParams
from fluxscale.solving.status import Termination
from fluxscale_solvers.baselines.options import slot_lengths, word_option
from fluxscale_solvers.baselines.rotor import OFFSETS, read_slot
from fluxscale_solvers.baselines.rotor_program import Rotation

Ints = npt.NDArray[Any]

MOST_EVENTS = 300_000_000
"""Events of a run, estimated before it and counted in it; more are refused."""

MOST_TRIALS = 12
"""Option sets of a sweep."""

DEAR = 2
"""A sweep leaves out slots that take more than this times the events of the cheapest one, if those are many."""

MANY_EVENTS = 2_000_000


class RotorVlb:
    """RotorNet with RotorLB (Mellette et al., "RotorNet", SIGCOMM 2017): direct first, spare capacity over one relay.

    Circuits rotate as under ``rotor``. A circuit that is up sends, in this order: what its sender has stored for the
    receiver on behalf of others, the sender's own traffic for the receiver, and the sender's own traffic for others
    (oldest release first), which the receiver stores and sends on when it meets the destination: Valiant's two hops.
    As in the paper, the receiver accepts no more than it can send to that destination in one slot, less what it already
    has for it. So an idle fabric relays nearly everything that is not for the receiver of the moment: that fills
    circuits and evens out skew, but for a single small transfer it is no faster than waiting for its own circuit.

    Where we had to choose: the paper settles at the begin of a slot what is accepted, by offers of all that is left
    which are shared out fairly (its authors' simulator, TritonNetworking/opera-sim, does so too, with twice the limit);
    here a circuit takes an item whenever it is idle and something new can be had, in order of plane and sender, and an
    item ends with its slot at the latest. A relay is used only on an OCS that also holds the destination, stores an
    item whole before it sends it on, and may do so on any plane where it meets the destination. Circuits of several
    planes between the same two endpoints share direct work. Limits and the seed have no effect.
    Options as in ``rotor``.
    """

    name = "rotor-vlb"
    capabilities = Capabilities(comparison=True, options=("slot", "offset"))

    def sweep(self, instance: Instance) -> list[dict[str, Any]]:
        """Slot lengths, and both offsets where planes share pairs; twelve sets at most, none that takes far longer."""
        several = bool(np.any(np.diff(pairs(instance).plane_indptr) > 1))
        offsets = OFFSETS if several else OFFSETS[:1]
        slots = slot_lengths(instance, min(8, MOST_TRIALS // len(offsets)))
        events = {slot: _least_events(instance, slot) for slot in slots}
        most = min(MOST_EVENTS, max(MANY_EVENTS, DEAR * min(events.values())))
        return [
            {"slot": slot * instance.tick_ns, **({"offset": offset} if several else {})}
            for slot in slots
            if events[slot] <= most
            for offset in offsets
        ]

    def solve(self, instance: Instance, params: SolveParams, progress: ProgressCallback) -> Outcome:
        """Let the rotors turn; see :class:`fluxscale.solving.protocol.Solver`."""
        slot = read_slot(instance, params.options)
        offset = word_option(params.options, "offset", OFFSETS, OFFSETS[0])
        _require_planes(instance)
        run, stats = simulate(instance, slot, staggered=offset == OFFSETS[0], cutoff_ticks=params.cutoff_ticks)
        if run is None:
            return Outcome(None, None, None, None, Termination.WORK_LIMIT, stats)
        return Outcome(None, run.iteration_time_ticks, None, None, Termination.FINISHED, stats, run)


def simulate(
    instance: Instance, slot: int, *, staggered: bool, cutoff_ticks: int | None = None
) -> tuple[FluidRun | None, dict[str, Any]]:
    """Run one iteration.

    Parameters
    ----------
    instance
        The problem.
    slot
        Length of a slot in ticks, longer than any delay.
    staggered
        Plane p of P begins its cycle ``p rounds / P`` rounds ahead.
    cutoff_ticks
        Give up (None) when the clock passes this.

    Returns
    -------
    run
        What happened.
    stats
        Counted work.

    Raises
    ------
    UnsupportedError
        If that takes too many events.
    InputError
        If odd rates and long given durations do not fit 64 bits.
    """
    amounts, asked, derived = work(instance), pairs(instance), derive(instance)
    if _least_events(instance, slot) > MOST_EVENTS:
        raise _too_long(instance, slot)
    given = float(amounts.leg_amount[amounts.leg_fixed].sum(dtype=np.float64))
    if given * float(amounts.plane_speed.max(initial=1)) >= LIMIT:
        raise InputError(
            f"transfers of given durations fill {given:.3g} ticks, which at this rate is more than 2**60 units",
            field="fabric.rate",
            maybe="use rates of whole Gb/s.",
        )
    ocs, place, place_at, bits = new_switches(
        instance.attach, instance.plane_duplex, instance.plane_delay_ticks, instance.plane_latency_ticks,
        amounts.plane_speed, slot, dark_start=instance.boundary == DARK, staggered=staggered,
    )  # fmt: skip
    cells = new_cells(asked.tx, asked.rx, asked.plane_indptr, asked.planes, ocs, place, place_at)
    endpoint, state = new_endpoints(instance.n_endpoints), new_state(asked.count)
    weight, injection = _buffer_columns(instance, amounts, asked)
    op_start, op_end = np.full(instance.n_ops, NEVER, dtype=np.int64), np.zeros(instance.n_ops, dtype=np.int64)
    busy = np.zeros(instance.n_planes, dtype=np.int64)
    waiting = (np.diff(instance.pred_indptr) + (derived.prev_on_device >= 0)).astype(np.int64)
    first_plane = asked.planes[asked.plane_indptr[:-1]]
    cutoff = NEVER if cutoff_ticks is None else np.int64(cutoff_ticks)
    status, cell = rotor_vlb(
        slot, cutoff, MOST_EVENTS, amounts.plane_speed.max(initial=1), derived.succ_indptr, derived.succ_index,
        derived.next_on_device, waiting, derived.min_ticks, instance.leg_indptr, derived.leg_op, asked.leg_pair,
        amounts.leg_amount, amounts.leg_fixed, weight, injection, instance.plane_latency_ticks[first_plane], place_at,
        ocs, place, bits, cells, op_start, op_end, endpoint, busy, state,
    )  # fmt: skip
    stats = {
        "slot_ticks": slot,
        "events": int(state[at.EVENTS]),
        "items": int(state[at.ITEMS]),
        "relayed_items": int(state[at.RELAYED]),
    }
    if status == CUT:
        return None, stats
    if status != ENDED:
        raise _too_long(instance, slot)
    total = int(op_end.max(initial=0))
    setups, up, dark = _rotation(instance, slot, ocs).account(total)
    planes = np.maximum((instance.attach >= 0).sum(axis=0), 1)
    run = FluidRun(
        op_start,
        op_end,
        total,
        setups,
        up,
        busy,
        dark,
        cell[: asked.count, at.SENT].copy(),
        -(-endpoint[:, at.PEAK] // (amounts.units_per_byte * planes)),
        int(state[at.EVENTS]),
        _notes(instance, amounts, ocs, state),
    )
    return run, stats


def _require_planes(instance: Instance) -> None:
    asked = pairs(instance)
    alone = np.flatnonzero(np.diff(asked.plane_indptr) == 0)
    if len(alone):
        tx, rx = (instance.names.endpoint(int(side[alone[0]])) for side in (asked.tx, asked.rx))
        raise UnsupportedError(
            f"{tx} -> {rx}: no plane has both on one OCS, so no rotor ever connects them",
            field="fabric.plane.members",
            value=f"{tx} -> {rx}",
            maybe="attach both to one plane.",
        )


def _least_events(instance: Instance, slot: int) -> int:
    """Events that a run takes at least, about: each leg twice, and an item for every slot that its amount fills."""
    amounts, asked = work(instance), pairs(instance)
    sending = slot - int(instance.plane_delay_ticks.max(initial=0))
    speed = amounts.plane_speed.max(initial=1)
    ticks = np.where(amounts.leg_fixed, amounts.leg_amount, amounts.leg_amount // speed)
    return 2 * instance.n_ops + 4 * len(asked.leg_pair) + 2 * int((ticks // max(sending, 1)).sum())


def _too_long(instance: Instance, slot: int) -> UnsupportedError:
    ns = slot * instance.tick_ns
    return UnsupportedError(
        f"more than {MOST_EVENTS:,} events: slots of {ns} ns are too short for this workload",
        field="solver.slot",
        value=ns,
        maybe="use a longer slot.",
    )


def _buffer_columns(instance: Instance, amounts: Work, asked: Pairs) -> tuple[Ints, Ints]:
    """Units of buffer for a unit of each leg, and how many of them are handed over in a tick.

    A transfer with a duration and no bytes carries what its first plane can send in that time, and is handed over as
    fast as its planes send it.
    """
    counts = np.diff(asked.plane_indptr)
    sums = np.concatenate([[0], np.cumsum(amounts.plane_injection[asked.planes])])
    injection = np.maximum(sums[asked.plane_indptr[1:]] - sums[asked.plane_indptr[:-1]], 1)[asked.leg_pair]
    weight = np.ones(instance.n_legs, dtype=np.int64)
    fixed = np.flatnonzero(amounts.leg_fixed)
    pair = asked.leg_pair[fixed]
    carried = instance.op_bytes[derive(instance).leg_op[fixed]] * amounts.units_per_byte
    speed = amounts.plane_speed[asked.planes[asked.plane_indptr[pair]]]
    weight[fixed] = np.where(carried > 0, carried // np.maximum(amounts.leg_amount[fixed], 1), speed)
    injection[fixed] = np.maximum(weight[fixed] * counts[pair], 1)
    return weight, injection


def _rotation(instance: Instance, slot: int, ocs: Ints) -> Rotation:
    """What the rotors do, for the account only: no rows."""
    none = np.zeros(0, dtype=np.int64)
    columns = (ocs[:, at.OCS_PLANE], ocs[:, at.OCS_SIZE], ocs[:, at.OCS_ROUNDS])
    return Rotation(instance, slot, none, none, none, none, none, none, *columns, ())


def _notes(instance: Instance, amounts: Work, ocs: Ints, state: Ints) -> tuple[str, ...]:
    odd = np.unique(ocs[(ocs[:, at.OCS_TWO_WAY] == 1) & (ocs[:, at.OCS_SIZE] % 2 == 1), at.OCS_SIZE]).tolist()
    notes = [f"a rotor of {size} two-way ports leaves one port idle in each of its {size} rounds" for size in odd]
    if state[at.RELAYED]:
        share = int(state[at.RELAYED]) / int(state[at.ITEMS])
        elsewhere = int(state[at.ELSEWHERE]) // amounts.units_per_byte
        notes.append(
            f"{share:.1%} of the pieces sent went to a relay; circuits between endpoints that have nothing to exchange "
            f"carried {elsewhere:,} bytes"
        )
    return tuple(notes)
