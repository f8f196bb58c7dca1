"""Progress on stderr: a live line on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any, TextIO

from fluxscale.units import format_time

PLAIN_SECONDS = 5.0
"""Longest silence where there is no terminal."""

LIVE_SECONDS = 0.5


class Reporter:
    """Shows what a solve is doing; use it as a context manager and call it with every ``Progress``.

    Parameters
    ----------
    quiet
        Say nothing.
    stream
        Where to write; None: stderr. Stdout is for results.
    """

    def __init__(self, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._quiet = quiet
        self._live: Any = None
        self._began = time.monotonic()
        self._last_line = self._began
        self._text = "starting"
        self._shown: object = None
        self._tick_ns = 1
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._ticker = threading.Thread(target=self._tick, name="fluxscale-progress", daemon=True)

    def __enter__(self) -> Reporter:
        if self._quiet:
            return self
        if self._stream.isatty():
            from rich.console import Console

            console = Console(file=self._stream)
            if not console.is_dumb_terminal:
                self._live = console.status("", spinner="line")
                self._live.start()
        self._ticker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._ticker.is_alive():
            self._ticker.join()
        if self._live is not None:
            self._live.stop()

    def stage(self, text: str) -> None:
        """Say what is being done now, outside a solver."""
        self._show(text, text)

    def time_unit(self, tick_ns: int) -> None:
        """Set the length of the ticks that solvers report in."""
        self._tick_ns = tick_ns

    def __call__(self, news: Any) -> None:
        """Show a ``Progress``: best, bound, gap and what is being done."""
        best, bound = news.best_ticks, news.bound_ticks
        parts = []
        if best is not None:
            parts.append(f"best {format_time(best * self._tick_ns)}")
        if bound is not None:
            parts.append(f"bound {format_time(bound * self._tick_ns)}")
        if best and bound is not None:
            parts.append(f"gap {100 * (best - bound) / best:.2f} %")
        self._show("  ".join([*parts, news.message]), (best, bound, news.message))

    def _show(self, text: str, key: object) -> None:
        if self._quiet or key == self._shown:
            return
        with self._lock:
            self._text, self._shown = text, key
            self._write()

    def _write(self) -> None:
        line = f"[{time.monotonic() - self._began:7.1f} s] {self._text}"
        self._last_line = time.monotonic()
        try:
            if self._live is not None:
                from rich.text import Text

                self._live.update(Text(line))
            else:
                print(line, file=self._stream, flush=True)
        except (OSError, ValueError):
            # Whoever was reading has gone; the solve goes on.
            self._quiet = True

    def _tick(self) -> None:
        every = LIVE_SECONDS if self._live is not None else PLAIN_SECONDS
        while not self._stop.wait(min(every, max(0.05, self._last_line + every - time.monotonic()))):
            with self._lock:
                if not self._quiet and time.monotonic() - self._last_line >= every:
                    self._write()
