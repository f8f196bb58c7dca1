"""Kernels over the bytes of a text file."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from fluxscale._numba import kernel

_QUOTE, _ESCAPE = 0x22, 0x5C
_OPEN_LIST, _CLOSE_LIST, _OPEN_OBJECT, _CLOSE_OBJECT = 0x5B, 0x5D, 0x7B, 0x7D


@kernel
def json_depth(text: npt.NDArray[Any]) -> int:
    """Greatest nesting of lists and objects in a JSON text; brackets inside strings do not count.

    Parameters
    ----------
    text
        uint8: the file's bytes. They need not be valid JSON.
    """
    depth = deepest = 0
    quoted = escaped = False
    for k in range(len(text)):
        byte = text[k]
        if quoted:
            if escaped:
                escaped = False
            elif byte == _ESCAPE:
                escaped = True
            elif byte == _QUOTE:
                quoted = False
        elif byte == _QUOTE:
            quoted = True
        elif byte in (_OPEN_LIST, _OPEN_OBJECT):
            depth += 1
            deepest = max(deepest, depth)
        elif byte in (_CLOSE_LIST, _CLOSE_OBJECT):
            depth -= 1
    return deepest
