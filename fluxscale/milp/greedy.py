"""A first schedule for small instances: the exact solvers need an upper bound even where nobody gave them one."""

from __future__ import annotations

import numpy as np

from fluxscale.instance.derived import Derived, derive
from fluxscale.instance.instance import DARK, Instance
from fluxscale.milp.conflicts import Conflicts
from fluxscale.milp.extract import Exact, squeeze
from fluxscale.milp.leg_pairs import uses_epochs


def serial_horizon(instance: Instance, conflicts: Conflicts) -> int:
    """Upper bound for any boundary: run one op at a time, with a set-up before each."""
    longest = int(derive(instance).op_ticks.max(axis=1).sum()) if instance.n_ops else 0
    delay = int(instance.plane_delay_ticks.max(initial=0))
    return longest + (instance.n_transfers + 2) * delay


def greedy(instance: Instance, conflicts: Conflicts) -> Exact | None:
    """Place one op after another, always the one that can start first, each leg on its soonest plane.

    Ties go to the longest tail. None where a gang's legs could not be placed together that way.
    """
    derived, closure = derive(instance), conflicts.closure
    n = instance.n_ops
    waits = np.bincount(closure.dst, minlength=n)
    after: list[list[int]] = [[] for _ in range(n)]
    for src, dst in zip(closure.src.tolist(), closure.dst.tolist(), strict=True):
        after[src].append(dst)
    ports = _Ports(instance)
    ready_at, start = [0] * n, np.zeros(n, dtype=np.int64)
    leg_plane = np.zeros(instance.n_legs, dtype=np.int16)
    ready = [op for op in range(n) if waits[op] == 0]
    tails = conflicts.tails.tolist()
    while ready:
        choice: tuple[int, int, int] | None = None
        planes: list[int] = []
        for op in ready:
            legs = range(int(instance.leg_indptr[op]), int(instance.leg_indptr[op + 1]))
            placed = ports.place(legs, ready_at[op], derived)
            if placed is None:
                return None
            key = (placed[0], -tails[op], op)
            if choice is None or key < choice:
                choice, planes = key, placed[1]
        assert choice is not None
        at, _, op = choice
        ready.remove(op)
        low = int(instance.leg_indptr[op])
        leg_plane[low : low + len(planes)] = planes
        start[op] = at
        classes = derived.plane_class[planes] if planes else np.zeros(1, dtype=np.int64)
        end = at + int(derived.op_ticks[op, classes].max())
        ports.book(range(low, low + len(planes)), planes, at, end)
        for dst in after[op]:
            ready_at[dst] = max(ready_at[dst], end)
            waits[dst] -= 1
            if waits[dst] == 0:
                ready.append(dst)
    return squeeze(instance, conflicts, start, leg_plane)


class _Ports:
    """What every port (per-port planes) or plane (all-stop) holds while legs are added at its end."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.delay = instance.plane_delay_ticks.tolist()
        self.epochs = uses_epochs(instance).tolist()
        dark = instance.boundary == DARK
        # Free from the start: as if the last circuit had ended one delay before time 0 (at time 0 where it is dark).
        self.gone = [0 if dark else -delay for delay in self.delay]
        self.held: dict[tuple[int, int], tuple[int, int]] = {}
        self.before: dict[tuple[int, int], int] = {}
        self.end: dict[tuple[int, int], int] = {}
        self.lane_end: dict[tuple[int, int], int] = {}
        self.opened = [gone + delay for gone, delay in zip(self.gone, self.delay, strict=True)]
        self.plane_end = list(self.gone)

    def keys(self, leg: int, plane: int) -> tuple[tuple[int, int], list[tuple[int, int]], tuple[int, int]]:
        """Circuit, its two ports and the lane that serialises its direction."""
        tx, rx = int(self.instance.leg_tx[leg]), int(self.instance.leg_rx[leg])
        if self.instance.plane_duplex[plane]:
            return (min(tx, rx), max(tx, rx)), [(plane, 2 * tx), (plane, 2 * rx)], (plane, 2 * tx)
        return (tx, rx), [(plane, 2 * tx), (plane, 2 * rx + 1)], (plane, 2 * tx)

    def soonest(self, leg: int, plane: int) -> int:
        """Earliest start of a leg behind everything that its ports have carried."""
        circuit, ports, lane = self.keys(leg, plane)
        at = 0
        for port in ports:
            holds = self.held.get(port)
            if holds == circuit:
                at = max(at, self.before.get(port, self.gone[plane]) + self.delay[plane], self.lane_end.get(lane, 0))
            elif self.epochs[plane] and holds is not None:
                at = max(at, self.plane_end[plane] + self.delay[plane])
            else:
                at = max(at, self.end.get(port, self.gone[plane]) + self.delay[plane])
        return max(at, self.opened[plane]) if self.epochs[plane] else at

    def place(self, legs: range, ready_at: int, derived: Derived) -> tuple[int, list[int]] | None:
        """Earliest common start of an op's legs and their planes, or None where they exclude each other."""
        at, planes, taken = ready_at, [], set()
        for leg in legs:
            best: tuple[int, int] | None = None
            for plane in derived.leg_planes[derived.leg_plane_indptr[leg] : derived.leg_plane_indptr[leg + 1]].tolist():
                circuit, ports, lane = self.keys(leg, plane)
                crossed = any(("port", port) in taken for port in ports) and ("circuit", plane, circuit) not in taken
                if crossed or ("lane", lane) in taken:
                    continue
                found = (self.soonest(leg, plane), plane)
                best = found if best is None or found < best else best
            if best is None:
                return None
            circuit, ports, lane = self.keys(leg, best[1])
            taken |= {*(("port", port) for port in ports), ("circuit", best[1], circuit), ("lane", lane)}
            at, planes = max(at, best[0]), [*planes, best[1]]
        return at, planes

    def book(self, legs: range, planes: list[int], start: int, end: int) -> None:
        """Add an op's legs behind what is there."""
        for plane in {plane for plane in planes if self.epochs[plane]}:
            circuits = [(self.keys(leg, p)) for leg, p in zip(legs, planes, strict=True) if p == plane]
            if any(self.held.get(port, circuit) != circuit for circuit, ports, _ in circuits for port in ports):
                self.held = {port: held for port, held in self.held.items() if port[0] != plane}
                self.opened[plane] = start
            self.plane_end[plane] = max(self.plane_end[plane], end)
        for leg, plane in zip(legs, planes, strict=True):
            circuit, ports, lane = self.keys(leg, plane)
            for port in ports:
                if self.held.get(port, circuit) != circuit:
                    self.before[port] = self.end.get(port, self.gone[plane])
                self.held[port] = circuit
                self.end[port] = max(self.end.get(port, self.gone[plane]), end)
            self.lane_end[lane] = max(self.lane_end.get(lane, 0), end)
