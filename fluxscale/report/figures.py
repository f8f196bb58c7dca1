"""Figures of a sweep (extra ``plot``): iteration time and eager NIC buffer over the delay, log axes.

Colours are those of Okabe and Ito, which colour-blind readers tell apart; line style and marker tell once more.
"""

from __future__ import annotations

import importlib.util
import io
from typing import TYPE_CHECKING, Any

from fluxscale.compare.rows import BUFFER_FLOOR_BYTES, BUFFER_LINES_BYTES, Row
from fluxscale.compare.schedulers import FLUXSCALE
from fluxscale.compare.sweep import Sweep
from fluxscale.errors import InputError
from fluxscale.report.sweep import Found, groups
from fluxscale.units import format_size, format_time

if TYPE_CHECKING:
    from fluxscale.compare.grid import Axis

MOST_GROUPS = 6
"""Lines of panels in one figure."""

_BLACK, _GREY, _ORANGE, _SKY = "#000000", "#767676", "#E69F00", "#56B4E9"
_GREEN, _BLUE, _RED, _PURPLE = "#009E73", "#0072B2", "#D55E00", "#CC79A7"

STYLES: dict[str, tuple[str, str, str]] = {
    FLUXSCALE: (_BLACK, "-", "o"),
    "ideal-packet": (_GREY, ":", "."),
    "static": (_ORANGE, "-.", "s"),
    "rotor": (_RED, "-", "^"),
    "rotor-vlb": (_RED, "--", "v"),
    "periodic-bvn": (_BLUE, "-", "D"),
    "periodic-solstice": (_BLUE, "--", "P"),
    "periodic-eclipse": (_SKY, "-", "X"),
    "periodic-spectra": (_SKY, "--", "*"),
    "sunflow": (_GREEN, "-", "<"),
    "on-demand": (_PURPLE, "-", ">"),
    "on-demand-ahead": (_PURPLE, "--", "h"),
    "exact-cpsat": (_GREY, "--", "x"),
    "exact-milp": (_GREY, "-.", "+"),
}
"""Colour, line and marker of each scheduler, the same in every figure."""

_OTHERS = ((_GREEN, "--", "p"), (_ORANGE, ":", "8"), (_GREEN, ":", "1"), (_BLUE, ":", "2"))


def can_draw() -> bool:
    """Whether matplotlib is there."""
    return importlib.util.find_spec("matplotlib") is not None


def require_drawing() -> None:
    """Refuse a figure that cannot be drawn.

    Raises
    ------
    InputError
        Saying what to install.
    """
    if not can_draw():
        raise InputError("figures need matplotlib", field="--figure", maybe="pip install 'fluxscale[plot]'.")


def draw_sweep(swept: Sweep, *, job: str) -> dict[str, bytes]:
    """Draw a sweep.

    Parameters
    ----------
    swept
        What came out.
    job
        Name of the job, for the title.

    Returns
    -------
    dict
        Content of ``sweep.png`` and ``sweep.svg``.

    Raises
    ------
    InputError
        Without matplotlib.
    """
    require_drawing()
    import matplotlib  # pyright: ignore[reportMissingImports]
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # pyright: ignore[reportMissingImports]
    from matplotlib.figure import Figure  # pyright: ignore[reportMissingImports]

    lines = groups(swept)[:MOST_GROUPS]
    # The same content gives the same bytes: no date, no random ids.
    with matplotlib.rc_context({"svg.hashsalt": "fluxscale", "font.size": 9.0, "axes.titlesize": 10.0}):
        figure = Figure(figsize=(10.5, 0.7 + 3.7 * len(lines)), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(len(lines), 2, squeeze=False)
        for (shown, group), (left, right) in zip(lines, panels, strict=True):
            _panel(left, group, swept, "iteration time", _time)
            _panel(right, group, swept, "largest eager NIC buffer of a port (4 KiB if less)", _buffer)
            _buffer_lines(right)
            left.set_title(shown, loc="left")
        title = f"{job}: schedulers at their best parameters"
        left_out = len(groups(swept)) - len(lines)
        figure.suptitle(title + (f" ({left_out} more combinations are in the CSV)" if left_out else ""), fontsize=11)
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles[::-1], labels[::-1], loc="outside right center", frameon=False, handlelength=3.2)
        return {
            "sweep.png": _bytes(figure, format="png", dpi=150, metadata={"Software": "fluxscale"}),
            "sweep.svg": _bytes(figure, format="svg", metadata={"Date": None, "Creator": "fluxscale"}),
        }


