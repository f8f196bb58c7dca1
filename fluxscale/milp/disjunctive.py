r"""The disjunctive big-M formulation, an extension of the one in the Flux paper.

Sets and data
    ops :math:`i` with least durations :math:`d_i`; legs :math:`a` of ops with the planes :math:`P_a` they may use; rows
    :math:`(i, j, a, b, p)`: legs :math:`a` of :math:`i` and :math:`b` of :math:`j` that constrain each other on plane
    :math:`p` with gap :math:`g` (:math:`\delta_p` between different circuits, 0 on one circuit and direction); heads
    :math:`h_i`, tails :math:`t_i` (own duration included), an upper bound :math:`U` and a lower bound :math:`L` on the
    iteration time.

Variables
    :math:`T \in [L, U]` iteration time; :math:`s_i \in [h_i, U - t_i]` starts; :math:`e_i` ends (a variable only where
    the duration depends on the plane, else :math:`s_i + d_i`); :math:`y_{ap} \in \{0, 1\}` leg on plane (only where
    there is a choice); :math:`x_{ij} \in \{0, 1\}`, 1 where :math:`i` goes first (only where the order is free); on
    all-stop planes openings :math:`0 \le o_{ip} \le s_i` of the epoch in which an op runs and :math:`u_{ijp} \in \{0,
    1\}`, 1 where two ops share an epoch.

Minimise :math:`T` subject to

.. math::

    T &\ge s_i + t_i, \quad T \ge e_i \\
    s_j &\ge e_i && i \text{ before } j \text{ by precedence or on a device} \\
    \sum_{p \in P_a} y_{ap} &= 1, \qquad e_i \ge s_i + d_{ip} - M (1 - y_{ap}) \\
    s_j &\ge e_i + g - M (1 - x_{ij}) - M (1 - y_{ap}) - M (1 - y_{bp}) && \text{per-port rows} \\
    s_i &\ge e_j + g - M x_{ij} - M (1 - y_{ap}) - M (1 - y_{bp}) && \text{the same rows, other order} \\
    s_i &\ge \delta_p - \delta_p (1 - y_{ap}) && \text{dark boundary (all-stop planes: } o_{ip} \text{)} \\
    y_{ap} + y_{bp} &\le 1 && \text{legs of one gang that exclude each other on } p

All-stop rows hold in one of three ways: same epoch (:math:`u = 1`: :math:`o_{ip} = o_{jp}`; on one circuit also the
order of the two), or one before the other with a set-up of the whole plane between (:math:`u = 0`: :math:`o_{jp} \ge
e_i + \delta_p` if :math:`x_{ij} = 1`, else :math:`o_{ip} \ge e_j + \delta_p`); different circuits on one port force
:math:`u = 0`.

Cyclic boundary: :math:`s_i + T \ge e_j + \delta_p` for both directions of every row between different circuits. On an
all-stop plane :math:`w = 1` (the plane changes between iterations) forces :math:`A + T \ge Z + \delta_p`, where
:math:`A \le s_i` and :math:`Z \ge e_i` for all ops on the plane; binaries mark the ops of the first epoch (nothing is
before them) and of the last, and a row of different circuits with one op in each forces :math:`w = 1`.

Every :math:`M` is the most by which its own row can be missed: :math:`U - t_i + d_i + g - h_j`. Times are divided by
their greatest common divisor, or so that :math:`U` is 10,000 where they are still above a million afterwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fluxscale.instance.derived import derive
from fluxscale.instance.instance import CYCLIC, DARK, Instance
from fluxscale.milp.arrays import Builder, Literals, MilpArrays
from fluxscale.milp.conflicts import Conflicts, wraps
from fluxscale.milp.disjunctive_epochs import Epochs
from fluxscale.milp.extract import Decision, Exact, decide
from fluxscale.milp.leg_pairs import uses_epochs

Array = npt.NDArray[Any]

EXACT_LIMIT = 10**6
"""Below this many units the iteration time is an integer variable and a bound may be rounded up."""


class Disjunctive:
    """The formulation of one instance, its columns, and the way back from values to decisions.

    Attributes
    ----------
    arrays
        The program.
    scale
        Ticks in one unit of the program.
    exact_units
        Whether all times are whole numbers of units, and small.
    """

    arrays: MilpArrays

    def __init__(self, instance: Instance, conflicts: Conflicts, lower: int, upper: int, unit: int) -> None:
        self.instance, self.conflicts, self.derived = instance, conflicts, derive(instance)
        self.exact_units = upper // unit < EXACT_LIMIT
        self.scale = float(unit) if self.exact_units else upper / 1e4
        self.lower, self.upper = lower / self.scale, upper / self.scale
        self.b = Builder()
        self._variables()
        self._ops()
        self._planes()
        self._rows()
        self._wraps()
        self.arrays = self.b.build(int(self.period[0]))

    def _variables(self) -> None:
        b, instance, derived = self.b, self.instance, self.derived
        ticks = derived.op_ticks / self.scale
        self.least = ticks.min(axis=1)
        self.varies = (ticks.max(axis=1) > self.least) & (np.diff(instance.leg_indptr) > 0)
        self.head, tail = self.conflicts.heads / self.scale, self.conflicts.tails / self.scale
        self.tail, self.latest_end = tail, self.upper - tail + self.least
        self.period = b.variables(np.array([self.lower]), np.array([self.upper]), integer=self.exact_units)
        self.s = b.variables(self.head, self.upper - tail)
        self.e = self.s.copy()
        self.e[self.varies] = b.variables((self.head + self.least)[self.varies], self.latest_end[self.varies])
        self.e_offset = np.where(self.varies, 0.0, self.least)
        self.y = np.full((instance.n_planes, instance.n_legs), -1, dtype=np.int64)
        self.choice_leg = np.repeat(np.arange(instance.n_legs), np.diff(derived.leg_plane_indptr))
        self.choice_plane = derived.leg_planes.astype(np.int64)
        fixed = self.conflicts.fixed_plane[self.choice_leg]
        open_choice = (fixed < 0) | (fixed == self.choice_plane)
        self.choice_leg, self.choice_plane = self.choice_leg[open_choice], self.choice_plane[open_choice]
        self.planes_of = np.bincount(self.choice_leg, minlength=instance.n_legs)
        free = self.planes_of[self.choice_leg] > 1
        self.y[self.choice_plane[free], self.choice_leg[free]] = b.binaries(int(free.sum()))
        self.x = np.full(len(self.conflicts.first), -1, dtype=np.int64)
        open_pairs = self.conflicts.order == 0
        self.x[open_pairs] = b.binaries(int(open_pairs.sum()))

    def _ops(self) -> None:
        b, closure, n = self.b, self.conflicts.closure, self.instance.n_ops
        period = np.repeat(self.period, n)
        b.at_least([(period, 1.0), (self.s, -1.0)], self.tail, n)
        varies = np.flatnonzero(self.varies)
        behind = self.conflicts.behind / self.scale
        b.at_least([(period[varies], 1.0), (self.e[varies], -1.0)], behind[varies], len(varies))
        b.at_least([(self.e[varies], 1.0), (self.s[varies], -1.0)], self.least[varies], len(varies))
        src, dst = closure.src, closure.dst
        b.at_least([(self.s[dst], 1.0), (self.e[src], -1.0)], self.e_offset[src], len(src))

    def _planes(self) -> None:
        b, instance, conflicts = self.b, self.instance, self.conflicts
        leg, plane = self.choice_leg, self.choice_plane
        y, op = self.y[plane, leg], self.derived.leg_op[leg].astype(np.int64)
        free = np.flatnonzero(self.planes_of > 1)
        columns = [(self.y[p, free], 1.0) for p in range(instance.n_planes)]
        b.at_least(columns, 1.0, len(free))
        b.at_least([(c, -v) for c, v in columns], -1.0, len(free))
        on = Literals(y, np.ones(len(y), dtype=bool))
        ticks = self.derived.op_ticks[op, self.derived.plane_class[plane]] / self.scale
        b.at_least_if([(self.e[op], 1.0), (self.s[op], -1.0)], ticks, ticks - self.least[op], [on], self.varies[op])
        p, a, c = conflicts.never_plane, conflicts.never_a, conflicts.never_b
        fixed = (self.y[p, a] < 0).astype(float) + (self.y[p, c] < 0)
        b.at_least([(self.y[p, a], -1.0), (self.y[p, c], -1.0)], fixed - 1.0, len(p))

        epochs = uses_epochs(instance)
        self.o = np.full((instance.n_planes, instance.n_ops), -1, dtype=np.int64)
        pairs = np.unique(plane[epochs[plane]] * max(1, instance.n_ops) + op[epochs[plane]])
        o_plane, o_op = pairs // max(1, instance.n_ops), pairs % max(1, instance.n_ops)
        self.o[o_plane, o_op] = b.variables(np.zeros(len(pairs)), (self.upper - self.tail)[o_op])
        b.at_least([(self.s[o_op], 1.0), (self.o[o_plane, o_op], -1.0)], 0.0, len(pairs))
        if instance.boundary == DARK:
            delay = instance.plane_delay_ticks[plane] / self.scale
            entry = np.where(epochs[plane], self.o[plane, op], self.s[op])
            b.at_least_if([(entry, 1.0)], delay, delay, [on], np.ones(len(y), dtype=bool))

    def on_plane(self, row: Array) -> list[Literals]:
        """Conditions that both legs of a conflict row are on its plane."""
        conflicts, yes = self.conflicts, np.ones(len(row), dtype=bool)
        plane = conflicts.plane[row]
        return [Literals(self.y[plane, conflicts.leg_a[row]], yes), Literals(self.y[plane, conflicts.leg_b[row]], yes)]

    def wait(self, row: Array, gap: Array, conditions: list[Literals], openings: bool) -> None:
        """Make the later op of each row (or its opening) wait for the earlier end plus a gap, in both orders."""
        conflicts = self.conflicts
        pair, plane = conflicts.pair[row], conflicts.plane[row]
        for forward in (True, False):
            early, late = (conflicts.first, conflicts.second) if forward else (conflicts.second, conflicts.first)
            early, late = early[pair], late[pair]
            possible = conflicts.order[pair] >= 0 if forward else conflicts.order[pair] <= 0
            order = Literals(self.x[pair], np.full(len(row), forward))
            entry = self.o[plane, late] if openings else self.s[late]
            earliest = np.zeros(len(row)) if openings else self.head[late]
            big = self.latest_end[early] + gap - earliest
            terms = [(entry, 1.0), (self.e[early], -1.0)]
            self.b.at_least_if(terms, gap + self.e_offset[early], big, [*conditions, order], possible)

    def _rows(self) -> None:
        conflicts = self.conflicts
        plain = np.flatnonzero(~conflicts.epoch)
        self.wait(plain, conflicts.gap[plain] / self.scale, self.on_plane(plain), openings=False)
        self.epochs = Epochs(self)

    def _wraps(self) -> None:
        if self.instance.boundary != CYCLIC:
            return
        row, early, late = wraps(self.instance, self.conflicts)
        gap = self.conflicts.gap[row] / self.scale
        terms = [(self.s[early], 1.0), (np.repeat(self.period, len(row)), 1.0), (self.e[late], -1.0)]
        big = gap + self.latest_end[late] - self.head[early] - self.lower
        self.b.at_least_if(terms, gap + self.e_offset[late], big, self.on_plane(row), np.ones(len(row), dtype=bool))
        for plane in np.flatnonzero(uses_epochs(self.instance)).tolist():
            self.epochs.wrap(plane)

    def decision(self, values: Array) -> Decision:
        """Read planes, orders and epochs off the binaries (rounded); the times are ignored."""
        conflicts = self.conflicts
        leg_plane = np.empty(self.instance.n_legs, dtype=np.int16)
        weight = np.where(self.y >= 0, values[np.maximum(self.y, 0)], -1.0)
        weight[self.choice_plane, self.choice_leg] += 0.5
        leg_plane[:] = weight.argmax(axis=0) if self.instance.n_legs else 0
        chosen = values[np.maximum(self.x, 0)] > 0.5
        order = np.where(conflicts.order != 0, conflicts.order, np.where(chosen, 1, -1)).astype(np.int8)
        active = (leg_plane[conflicts.leg_a] == conflicts.plane) & (leg_plane[conflicts.leg_b] == conflicts.plane)
        return Decision(leg_plane, order, active & self.epochs.together(values))

    def hint(self, start: Exact) -> Array:
        """Values of the variables for a known schedule, float64 ``[V]``; NaN where none is suggested."""
        values = np.full(self.b.n_variables, np.nan)
        decision = decide(self.instance, self.conflicts, start.op_start_ticks, start.leg_plane)
        values[self.period] = start.iteration_time_ticks / self.scale
        values[self.s] = start.op_start_ticks / self.scale
        chosen = self.y[self.choice_plane, self.choice_leg]
        there = chosen >= 0
        values[chosen[there]] = (start.leg_plane[self.choice_leg] == self.choice_plane)[there]
        values[self.x[self.x >= 0]] = decision.order[self.x >= 0] > 0
        self.epochs.hint(values, decision)
        return values
