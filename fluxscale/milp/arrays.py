"""MilpArrays: a mixed-integer linear program as plain arrays, the same for every back end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class MilpArrays:
    """Minimise ``objective @ v`` subject to ``row_lower <= A v <= row_upper`` and ``lower <= v <= upper``.

    Attributes
    ----------
    objective, lower, upper
        float64 ``[V]``.
    integer
        bool ``[V]``: which variables are integers.
    row_lower, row_upper
        float64 ``[R]``; infinite where a side is open.
    row, column, coefficient
        int64, int64, float64: the entries of ``A`` (COO), sorted by row and column, each place once.
    """

    objective: Array
    lower: Array
    upper: Array
    integer: Array
    row_lower: Array
    row_upper: Array
    row: Array
    column: Array
    coefficient: Array


@dataclass(frozen=True, eq=False)
class Literals:
    """A condition for each of several rows: a binary variable or its complement, or none at all.

    Attributes
    ----------
    column
        int64: the binary, -1 where the condition always holds.
    positive
        bool: whether the condition is "the binary is 1" (else 0).
    """

    column: Array
    positive: Array


class Builder:
    """Collects variables and blocks of rows; a block is a set of equally long columns: no Python loop over rows."""

    def __init__(self) -> None:
        self._variables: list[tuple[Array, Array, Array]] = []
        self._rows: list[tuple[Array, Array]] = []
        self._entries: list[tuple[Array, Array, Array]] = []
        self.n_variables = 0
        self.n_rows = 0

    def variables(self, lower: Array, upper: Array, integer: bool = False) -> Array:
        """Add variables with these bounds (scaled units) and return their columns."""
        first = self.n_variables
        self.n_variables += len(lower)
        kind = np.full(len(lower), integer)
        self._variables.append((np.asarray(lower, dtype=float), np.asarray(upper, dtype=float), kind))
        return np.arange(first, self.n_variables, dtype=np.int64)

    def binaries(self, count: int) -> Array:
        """Add binary variables."""
        return self.variables(np.zeros(count), np.ones(count), integer=True)

    def at_least(self, terms: Sequence[tuple[Array, Array | float]], bound: Array | float, size: int) -> None:
        """Add rows ``sum of coefficient x variable >= bound``.

        Parameters
        ----------
        terms
            (columns, coefficients) of one term of every row; column -1 leaves the term out.
        bound
            Right-hand sides.
        size
            Number of rows.
        """
        rows = np.arange(self.n_rows, self.n_rows + size, dtype=np.int64)
        self.n_rows += size
        for columns, coefficients in terms:
            used = np.flatnonzero(columns >= 0)
            self._entries.append(
                (rows[used], columns[used], np.broadcast_to(np.asarray(coefficients, dtype=float), size)[used])
            )
        self._rows.append((np.broadcast_to(np.asarray(bound, dtype=float), size), np.full(size, np.inf)))

    def at_least_if(
        self,
        terms: Sequence[tuple[Array, Array | float]],
        bound: Array,
        big: Array,
        conditions: Sequence[Literals],
        used: Array,
    ) -> None:
        """Add rows that need hold only where all their conditions do, relaxed by ``big`` for each condition that fails.

        Parameters
        ----------
        terms, bound
            As in :meth:`at_least`.
        big
            Most by which ``bound`` can be missed within the bounds of the variables; rows where it is not positive
            always hold.
        conditions
            The conditions.
        used
            bool: rows to add.
        """
        keep = np.flatnonzero(used & (big > 0))
        big, bound = big[keep], bound[keep].astype(float)
        parts = [
            (columns[keep], np.broadcast_to(np.asarray(values, dtype=float), len(used))[keep])
            for columns, values in terms
        ]
        for literal in conditions:
            column, positive = literal.column[keep], literal.positive[keep]
            parts.append((column, np.where(positive, -big, big)))
            bound = bound - np.where((column >= 0) & positive, big, 0.0)
        self.at_least(parts, bound, len(keep))

    def build(self, objective_column: int) -> MilpArrays:
        """Put everything together; the objective is one variable, to be minimised."""
        empty = np.empty(0)
        lower, upper, integer = (np.concatenate(c) for c in zip(*self._variables, strict=True))
        row_lower, row_upper = (np.concatenate(c) for c in zip(*(self._rows or [(empty, empty)]), strict=True))
        row, column, value = (np.concatenate(c) for c in zip(*(self._entries or [(empty, empty, empty)]), strict=True))
        key = row.astype(np.int64) * self.n_variables + column.astype(np.int64)
        places, at = np.unique(key, return_inverse=True)
        summed = np.bincount(at, weights=value, minlength=len(places))
        places, summed = places[summed != 0], summed[summed != 0]
        objective = np.zeros(self.n_variables)
        objective[objective_column] = 1.0
        return MilpArrays(
            objective,
            lower,
            upper,
            integer,
            row_lower,
            row_upper,
            places // self.n_variables,
            places % self.n_variables,
            summed,
        )