def _bytes(figure: Any, **how: Any) -> bytes:
    target = io.BytesIO()
    figure.savefig(target, **how)
    return target.getvalue()


def _time(row: Row) -> float | None:
    return None if row.iteration_time_ns is None else row.iteration_time_ns / 1e9


def _buffer(row: Row) -> int | None:
    return None if row.eager_bytes is None else max(row.eager_bytes, BUFFER_FLOOR_BYTES)


def _panel(panel: Any, group: list[Found], swept: Sweep, title: str, value: Any) -> None:
    main, others = swept.grid.main, iter(_OTHERS * (1 + len(swept.schedulers)))
    for rank, name in reversed(list(enumerate(swept.schedulers))):
        colour, line, marker = STYLES[name] if name in STYLES else next(others)
        x = [dict(point.values)[main] for point, _ in group]
        y = [value(found[name]) if name in found else None for _, found in group]
        ours = name == FLUXSCALE
        panel.plot(
            x,
            [float("nan") if one is None else one for one in y],
            color=colour,
            linestyle=line,
            marker=marker,
            # Rings around each other show lines that lie on one another.
            markersize=4.5 + 0.45 * rank,
            markerfacecolor=colour if ours or marker in ".x+12" else "none",
            linewidth=2.2 if ours else 1.3,
            label=name,
            zorder=3 if ours else 2,
        )
    _axes(panel, main, title, is_time=value is _time)


def _axes(panel: Any, main: Axis, title: str, *, is_time: bool) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator  # pyright: ignore[reportMissingImports]

    smallest = next((value for value in main.values if value > 0), 1)
    if main.values[0] == 0:
        panel.set_xscale("symlog", linthresh=smallest)
    else:
        panel.set_xscale("log")
    if len(main.values) <= 6 or main.unit != "ns":
        panel.xaxis.set_major_locator(FixedLocator(main.values[:: 1 + (len(main.values) - 1) // 6]))
        panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(FuncFormatter(lambda x, _: main.shown(round(x)) if x >= 0 else ""))
    panel.set_xlabel({"delay": "reconfiguration delay", "rate": "rate of a circuit"}.get(main.name, main.name))
    if any(line.get_ydata().size and (line.get_ydata() > 0).any() for line in panel.get_lines()):
        panel.set_yscale("log")
        low, high = panel.get_ylim()
        subs = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0) if high < 10 * low else (1.0, 2.0, 5.0)
        panel.yaxis.set_major_locator(LogLocator(subs=subs))
    shown = (lambda y, _: format_time(round(y * 1e9))) if is_time else (lambda y, _: format_size(round(y)))
    panel.yaxis.set_major_formatter(FuncFormatter(shown))
    panel.yaxis.set_minor_formatter(FuncFormatter(lambda y, _: ""))
    panel.set_ylabel(title)
    panel.grid(True, which="major", color="#dddddd", linewidth=0.6)
    panel.set_axisbelow(True)


def _buffer_lines(panel: Any) -> None:
    """The four buffers that a peak is held against, as lines with their size at the right."""
    low, high = panel.get_ylim()
    for size in BUFFER_LINES_BYTES:
        panel.axhline(size, color="#888888", linewidth=0.9, linestyle=(0, (6, 4)), zorder=1)
        panel.annotate(
            format_size(size), (1.0, size), xycoords=("axes fraction", "data"), xytext=(3, 0),
            textcoords="offset points", ha="left", va="center", fontsize=7, color="#555555",
        )  # fmt: skip
    panel.set_yticks([2**power for power in range(12, 60, 4)])
    panel.set_ylim(min(low, BUFFER_FLOOR_BYTES / 1.6), max(high, BUFFER_LINES_BYTES[-1]) * 2.0)
    panel.minorticks_off()
