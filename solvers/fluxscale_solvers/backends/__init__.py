"""Adapters to third-party optimisation back ends."""
