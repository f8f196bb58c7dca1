"""After the search: shift the plan so that its NIC buffers are small, or fit it to their limit."""

from __future__ import annotations

import time

from fluxscale.instance.instance import Instance
from fluxscale.solving.buffer_limit import fit
from fluxscale.solving.just_in_time import shift
from fluxscale.solving.protocol import Plan, Progress
from fluxscale.solving.search import Search
from fluxscale.solving.status import Termination
from fluxscale.units import format_time

SHIFTED_LEGS = 20_000_000
"""Legs beyond which plans are left as they are: shifting takes about a second for a million."""


def arrange(search: Search, instance: Instance) -> None:
    """Replace the plan of a search by one with small buffers; after Ctrl-C it stays as it was.

    Parameters
    ----------
    search
        With a plan, or without one (then nothing happens).
    instance
        What was searched, with its buffer limit (which solvers do not see).
    """
    given, value = search.plan, search.value_ticks
    if given is None or value is None:
        return
    limited = instance.nic_buffer_bytes > 0
    if not limited and instance.n_legs > SHIFTED_LEGS:
        search.notes.append(f"not shifted just in time: more than {SHIFTED_LEGS:,} circuits")
        return
    what = "fitting the NIC buffers" if limited else "shifting just in time"
    search.progress(Progress(time.monotonic() - search.began, value, search.bound_ticks or None, what))
    try:
        if limited:
            _fit(search, instance, given, value)
        else:
            search.plan = shift(instance, given, value)
    except KeyboardInterrupt:
        search.termination = Termination.INTERRUPTED
        search.notes.append(f"interrupted while {what}")
        if limited:
            search.plan = search.value_ticks = None


def _fit(search: Search, instance: Instance, plan: Plan, value: int) -> None:
    """Fit the plan to the buffer limit, or drop it."""
    found = fit(instance, plan, value)
    search.plan = found.plan
    search.value_ticks = None if found.plan is None else found.iteration_time_ticks
    plane, endpoint = divmod(found.port, instance.n_endpoints)
    where = f"the transmit port of {instance.names.endpoint(endpoint)} on {instance.names.plane(plane)}"
    if found.plan is None:
        if search.termination in (Termination.OPTIMAL, Termination.GAP_REACHED):
            search.termination = Termination.FINISHED
        search.notes.append(
            f"no schedule found within nic_buffer of {instance.nic_buffer_bytes} bytes: {where} still buffers "
            f"{found.peak_bytes} bytes at best; a larger limit may do"
        )
    elif found.iteration_time_ticks > value:
        longer = (found.iteration_time_ticks - value) * instance.tick_ns
        search.notes.append(f"the NIC buffer limit makes the iteration {format_time(longer)} longer than without it")
