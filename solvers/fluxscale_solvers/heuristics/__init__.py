"""Heuristics for large instances."""
