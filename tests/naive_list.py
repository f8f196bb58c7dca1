"""Plain-Python twins of the list-scheduling kernels: dictionaries and heapq, no numba, no shared code."""

from __future__ import annotations

import heapq
import itertools

from fluxscale.instance.instance import DARK


class NaivePorts:
    """Ports by name: (plane, endpoint, side) -> free time, circuit, epoch."""

    def __init__(self, instance):
        self.instance = instance
        self.lane_free = {}
        self.circuit = {}
        self.up = {}
        self.epoch_of = {}
        planes = range(instance.n_planes)
        self.epoch = dict.fromkeys(planes, 0)
        self.busy = dict.fromkeys(planes, 0)
        self.opened = {p: int(instance.plane_delay_ticks[p]) if instance.boundary == DARK else 0 for p in planes}

    def ends(self, leg, plane):
        tx, rx = int(self.instance.leg_tx[leg]), int(self.instance.leg_rx[leg])
        if self.instance.plane_duplex[plane]:
            return [(plane, tx, "both"), (plane, rx, "both")], (plane, min(tx, rx), max(tx, rx))
        return [(plane, tx, "tx"), (plane, rx, "rx")], (plane, tx, rx)

    def lanes(self, leg, plane):
        return (plane, int(self.instance.leg_tx[leg]), 0), (plane, int(self.instance.leg_rx[leg]), 1)

    def free(self, port):
        plane, endpoint, side = port
        sides = {"tx": [0], "rx": [1], "both": [0, 1]}[side]
        return max(self.lane_free.get((plane, endpoint, s), 0) for s in sides)

    def fits_epoch(self, leg, plane):
        ports, circuit = self.ends(leg, plane)
        return all(self.epoch_of.get(p) != self.epoch[plane] or self.circuit[p] == circuit for p in ports)

    def earliest(self, leg, plane, ready):
        ports, circuit = self.ends(leg, plane)
        delay = int(self.instance.plane_delay_ticks[plane])
        lanes_free = [self.lane_free.get(lane, 0) for lane in self.lanes(leg, plane)]
        if self.instance.plane_all_stop[plane] and delay > 0:
            if self.fits_epoch(leg, plane):
                return max(ready, self.opened[plane], *lanes_free)
            return max(ready, self.busy[plane] + delay)
        if all(self.circuit.get(p) == circuit for p in ports):
            return max(ready, self.up[ports[0]], *lanes_free)
        time = max(ready, delay) if self.instance.boundary == DARK else ready
        for port in ports:
            held = self.circuit.get(port)
            time = max(time, self.free(port) + (delay if held not in (None, circuit) else 0))
        return time

    def commit(self, legs, planes, end):
        for leg, plane in zip(legs, planes, strict=True):
            if (
                self.instance.plane_all_stop[plane]
                and self.instance.plane_delay_ticks[plane] > 0
                and not self.fits_epoch(leg, plane)
            ):
                self.epoch[plane] += 1
                self.opened[plane] = self.busy[plane] + int(self.instance.plane_delay_ticks[plane])
        for leg, plane in zip(legs, planes, strict=True):
            ports, circuit = self.ends(leg, plane)
            if any(self.circuit.get(p) != circuit for p in ports):
                self.up.update(dict.fromkeys(ports, self.earliest(leg, plane, 0)))
            for lane in self.lanes(leg, plane):
                self.lane_free[lane] = end
            for port in ports:
                self.circuit[port] = circuit
                self.epoch_of[port] = self.epoch[plane]
            self.busy[plane] = max(self.busy[plane], end)


def graph(instance):
    """Predecessors (with the device order) and successors of every op, as sets."""
    preds = [set() for _ in range(instance.n_ops)]
    for op in range(instance.n_ops):
        preds[op].update(instance.pred_index[instance.pred_indptr[op] : instance.pred_indptr[op + 1]].tolist())
    for d in range(instance.n_devices):
        chain = instance.device_ops[instance.device_indptr[d] : instance.device_indptr[d + 1]].tolist()
        for before, after in itertools.pairwise(chain):
            preds[after].add(before)
    succs = [set() for _ in range(instance.n_ops)]
    for op, before in enumerate(preds):
        for other in before:
            succs[other].add(op)
    return preds, succs


def duration(instance, op, planes):
    if instance.op_fixed_ticks[op] >= 0:
        return int(instance.op_fixed_ticks[op])
    bits = int(instance.op_bytes[op]) * 8
    ticks = [
        int(instance.plane_latency_ticks[p]) + -((-bits * 10**9) // int(instance.plane_rate_bps[p])) for p in planes
    ]
    return max(ticks)


def place(instance, ports, op, ready, options):
    """Planes and earliest start of one op; ``options[leg]`` lists the planes that the leg may use."""
    legs = range(instance.leg_indptr[op], instance.leg_indptr[op + 1])
    planes, start = [], ready
    for leg in legs:
        times = [(ports.earliest(leg, p, ready), i, p) for i, p in enumerate(options[leg])]
        time, _, plane = min(times)
        planes.append(plane)
        start = max(start, time)
    return legs, planes, start


def naive_list(instance, rank, offset, options):
    """Starts and planes of list scheduling with a lazy heap keyed by (earliest start + offset, rank)."""
    preds, succs = graph(instance)
    waiting = [len(p) for p in preds]
    ports = NaivePorts(instance)
    start, end, plane_of = {}, {}, {}
    heap = []

    def ready_time(op):
        return max((end[p] for p in preds[op]), default=0)

    def wake(op):
        todo = [op]
        while todo:
            op = todo.pop()
            if instance.leg_indptr[op] < instance.leg_indptr[op + 1]:
                key = place(instance, ports, op, ready_time(op), options)[2] + offset[op]
                heapq.heappush(heap, (key, rank[op], op))
                continue
            start[op] = ready_time(op)
            end[op] = start[op] + duration(instance, op, [])
            todo.extend(_free(op))

    def _free(op):
        freed = []
        for other in succs[op]:
            waiting[other] -= 1
            if waiting[other] == 0:
                freed.append(other)
        return freed

    for op in range(instance.n_ops):
        if not preds[op]:
            wake(op)
    while heap:
        key, order, op = heapq.heappop(heap)
        legs, planes, time = place(instance, ports, op, ready_time(op), options)
        if time + offset[op] > key:
            heapq.heappush(heap, (time + offset[op], order, op))
            continue
        start[op] = time
        end[op] = time + duration(instance, op, planes)
        ports.commit(legs, planes, end[op])
        plane_of.update(zip(legs, planes, strict=True))
        for other in _free(op):
            wake(other)
    return start, end, plane_of


def naive_decode(instance, order, options):
    """Starts of the earliest schedule that keeps a given topological order of all ops."""
    preds, _ = graph(instance)
    ports = NaivePorts(instance)
    start, end = {}, {}
    for op in order:
        ready = max((end[p] for p in preds[op]), default=0)
        legs, planes, start[op] = place(instance, ports, op, ready, options)
        end[op] = start[op] + duration(instance, op, planes)
        ports.commit(legs, planes, end[op])
    return start, end
