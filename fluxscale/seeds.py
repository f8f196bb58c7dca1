"""One root seed, named child streams, so that adding a consumer never shifts another's numbers."""

from __future__ import annotations

import hashlib

import numpy as np


def child_seed(root: int, *names: object) -> int:
    """Derive a 63-bit seed for one named consumer.

    Parameters
    ----------
    root
        The seed that the user gave (printed with every result).
    names
        What the numbers are for, e.g. ``"list", 3``.
    """
    text = "/".join([str(int(root)), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(root: int, *names: object) -> np.random.Generator:
    """Build the numpy generator of one named consumer."""
    return np.random.default_rng(child_seed(root, *names))
