"""Exact solvers for small instances."""
