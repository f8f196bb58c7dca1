"""Rotors whose spare slots carry data over one relay."""
