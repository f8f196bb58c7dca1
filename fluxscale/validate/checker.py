"""``check``: whether a schedule, whoever made it, solves the problem."""

from __future__ import annotations

from fluxscale.errors import InputError
from fluxscale.instance.instance import CYCLIC, Instance
from fluxscale.schedule.schedule import Schedule
from fluxscale.validate.all_stop import check_all_stop
from fluxscale.validate.buffers import check_buffers
from fluxscale.validate.circuits import check_dark_start, check_ports, check_wrap, well_formed
from fluxscale.validate.facts import gather
from fluxscale.validate.legs import check_circuits_carry, check_directions, check_leg_planes
from fluxscale.validate.ops import (
    check_device_order,
    check_iteration_time,
    check_period,
    check_precedence,
    check_radix,
    check_start_times,
)
from fluxscale.validate.report import ValidationReport, make_report


def check(instance: Instance, schedule: Schedule, *, max_listed: int = 1000) -> ValidationReport:
    """Check every rule of the problem; integers throughout, no tolerance.

    Parameters
    ----------
    instance
        The problem.
    schedule
        Any schedule for it. Nothing about its columns is taken for granted.
    max_listed
        Most violations to put into words; all are counted.

    Raises
    ------
    InputError
        If the schedule is for another instance, or its columns have wrong lengths.

    Notes
    -----
    The rules are those of "What must hold" in the statement of the problem, read as follows.

    - A port's rows do not overlap, and between rows of different circuits lies the plane's delay (per-port rule).
    - All-stop rule: a row that sets a circuit comes up when the plane has been silent for the delay. A row sets nothing
      if both its ports held this circuit last, or if they held none yet and the boundary is preset or cyclic.
    - A leg lies inside one row of its circuit.
    - The limit of the NIC buffer (``nic_buffer``) holds for every transmit port of every plane, at every tick, with
      eager hand-over: from the end of a transfer's last predecessor on, at the injection rate, whatever waits.
    - Cyclic: the claimed iteration time is the period. A longer period than needed is allowed.
    """
    if max_listed < 0:
        raise InputError("the number of violations to list must be zero or more", value=max_listed)
    facts = gather(instance, schedule)
    rows, malformed = well_formed(facts)
    cyclic = instance.boundary == CYCLIC
    findings = [
        check_start_times(facts),
        check_precedence(facts),
        check_device_order(facts),
        check_leg_planes(facts),
        *malformed,
        *check_ports(facts, rows),
        check_dark_start(facts, rows),
        check_wrap(facts, rows),
        *check_all_stop(facts, rows),
        check_circuits_carry(facts, rows),
        check_directions(facts),
        check_iteration_time(facts),
        check_period(facts),
        *check_radix(facts),
        check_buffers(facts),
    ]
    if cyclic:
        missing = [int(f.amount.max(initial=0)) for f in findings if f.code in ("FX010", "FX015")]
        iteration_time = max(facts.period, 0) if not missing else facts.period + max(missing)
    else:
        iteration_time = int(facts.end.max(initial=0))
    in_order = max(0, len(instance.device_ops) - instance.n_devices)
    n_checked = {
        "ops": instance.n_ops,
        "edges": len(instance.pred_index) + in_order,
        "legs": instance.n_legs,
        "rows": len(schedule.circuit_plane),
    }
    return make_report(findings, iteration_time, n_checked, max_listed)
