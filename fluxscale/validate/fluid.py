"""``check_fluid``: whether a run under fluid rules, whoever made it, did what the problem asks and allows.

The pieces of a traced run are read as transfers of their own, planned where they were sent, and go through the same
checks as any schedule: matchings, dark times, a circuit under every piece, one piece at a time on it. What is added
here is that the pieces add up to what had to be sent.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.derived import derive
from fluxscale.instance.instance import COMPUTE, CYCLIC, LOCAL, PRESET, TRANSFER, Instance
from fluxscale.schedule.fluid_run import FluidRun
from fluxscale.schedule.fluid_trace import FluidTrace
from fluxscale.schedule.schedule import Schedule
from fluxscale.validate.checker import check
from fluxscale.validate.report import ValidationReport, make_report
from fluxscale.validate.violations import Finding

Ints = npt.NDArray[Any]


def check_fluid(instance: Instance, run: FluidRun, *, max_listed: int = 1000) -> ValidationReport:
    """Check a fluid run; integers throughout, no tolerance.

    Always: precedence, device order, durations of compute ops, and that no transfer is faster than all its planes
    together. With a trace, also every piece and every circuit.

    Parameters
    ----------
    instance
        The problem. A cyclic boundary is read as preset: a run is one iteration.
    run
        What happened.
    max_listed
        Most violations to put into words.
    """
    findings = [*_check_ops(instance, run), *_check_speed(instance, run)]
    n_checked = {"ops": instance.n_ops, "edges": len(instance.pred_index), "legs": instance.n_legs, "rows": 0}
    reports: list[ValidationReport] = []
    if run.trace is not None:
        findings += _check_amounts(instance, run, run.trace)
        reports.append(_check_pieces(instance, run.trace, max_listed))
        n_checked["rows"] = len(run.trace.circuit_tx)
    total = int(run.op_end_ticks.max(initial=0))
    mine = make_report(findings, total, n_checked, max_listed)
    counts, violations = dict(mine.counts), list(mine.violations)
    for report in reports:
        violations += report.violations
        for code, count in report.counts.items():
            counts[code] = counts.get(code, 0) + count
    return ValidationReport(violations, dict(sorted(counts.items())), total, n_checked)


def _finding(instance: Instance, code: str, ops: Ints, time: Ints, amount: Ints, text: str) -> Finding:
    def describe(k: int) -> tuple[str, str]:
        name = instance.names.op(int(ops[k]))
        return name, f"{name}: {text} ({int(amount[k])})"

    return Finding(code, time, amount, describe)


def _check_ops(instance: Instance, run: FluidRun) -> list[Finding]:
    start, end = run.op_start_ticks, run.op_end_ticks
    early = np.flatnonzero((start < 0) | (end < start))
    findings = [_finding(instance, "FX001", early, start[early], -start[early], "starts before time 0, or never")]
    after = np.repeat(np.arange(instance.n_ops), np.diff(instance.pred_indptr))
    lack = end[instance.pred_index] - start[after]
    late = np.flatnonzero(lack > 0)
    findings.append(
        _finding(
            instance, "FX002", after[late], start[after[late]], lack[late], "starts before a predecessor has ended"
        )
    )
    before = derive(instance).prev_on_device
    second = np.flatnonzero(before >= 0)
    lack = end[before[second]] - start[second]
    late = second[lack > 0]
    findings.append(_finding(instance, "FX003", late, start[late], lack[lack > 0], "starts before its device is free"))
    timed = np.flatnonzero((instance.op_kind == COMPUTE) | (instance.op_kind == LOCAL))
    wrong = end[timed] - start[timed] - instance.op_fixed_ticks[timed]
    bad = np.flatnonzero(wrong)
    findings.append(
        _finding(instance, "FX002", timed[bad], start[timed[bad]], wrong[bad], "takes another time than given")
    )
    lack = end.max(initial=0) - run.iteration_time_ticks
    if lack:
        last = np.array([int(end.argmax())])
        findings.append(
            _finding(instance, "FX014", last, end[last], np.array([lack]), "is not the end of the iteration")
        )
    return findings


def _check_speed(instance: Instance, run: FluidRun) -> list[Finding]:
    """No leg takes less than it needs over all its planes at once."""
    derived = derive(instance)
    if instance.n_legs == 0:
        return []
    seconds = np.float64(10**9 // instance.tick_ns)
    counts = np.diff(derived.leg_plane_indptr)
    sums = np.concatenate([[0], np.cumsum(instance.plane_rate_bps[derived.leg_planes])])
    rate = (sums[derived.leg_plane_indptr[1:]] - sums[derived.leg_plane_indptr[:-1]]).astype(np.float64)
    op = derived.leg_op
    fixed = instance.op_fixed_ticks[op] >= 0
    # Floats with a margin: this is the coarse check, the exact one reads the pieces.
    need = np.where(
        fixed,
        instance.op_fixed_ticks[op] / np.maximum(counts, 1),
        instance.op_bytes[op] * 8.0 * seconds / np.maximum(rate, 1),
    )
    took = run.op_end_ticks[op] - run.op_start_ticks[op]
    bad = np.flatnonzero(took + 1 < need * (1 - 1e-9))
    lack = np.ceil(need[bad] - took[bad]).astype(np.int64)
    return [
        _finding(instance, "FX018", op[bad], run.op_start_ticks[op[bad]], lack, "is sent faster than its planes can")
    ]


def _check_amounts(instance: Instance, run: FluidRun, trace: FluidTrace) -> list[Finding]:
    """Pieces are no larger than their time allows, add up to their leg, and lie within their op."""
    op = derive(instance).leg_op
    per_second = 10**9 // instance.tick_ns
    unit = math.gcd(per_second, *(int(rate) for rate in instance.plane_rate_bps))
    fixed = instance.op_fixed_ticks[op] >= 0
    asked = np.where(fixed, instance.op_fixed_ticks[op], instance.op_bytes[op] * (8 * (per_second // unit)))
    leg, plane = trace.piece_leg, trace.piece_plane
    speed = np.where(fixed[leg], 1, instance.plane_rate_bps[plane] // unit)
    excess = trace.piece_amount - speed * (trace.piece_to_ticks - trace.piece_from_ticks)
    fast = np.flatnonzero(excess > 0)
    findings = [
        _finding(instance, "FX018", op[leg[fast]], trace.piece_from_ticks[fast], excess[fast], "sends more than fits")
    ]
    got = np.zeros(instance.n_legs, dtype=np.int64)
    np.add.at(got, leg, trace.piece_amount)
    wrong = np.flatnonzero(got != asked)
    findings.append(
        _finding(
            instance, "FX018", op[wrong], run.op_end_ticks[op[wrong]], (asked - got)[wrong], "sends another amount"
        )
    )
    latency = np.where(fixed[leg], 0, instance.plane_latency_ticks[plane])
    late = trace.piece_to_ticks + latency - run.op_end_ticks[op[leg]]
    early = run.op_start_ticks[op[leg]] - trace.piece_from_ticks
    outside = np.flatnonzero((late > 0) | (early > 0))
    amount = np.maximum(late, early)[outside]
    findings.append(
        _finding(instance, "FX002", op[leg[outside]], trace.piece_from_ticks[outside], amount, "sends outside its time")
    )
    return findings


def _check_pieces(instance: Instance, trace: FluidTrace, max_listed: int) -> ValidationReport:
    """Check pieces and circuits as a schedule of their own."""
    k = len(trace.piece_leg)
    leg = trace.piece_leg
    order = np.zeros(0, dtype=np.int64)
    pieces = replace(
        instance,
        op_kind=np.full(k, TRANSFER),
        op_device=np.full(k, -1),
        op_bytes=np.zeros(k),
        op_fixed_ticks=trace.piece_to_ticks - trace.piece_from_ticks,
        pred_indptr=np.zeros(k + 1),
        pred_index=order,
        device_indptr=np.zeros(1),
        device_ops=order,
        leg_indptr=np.arange(k + 1),
        leg_tx=instance.leg_tx[leg],
        leg_rx=instance.leg_rx[leg],
        boundary=PRESET if instance.boundary == CYCLIC else instance.boundary,
        nic_buffer_bytes=0,
        names=replace(instance.names, ops=(), labels=None),
    )
    schedule = Schedule(
        pieces.sha256,
        trace.piece_from_ticks,
        trace.piece_plane,
        trace.circuit_plane,
        trace.circuit_tx,
        trace.circuit_rx,
        trace.circuit_up_from_ticks,
        trace.circuit_up_to_ticks,
        int(trace.piece_to_ticks.max(initial=0)),
    )
    return check(pieces, schedule, max_listed=max_listed)
