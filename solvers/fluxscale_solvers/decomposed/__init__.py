"""Decomposition: stage groups and time windows solved as small models, stitched, improved."""
