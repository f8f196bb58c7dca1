"""The only wrapper around ``numba.njit``: cache policy and the JIT switch live here.

Kernels are compiled lazily (arrays from a shared store are read-only, which an explicit signature would reject) and
cached on disk. ``NUMBA_DISABLE_JIT=1`` runs them as plain Python, which is how coverage and debuggers see them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a kernel: no Python objects, no GIL, cached on disk, integer semantics as written."""
    return numba.njit(cache=True, nogil=True)(function)  # type: ignore[return-value]


def inlined(function: F) -> F:
    """Compile a helper into its callers: handing over a dozen arrays costs more than what such a helper does."""
    return numba.njit(inline="always")(function)  # type: ignore[return-value]
