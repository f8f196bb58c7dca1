"""The native CP-SAT model: intervals on port lanes, one literal for each free order, set-ups as conditional gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fluxscale.instance.derived import derive
from fluxscale.instance.instance import CYCLIC, DARK, Instance
from fluxscale.milp.conflicts import wraps
from fluxscale.milp.extract import Exact, decide
from fluxscale.milp.leg_pairs import SERIAL, SWITCH, uses_epochs

if TYPE_CHECKING:
    from fluxscale_solvers.exact.common import Prepared


class CpSatModel:
    """Variables and constraints of one instance; times are in ``prepared.unit``.

    For each op a start ``s`` in its window [head, upper - tail]; for each leg with a choice a literal per plane; for
    each pair of ops whose order is free a literal ``x`` ("first goes first"). A row (pair of legs on a plane) makes
    the later op wait for the end of the earlier one plus the row's gap, on condition of ``x`` and of both legs being
    on that plane. Redundantly, the legs of a lane (sender or receiver side of a port) are intervals that do not
    overlap: this is what CP-SAT propagates best. On all-stop planes every op has an opening ``o <= s``: two ops share
    an epoch (equal openings) or the later one's opening waits.
    """

    def __init__(self, instance: Instance, prepared: Prepared) -> None:
        from ortools.sat.python import cp_model

        self.instance, self.prepared, self.conflicts = instance, prepared, prepared.conflicts
        self.unit = prepared.unit
        self.upper = prepared.upper // self.unit
        self.model = cp_model.CpModel()
        self.true = self.model.new_constant(1)
        self.opening: dict[tuple[int, int], Any] = {}
        self.same: dict[tuple[int, int], Any] = {}
        self.hints: list[tuple[Any, int]] = []
        self._ops()
        self._gangs_and_lanes()
        self._orders()
        if instance.boundary == CYCLIC:
            self._wrap()
        self.model.minimize(self.period)
        if prepared.start is not None:
            self._hint(prepared.start)

    def _ops(self) -> None:
        model, instance, derived, unit = self.model, self.instance, derive(self.instance), self.unit
        heads, tails = (self.conflicts.heads // unit).tolist(), (self.conflicts.tails // unit).tolist()
        self.period = model.new_int_var(-(-self.prepared.lower // unit), self.upper, "period")
        low, high = derived.op_ticks.min(axis=1) // unit, derived.op_ticks.max(axis=1) // unit
        self.start = [
            model.new_int_var(h, self.upper - t, f"s{i}") for i, (h, t) in enumerate(zip(heads, tails, strict=True))
        ]
        self.end: list[Any] = []
        self.varies = (low < high) & (np.diff(instance.leg_indptr) > 0)
        for op, start in enumerate(self.start):
            if not self.varies[op]:
                self.end.append(start + int(low[op]))
            else:
                self.end.append(model.new_int_var(heads[op] + int(low[op]), self.upper, f"e{op}"))
                model.add(self.end[op] >= start + int(low[op]))
            model.add(self.end[op] + int(self.conflicts.behind[op]) // unit <= self.period)
        for src, dst in zip(self.conflicts.closure.src.tolist(), self.conflicts.closure.dst.tolist(), strict=True):
            model.add(self.start[dst] >= self.end[src])
        self.on: list[dict[int, Any]] = []
        for leg in range(instance.n_legs):
            planes = derived.leg_planes[derived.leg_plane_indptr[leg] : derived.leg_plane_indptr[leg + 1]].tolist()
            fixed = int(self.conflicts.fixed_plane[leg])
            if len(planes) == 1 or fixed >= 0:
                self.on.append({fixed if fixed >= 0 else planes[0]: self.true})
            else:
                self.on.append({plane: model.new_bool_var(f"y{leg}_{plane}") for plane in planes})
                model.add_exactly_one(self.on[leg].values())

    def _gangs_and_lanes(self) -> None:
        model, instance, derived = self.model, self.instance, derive(self.instance)
        conflicts, epochs = self.conflicts, uses_epochs(self.instance)
        lanes: dict[tuple[int, int, int], list[Any]] = {}
        for leg, planes in enumerate(self.on):
            op = int(derived.leg_op[leg])
            for plane, literal in planes.items():
                ticks = int(derived.op_ticks[op, derived.plane_class[plane]]) // self.unit
                if self.varies[op]:
                    model.add(self.end[op] >= self.start[op] + ticks).only_enforce_if(literal)
                delay = int(instance.plane_delay_ticks[plane]) // self.unit if instance.boundary == DARK else 0
                entry = self.start[op]
                if epochs[plane]:
                    entry = self.opening.get((op, plane))
                    if entry is None:
                        entry = self.opening[op, plane] = model.new_int_var(0, self.upper, f"o{op}_{plane}")
                        model.add(entry <= self.start[op])
                if delay:
                    model.add(entry >= delay).only_enforce_if(literal)
                interval = model.new_optional_fixed_size_interval_var(self.start[op], ticks, literal, f"i{leg}_{plane}")
                lanes.setdefault((plane, 0, int(instance.leg_tx[leg])), []).append(interval)
                lanes.setdefault((plane, 1, int(instance.leg_rx[leg])), []).append(interval)
        for intervals in lanes.values():
            if len(intervals) > 1:
                model.add_no_overlap(intervals)
        for plane, a, b in zip(
            conflicts.never_plane.tolist(), conflicts.never_a.tolist(), conflicts.never_b.tolist(), strict=True
        ):
            model.add_at_most_one([self.on[a][plane], self.on[b][plane]])

    def _conditions(self, row: int) -> list[Any]:
        conflicts = self.conflicts
        plane = int(conflicts.plane[row])
        both = (self.on[int(conflicts.leg_a[row])][plane], self.on[int(conflicts.leg_b[row])][plane])
        return [literal for literal in both if literal is not self.true]

    def _orders(self) -> None:
        model, conflicts = self.model, self.conflicts
        self.before: list[Any] = []
        for pair, order in enumerate(conflicts.order.tolist()):
            self.before.append(
                model.new_bool_var(f"x{pair}") if order == 0 else (self.true if order > 0 else ~self.true)
            )
        for row in range(len(conflicts.pair)):
            pair, plane, kind = int(conflicts.pair[row]), int(conflicts.plane[row]), int(conflicts.kind[row])
            i, j = int(conflicts.first[pair]), int(conflicts.second[pair])
            when, gap, order = self._conditions(row), int(conflicts.gap[row]) // self.unit, int(conflicts.order[pair])
            target = (self.start[i], self.start[j])
            if conflicts.epoch[row]:
                same = self.same.get((pair, plane))
                if same is None:
                    same = self.same[pair, plane] = model.new_bool_var(f"u{pair}_{plane}")
                target = (self.opening[i, plane], self.opening[j, plane])
                if kind == SWITCH:
                    model.add_bool_and([~same]).only_enforce_if(when) if when else model.add(same == 0)
                else:
                    model.add(target[0] == target[1]).only_enforce_if([*when, same])
                if kind == SERIAL:
                    self._wait(i, j, pair, order, self.start[i], self.start[j], 0, [*when, same])
                    gap = int(self.instance.plane_delay_ticks[plane]) // self.unit
                when = [*when, ~same]
            self._wait(i, j, pair, order, *target, gap, when)

    def _wait(
        self, i: int, j: int, pair: int, order: int, entry_i: Any, entry_j: Any, gap: int, when: list[Any]
    ) -> None:
        before = self.before[pair]
        if order >= 0:
            self.model.add(entry_j >= self.end[i] + gap).only_enforce_if([*when, before] if order == 0 else when)
        if order <= 0:
            self.model.add(entry_i >= self.end[j] + gap).only_enforce_if([*when, ~before] if order == 0 else when)

    def _wrap(self) -> None:
        model, conflicts = self.model, self.conflicts
        for row, early, late in zip(*(column.tolist() for column in wraps(self.instance, conflicts)), strict=True):
            gap = int(conflicts.gap[row]) // self.unit
            model.add(self.start[early] + self.period >= self.end[late] + gap).only_enforce_if(self._conditions(row))
        for plane in np.flatnonzero(uses_epochs(self.instance)).tolist():
            self._wrap_epochs(plane)

    def _wrap_epochs(self, plane: int) -> None:
        """Where circuits of last and first epoch differ on a port, the whole plane changes between iterations."""
        model, conflicts, derived = self.model, self.conflicts, derive(self.instance)
        legs = [leg for leg, planes in enumerate(self.on) if plane in planes]
        opens, closes = model.new_int_var(0, self.upper, ""), model.new_int_var(0, self.upper, "")
        changes = model.new_bool_var("")
        delay = int(self.instance.plane_delay_ticks[plane]) // self.unit
        model.add(opens + self.period >= closes + delay).only_enforce_if(changes)
        ops: dict[int, list[Any]] = {}
        for leg in legs:
            op = int(derived.leg_op[leg])
            model.add(opens <= self.start[op]).only_enforce_if(self.on[leg][plane])
            model.add(closes >= self.end[op]).only_enforce_if(self.on[leg][plane])
            ops.setdefault(op, []).append(self.on[leg][plane])
        earlier: dict[int, list[Any]] = {op: [] for op in ops}
        later: dict[int, list[Any]] = {op: [] for op in ops}
        rows = np.flatnonzero(conflicts.epoch & (conflicts.plane == plane)).tolist()
        for row in rows:
            pair = int(conflicts.pair[row])
            same, before = self.same[pair, plane], self.before[pair]
            for i, j, literal in (
                (int(conflicts.first[pair]), int(conflicts.second[pair]), before),
                (int(conflicts.second[pair]), int(conflicts.first[pair]), ~before),
            ):
                precedes = model.new_bool_var("")
                model.add_bool_and([literal, ~same, *self._conditions(row)]).only_enforce_if(precedes)
                later[i].append(precedes)
                earlier[j].append(precedes)
        first = {op: model.new_bool_var("") for op in ops}
        last = {op: model.new_bool_var("") for op in ops}
        for op in ops:
            model.add_bool_or([first[op], *earlier[op]])
            model.add_bool_or([last[op], *later[op]])
        for row in rows:
            if conflicts.kind[row] == SWITCH:
                i, j = int(conflicts.first[conflicts.pair[row]]), int(conflicts.second[conflicts.pair[row]])
                absent = [~literal for literal in self._conditions(row)]
                model.add_bool_or([changes, ~first[i], ~last[j], *absent])
                model.add_bool_or([changes, ~first[j], ~last[i], *absent])

    def _hint(self, start: Exact) -> None:
        model, conflicts = self.model, self.conflicts
        for variable, ticks in zip(self.start, start.op_start_ticks.tolist(), strict=True):
            model.add_hint(variable, ticks // self.unit)
        decision = decide(self.instance, conflicts, start.op_start_ticks, start.leg_plane)
        for leg, planes in enumerate(self.on):
            for plane, literal in planes.items():
                if literal is not self.true:
                    model.add_hint(literal, int(start.leg_plane[leg] == plane))
        for pair, order in enumerate(conflicts.order.tolist()):
            if order == 0:
                model.add_hint(self.before[pair], int(decision.order[pair] > 0))
        together = {
            (int(p), int(q))
            for p, q in zip(conflicts.pair[decision.together], conflicts.plane[decision.together], strict=True)
        }
        for key, literal in self.same.items():
            model.add_hint(literal, int(key in together))
        model.add_hint(self.period, start.iteration_time_ticks // self.unit)

    def read(self, value: Any) -> tuple[Any, Any]:
        """Starts in ticks (int64 ``[n]``) and planes (int16 ``[L]``) from a function that gives a variable's value."""
        starts = np.array([value(variable) for variable in self.start], dtype=np.int64) * self.unit
        planes = [
            next(p for p, literal in options.items() if literal is self.true or value(literal)) for options in self.on
        ]
        return starts, np.array(planes, dtype=np.int16)
