"""Plain-Python twin of the Sunflow kernel: at every instant all waiting transfers are looked at, oldest first."""

from __future__ import annotations

from tests.naive_list import duration
from tests.naive_on_demand import Released, RequestPorts


def naive_sunflow(instance, options, *, held=()):
    """Starts, planes and the circuits left on the ports; ``options[leg]`` lists the planes that the leg may use."""
    ports = RequestPorts(instance, held)
    run = Released(instance)
    coming, waiting, ends, plane_of = run.first(), [], [], {}
    while coming or ends:
        now = min([time for time, _ in coming] + ends)
        ends = [end for end in ends if end > now]
        waiting += sorted(op for time, op in coming if time == now)
        coming = [item for item in coming if item[0] > now]
        for op in list(waiting):
            legs = range(instance.leg_indptr[op], instance.leg_indptr[op + 1])
            chosen = [_choose(instance, ports, leg, now, options[leg]) for leg in legs]
            if None in chosen:
                continue
            start = max(time for time, _ in chosen)
            planes = [plane for _, plane in chosen]
            end = start + duration(instance, op, planes)
            ports.commit(legs, planes, now, end)
            waiting.remove(op)
            ends.append(end)
            plane_of.update(zip(legs, planes, strict=True))
            coming += run.ended(op, start, end)
    assert not waiting
    return run.start, plane_of, ports.circuit


def _choose(instance, ports, leg, now, planes):
    """Earliest start of a leg and its plane, among those where it can start, or begin to be set, now."""
    found = []
    for i, plane in enumerate(planes):
        _, _, lanes, all_lanes = ports.names(leg, plane)
        if any(ports.free.get(lane, 0) > now for lane in lanes):
            continue
        if not ports.in_place(leg, plane):
            if ports.stops(plane):
                if ports.silent_from.get(plane, 0) > now and not ports.joins(leg, plane, now):
                    continue
            elif any(ports.free.get(lane, 0) > now for lane in all_lanes):
                continue
        found.append((ports.earliest(leg, plane, now), i, plane))
    if not found:
        return None
    time, _, plane = min(found)
    return time, plane
