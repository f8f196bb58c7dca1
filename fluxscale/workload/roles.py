"""Codes of the op roles in the label columns (the words are in ``fluxscale.instance.names``)."""

from __future__ import annotations

FORWARD, BACKWARD, ACTIVATION, GRADIENT, REDUCE_SCATTER, ALL_GATHER, ALL_REDUCE, OPTIMIZER, INSIDE_HOST, OTHER = range(
    10
)
"""Indices into ``fluxscale.instance.names.ROLES``; a test keeps the two in step."""
