"""Plain-Python twins of the on-demand kernels: dictionaries and heapq, no numba, no shared code."""

from __future__ import annotations

import heapq

from fluxscale.instance.instance import DARK
from tests.naive_list import NaivePorts, duration, graph, place


class RequestPorts:
    """Circuits by name under "set when asked for": when ports are free, what they hold, when planes change."""

    def __init__(self, instance, held=()):
        self.instance = instance
        self.free = {}  # lane -> time
        self.circuit = dict(held)  # port -> circuit
        self.up = {}  # port -> time from which its circuit is up
        self.silent_from = {}  # plane -> end of its last transfer
        self.changes = {}  # plane -> (begin of the last change, ports that belong to it)

    def stops(self, plane):
        return self.instance.plane_all_stop[plane] and self.instance.plane_delay_ticks[plane] > 0

    def names(self, leg, plane):
        """Circuit, its two ports, its two lanes, and all lanes of its ports."""
        tx, rx = int(self.instance.leg_tx[leg]), int(self.instance.leg_rx[leg])
        lanes = [(plane, tx, "out"), (plane, rx, "in")]
        if self.instance.plane_duplex[plane]:
            ports = [(plane, tx), (plane, rx)]
            return (plane, frozenset((tx, rx))), ports, lanes, [(*port, way) for port in ports for way in ("out", "in")]
        return (plane, tx, rx), lanes, lanes, lanes

    def in_place(self, leg, plane):
        circuit, ports, _, _ = self.names(leg, plane)
        held = [self.circuit.get(port) for port in ports]
        return held == [circuit, circuit] or (held == [None, None] and self.instance.boundary != DARK)

    def opening(self, plane):
        change = self.changes.get(plane)
        return 0 if change is None else change[0] + int(self.instance.plane_delay_ticks[plane])

    def joins(self, leg, plane, ready):
        if plane not in self.changes or ready > self.changes[plane][0]:
            return False
        return not self.changes[plane][1] & set(self.names(leg, plane)[1])

    def earliest(self, leg, plane, ready):
        _, ports, lanes, all_lanes = self.names(leg, plane)
        delay = int(self.instance.plane_delay_ticks[plane])
        if self.in_place(leg, plane):
            ups = [self.up.get(port, 0) for port in ports]
            return max(ready, self.opening(plane), *ups, *(self.free.get(lane, 0) for lane in lanes))
        if self.stops(plane):
            if self.joins(leg, plane, ready):
                return self.opening(plane)
            return max(ready, self.silent_from.get(plane, 0)) + delay
        return max(ready, *(self.free.get(lane, 0) for lane in all_lanes)) + delay

    def commit(self, legs, planes, ready, end):
        for leg, plane in zip(legs, planes, strict=True):
            circuit, ports, _, _ = self.names(leg, plane)
            if all(self.circuit.get(port) == circuit for port in ports):
                continue
            up = self.earliest(leg, plane, ready)
            if self.stops(plane) and not self.in_place(leg, plane) and not self.joins(leg, plane, ready):
                self.changes[plane] = (max(ready, self.silent_from.get(plane, 0)), set())
            for port in ports:
                self.up[port] = up
                self.circuit[port] = circuit
                if plane in self.changes:
                    self.changes[plane][1].add(port)
        for leg, plane in zip(legs, planes, strict=True):
            _, ports, lanes, _ = self.names(leg, plane)
            self.free.update(dict.fromkeys(lanes, end))
            if self.stops(plane):
                self.silent_from[plane] = max(self.silent_from.get(plane, 0), end)
                if plane in self.changes:
                    self.changes[plane][1].update(ports)


class Released:
    """The graph while it runs: which transfers are released when, with everything between them done at once."""

    def __init__(self, instance):
        self.instance = instance
        self.preds, self.succs = graph(instance)
        self.start, self.end = {}, {}

    def ready(self, op):
        return max((self.end[p] for p in self.preds[op]), default=0)

    def first(self):
        return self._run([op for op in range(self.instance.n_ops) if not self.preds[op]])

    def ended(self, op, start, end):
        """Note an op's times; returns the transfers that are released by it, with their times."""
        self.start[op], self.end[op] = start, end
        return self._run([s for s in self.succs[op] if self.preds[s] <= self.end.keys()])

    def _run(self, ops):
        released = []
        for op in ops:
            if self.instance.leg_indptr[op] < self.instance.leg_indptr[op + 1]:
                released.append((self.ready(op), op))
            else:
                released += self.ended(op, self.ready(op), self.ready(op) + duration(self.instance, op, []))
        return released


def naive_on_demand(instance, options, *, ahead=False, held=()):
    """Starts, planes and the circuits left on the ports; ``options[leg]`` lists the planes that the leg may use."""
    ports = NaivePorts(instance) if ahead else RequestPorts(instance, held)
    graph_run = Released(instance)
    plane_of = {}
    queue = graph_run.first()
    heapq.heapify(queue)
    while queue:
        ready, op = heapq.heappop(queue)
        legs, planes, start = place(instance, ports, op, ready, options)
        end = start + duration(instance, op, planes)
        if ahead:
            ports.commit(legs, planes, end)
        else:
            ports.commit(legs, planes, ready, end)
        plane_of.update(zip(legs, planes, strict=True))
        for item in graph_run.ended(op, start, end):
            heapq.heappush(queue, item)
    return graph_run.start, plane_of, ports.circuit
