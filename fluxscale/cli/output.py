"""What goes to stdout: a text or one JSON document."""

from __future__ import annotations

import json
import sys
from typing import Any


def print_text(text: str) -> None:
    """Write a text and a line end to stdout."""
    sys.stdout.write(text.rstrip("\n") + "\n")
    sys.stdout.flush()


def print_json(document: Any) -> None:
    """Write one JSON document to stdout."""
    print_text(to_json(document))


def to_json(document: Any) -> str:
    """Write a document as JSON text; numbers of numpy become plain ones, and what JSON does not know is an error."""
    return json.dumps(document, indent=1, allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not JSON")
