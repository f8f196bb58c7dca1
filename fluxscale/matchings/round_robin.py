"""Fixed matchings that together hold every pair of n ports once, and in which of them a pair is."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[Any]


def one_way(n: int) -> Ints:
    """Cyclic shifts: in round r, sender i sends to (i + r + 1) mod n; int32 ``[n-1, n]``.

    Parameters
    ----------
    n
        Number of ports.
    """
    rounds = np.arange(1, max(n, 1))[:, None]
    return ((np.arange(n)[None, :] + rounds) % max(n, 1)).astype(np.int32)


def two_way(n: int) -> Ints:
    """Round-robin tournament by the circle method: int32 ``[rounds, n]``, partner of each port, -1: idle.

    An even number of ports takes n - 1 rounds; an odd one n rounds, in each of which one port is idle.

    Parameters
    ----------
    n
        Number of ports.
    """
    if n < 2:
        return np.zeros((0, n), dtype=np.int32)
    modulus = n - 1 if n % 2 == 0 else n
    rounds = np.arange(modulus)[:, None]
    partner = np.full((modulus, n), -1, dtype=np.int64)
    partner[:, :modulus] = (2 * rounds - np.arange(modulus)[None, :]) % modulus
    # The port that would meet itself meets the last one, or nobody.
    own = partner[:, :modulus] == np.arange(modulus)[None, :]
    partner[:, :modulus][own] = n - 1 if n % 2 == 0 else -1
    if n % 2 == 0:
        partner[:, n - 1] = np.arange(modulus)
    return partner.astype(np.int32)


def position_one_way(n: Ints, tx: Ints, rx: Ints) -> Ints:
    """Round of :func:`one_way` in which tx sends to rx; element by element.

    Parameters
    ----------
    n, tx, rx
        Numbers of ports, senders and receivers.
    """
    return (np.asarray(rx, dtype=np.int64) - tx) % np.maximum(n, 1) - 1


def position_two_way(n: Ints, a: Ints, b: Ints) -> Ints:
    """Round of :func:`two_way` in which a meets b; element by element.

    Parameters
    ----------
    n, a, b
        Numbers of ports and the two ends.
    """
    n, a, b = (np.asarray(x, dtype=np.int64) for x in (n, a, b))
    even = n % 2 == 0
    modulus = np.maximum(np.where(even, n - 1, n), 1)
    half = (modulus + 1) // 2
    met = (a + b) * half % modulus
    # The last of an even number of ports meets port r in round r.
    met = np.where(even & (b == n - 1), a, met)
    return np.where(even & (a == n - 1), b, met)
