"""The all-stop part of the disjunctive formulation: epochs, and how they meet the cyclic boundary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fluxscale.milp.arrays import Literals
from fluxscale.milp.leg_pairs import SERIAL, SWITCH

if TYPE_CHECKING:
    from fluxscale.milp.disjunctive import Disjunctive
    from fluxscale.milp.extract import Decision

Array = npt.NDArray[Any]


class Epochs:
    """Variables ``u`` (two ops share an epoch of a plane) and the rows of all-stop planes."""

    def __init__(self, form: Disjunctive) -> None:
        self.form, conflicts, b = form, form.conflicts, form.b
        self.row = row = np.flatnonzero(conflicts.epoch)
        planes = max(1, form.instance.n_planes)
        keys, at = np.unique(conflicts.pair[row] * planes + conflicts.plane[row], return_inverse=True)
        self.u = b.binaries(len(keys))[at]
        """Column of ``u`` for each all-stop row."""
        kind, plane, pair = conflicts.kind[row], conflicts.plane[row], conflicts.pair[row]
        both = form.on_plane(row)
        shared, apart = (
            Literals(self.u, np.ones(len(row), dtype=bool)),
            Literals(self.u, np.zeros(len(row), dtype=bool)),
        )
        one = np.ones(len(row))
        b.at_least_if([(self.u, -1.0)], 0.0 * one, one, both, kind == SWITCH)
        o_first, o_second = form.o[plane, conflicts.first[pair]], form.o[plane, conflicts.second[pair]]
        for low, high, late in (
            (o_first, o_second, conflicts.second[pair]),
            (o_second, o_first, conflicts.first[pair]),
        ):
            room = (form.upper - form.tail)[late]
            b.at_least_if([(low, 1.0), (high, -1.0)], 0.0 * one, room, [*both, shared], kind != SWITCH)
        delay = form.instance.plane_delay_ticks[plane] / form.scale
        form.wait(row, delay, [*both, apart], openings=True)
        serial = kind == SERIAL
        picked = [Literals(c.column[serial], c.positive[serial]) for c in (*both, shared)]
        form.wait(row[serial], np.zeros(int(serial.sum())), picked, openings=False)

    def wrap(self, plane: int) -> None:
        """Cyclic boundary: the plane is dark between iterations where its first and last epoch differ on a port."""
        form, b, conflicts = self.form, self.form.b, self.form.conflicts
        here = np.flatnonzero(conflicts.plane[self.row] == plane)
        row, u = self.row[here], self.u[here]
        legs = np.flatnonzero(form.choice_plane == plane)
        leg = form.choice_leg[legs]
        op = form.derived.leg_op[leg].astype(np.int64)
        opens = b.variables(np.zeros(1), np.array([form.upper]))
        closes = b.variables(np.zeros(1), np.array([form.upper]))
        changes = b.binaries(1)
        delay = np.array([form.instance.plane_delay_ticks[plane] / form.scale])
        changed = Literals(changes, np.array([True]))
        b.at_least_if(
            [(opens, 1.0), (form.period, 1.0), (closes, -1.0)], delay, form.upper + delay, [changed], np.array([True])
        )
        on, every = Literals(form.y[plane, leg], np.ones(len(leg), dtype=bool)), np.ones(len(leg), dtype=bool)
        b.at_least_if(
            [(form.s[op], 1.0), (np.repeat(opens, len(op)), -1.0)],
            np.zeros(len(op)),
            np.full(len(op), form.upper),
            [on],
            every,
        )
        b.at_least_if(
            [(np.repeat(closes, len(op)), 1.0), (form.e[op], -1.0)], form.e_offset[op], form.latest_end[op], [on], every
        )

        ops = np.unique(op)
        place = np.full(form.instance.n_ops, -1, dtype=np.int64)
        place[ops] = np.arange(len(ops))
        first, last = b.binaries(len(ops)), b.binaries(len(ops))
        n_rows = len(row)
        i, j = conflicts.first[conflicts.pair[row]], conflicts.second[conflicts.pair[row]]
        ahead, behind = b.binaries(n_rows), b.binaries(n_rows)
        x, order, yes = form.x[conflicts.pair[row]], conflicts.order[conflicts.pair[row]], np.ones(n_rows, dtype=bool)
        both = form.on_plane(row)
        for mark, forward in ((ahead, True), (behind, False)):
            # mark <= 1 - u, mark <= the order's literal, mark <= each leg's plane.
            b.at_least([(mark, -1.0), (u, -1.0)], -1.0, n_rows)
            b.at_least_if(
                [(mark, -1.0)], np.zeros(n_rows), np.ones(n_rows), [Literals(x, ~yes if forward else yes)], (order == 0)
            )
            impossible = np.flatnonzero(order == (-1 if forward else 1))
            b.at_least([(mark[impossible], -1.0)], 0.0, len(impossible))
            for literal in both:
                used = literal.column >= 0
                b.at_least_if([(mark, -1.0)], np.zeros(n_rows), np.ones(n_rows), [Literals(literal.column, ~yes)], used)
        self._cover(first, np.concatenate([place[j], place[i]]), np.concatenate([ahead, behind]))
        self._cover(last, np.concatenate([place[i], place[j]]), np.concatenate([ahead, behind]))
        clash = np.flatnonzero(conflicts.kind[row] == SWITCH)
        conditions = [Literals(c.column[clash], c.positive[clash]) for c in both]
        for a, z in ((i, j), (j, i)):
            marks = [Literals(first[place[a[clash]]], yes[clash]), Literals(last[place[z[clash]]], yes[clash])]
            ones = np.ones(len(clash))
            b.at_least_if([(np.repeat(changes, len(clash)), 1.0)], ones, ones, [*conditions, *marks], yes[clash])

    def _cover(self, own: Array, at: Array, marks: Array) -> None:
        """Rows "own + sum of the marks at its place >= 1", one for each op."""
        b = self.form.b
        by_place = np.argsort(at, kind="stable")
        count = np.bincount(at, minlength=len(own))
        table = np.full((len(own), int(count.max(initial=0))), -1, dtype=np.int64)
        within = np.arange(len(at)) - np.repeat(np.cumsum(count) - count, count)
        table[at[by_place], within] = marks[by_place]
        b.at_least([(own, 1.0), *((table[:, k], 1.0) for k in range(table.shape[1]))], 1.0, len(own))

    def together(self, values: Array) -> Array:
        """Which conflict rows share an epoch, bool ``[M]``."""
        shared = np.zeros(len(self.form.conflicts.pair), dtype=bool)
        shared[self.row] = values[self.u] > 0.5
        return shared

    def hint(self, values: Array, decision: Decision) -> None:
        """Fill in the values of ``u`` for a known decision."""
        values[self.u] = 0.0
        values[self.u[decision.together[self.row]]] = 1.0
