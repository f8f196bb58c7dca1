"""Solver-neutral exact formulation: conflict pairs, precedence closure, arrays of a MILP."""
