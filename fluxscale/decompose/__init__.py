"""Splitting an instance: symmetry reduction (stages and windows follow)."""
