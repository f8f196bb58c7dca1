"""Transfers over fixed circuits, hop by hop."""
