"""Solvers that ship with fluxscale, found through its registry."""
