"""What ``replay`` says, as JSON and for people."""

from __future__ import annotations

from typing import Any

from fluxscale.instance.instance import Instance
from fluxscale.report.text import rows
from fluxscale.schedule.schedule import Schedule
from fluxscale.simulate.buffers import Buffers
from fluxscale.simulate.replay import Replay
from fluxscale.units import format_size, format_time


def replay_document(
    instance: Instance, schedule: Schedule, played: Replay, peaks: Buffers, *, jitter: float, seed: int
) -> dict[str, Any]:
    """Build the JSON document of ``replay --json``; times are in ns.

    Parameters
    ----------
    instance, schedule
        What was executed.
    played, peaks
        What happened.
    jitter, seed
        As used.
    """
    tick = instance.tick_ns
    names = instance.names
    dark = {names.plane(p): int(played.plane_dark_ticks[p]) * tick for p in range(instance.n_planes)}
    return {
        "format": "fluxscale-replay",
        "version": 1,
        "instance_sha256": instance.sha256,
        "schedule_sha256": schedule.sha256,
        "jitter": jitter,
        "seed": seed,
        "planned_iteration_time_ns": schedule.iteration_time_ticks * tick,
        "iteration_time_ns": played.iteration_time_ticks * tick,
        "stretch": played.stretch,
        "late_ops": played.late_ops,
        "ops": instance.n_ops,
        "max_lateness_ns": played.max_lateness_ticks * tick,
        "dark_time_ns": dark,
        "peak_nic_buffer_bytes": {"eager": int(peaks.eager_bytes), "paced": int(peaks.paced_bytes)},
    }


def replay_text(facts: dict[str, Any]) -> str:
    """Write that document for people.

    Parameters
    ----------
    facts
        Of :func:`replay_document`.
    """
    buffers, dark = facts["peak_nic_buffer_bytes"], facts["dark_time_ns"]
    return rows(
        [
            ("jitter", f"{100 * facts['jitter']:g} %, seed {facts['seed']}" if facts["jitter"] else "none"),
            ("planned", _time(facts["planned_iteration_time_ns"])),
            (
                "iteration time",
                f"{_time(facts['iteration_time_ns'])}, {100 * (facts['stretch'] - 1):+.2f} % over planned",
            ),
            (
                "late ops",
                f"{facts['late_ops']:,} of {facts['ops']:,}, by at most {format_time(facts['max_lateness_ns'])}",
            ),
            (
                "dark time",
                f"{format_time(sum(dark.values()))} over all circuits of {len(dark)} plane{'s' * (len(dark) != 1)}",
            ),
            (
                "peak NIC buffer",
                f"{format_size(buffers['eager'])} eager, {format_size(buffers['paced'])} paced (largest of any port)",
            ),
        ]
    )


def _time(ns: int) -> str:
    return f"{format_time(ns)} ({ns:,} ns)"
