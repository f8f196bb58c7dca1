"""Draw a small schedule as an SVG: python benchmarks/picture.py [JOB] [FILE]

A lane per device for compute, a lane per port and plane for transfers. Plain SVG text: no plotting package is needed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from xml.sax.saxutils import escape

import fluxscale as fs
from fluxscale.instance.derived import derive
from fluxscale.instance.instance import COMPUTE, Instance
from fluxscale.schedule.circuits import op_ends
from fluxscale.schedule.schedule import Schedule
from fluxscale.units import format_time

ROOT = Path(__file__).resolve().parent.parent
LEFT, RIGHT, TOP, WIDTH = 118, 16, 58, 1000
LANE, GROUP_GAP = 17, 9
MAX_LANES = 64

# Okabe-Ito colours: told apart by readers with any common colour blindness, and by lightness on a grey print.
FORWARD, BACKWARD, OTHER, CIRCUIT, DATA = "#56b4e9", "#e69f00", "#cccccc", "#d7efe6", "#00513a"
INK, RULE = "#1a1a1a", "#d9d9d9"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job", nargs="?", default="tiny-4x8")
    parser.add_argument("file", nargs="?", type=Path)
    arguments = parser.parse_args()
    file = arguments.file or ROOT / "benchmarks" / "figures" / f"{Path(arguments.job).stem}.svg"
    instance = fs.build_instance(fs.load_job(arguments.job))
    result = fs.solve(instance)
    if result.schedule is None or result.iteration_time_ns is None:
        print(f"{arguments.job}: no schedule ({result.termination})", file=sys.stderr)
        return 4
    proof = "proven optimal" if result.gap == 0 else f"gap {100 * (result.gap or 0):.2f} %"
    title = f"{arguments.job}: one iteration in {format_time(result.iteration_time_ns)}, {proof}"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(draw(instance, result.schedule, title), encoding="utf-8")
    print(file)
    return 0


def draw(instance: Instance, schedule: Schedule, title: str) -> str:
    """SVG text of a schedule with at most some dozens of lanes."""
    lanes = lane_places(instance)
    if len(lanes) > MAX_LANES:
        raise SystemExit(f"{len(lanes)} lanes are too many for one picture (limit {MAX_LANES})")
    bottom = max(lanes.values()) + LANE
    scale = (WIDTH - LEFT - RIGHT) / max(1, schedule.iteration_time_ticks)

    def x(ticks: int) -> float:
        return LEFT + ticks * scale

    body = [text(LEFT, 20, title, size=15, weight="bold"), text(LEFT, 38, subtitle(instance), size=12)]
    body += axis(schedule.iteration_time_ticks * instance.tick_ns, bottom, scale / instance.tick_ns)
    body += lane_names(instance, lanes)
    body += circuits(instance, schedule, lanes, x)
    body += ops(instance, schedule, lanes, x)
    body += legend(instance, "".join(body), bottom + 48)
    height = bottom + 64
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="Helvetica, Arial, sans-serif" role="img" aria-label="{escape(title)}">',
        '<defs><pattern id="dark" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect width="5" height="5" fill="#ffffff"/><rect width="1.8" height="5" fill="#6b6b6b"/></pattern></defs>',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        *body,
        "</svg>\n",
    ])  # fmt: skip


def lane_places(instance: Instance) -> dict[tuple[str, int, int, int], int]:
    """Top of each lane, ("compute", device, 0, 0) or ("port", endpoint, plane, side); equal numbers stand together."""
    places: dict[tuple[str, int, int, int], int] = {}
    y = TOP
    for number in range(max(instance.n_devices, instance.n_endpoints)):
        keys = [("compute", number, 0, 0)] if number < instance.n_devices else []
        for plane in range(instance.n_planes if number < instance.n_endpoints else 0):
            if instance.attach[plane, number] >= 0:
                keys += [("port", number, plane, side) for side in ((0,) if instance.plane_duplex[plane] else (0, 1))]
        for key in keys:
            places[key] = y
            y += LANE
        y += GROUP_GAP
    return places


def lane_names(instance: Instance, lanes: dict[tuple[str, int, int, int], int]) -> list[str]:
    out = []
    for (kind, number, plane, side), y in lanes.items():
        if kind == "compute":
            name = f"{instance.names.device(number)} compute"
        else:
            way = "port" if instance.plane_duplex[plane] else ("send", "receive")[side]
            name = f"{instance.names.endpoint(number)} {way}" + (f" {plane}" if instance.n_planes > 1 else "")
        out.append(text(LEFT - 8, y + LANE - 5, name, anchor="end"))
        out.append(line(LEFT, y + LANE, WIDTH - RIGHT, y + LANE))
    return out


def circuits(instance: Instance, schedule: Schedule, lanes: dict, x) -> list[str]:
    """Pale bands where a circuit is up, hatched ones where a port is dark before a new circuit."""
    rows: dict[tuple[str, int, int, int], list[tuple[int, int, int]]] = {}
    for row in range(len(schedule.circuit_tx)):
        plane, tx, rx = (
            int(column[row]) for column in (schedule.circuit_plane, schedule.circuit_tx, schedule.circuit_rx)
        )
        up = int(schedule.circuit_up_from_ticks[row]), int(schedule.circuit_up_to_ticks[row])
        duplex = bool(instance.plane_duplex[plane])
        rows.setdefault(("port", tx, plane, 0), []).append((*up, rx))
        rows.setdefault(("port", rx, plane, 0 if duplex else 1), []).append((*up, tx))
    out = []
    for key, held in rows.items():
        held.sort()
        delay, y = int(instance.plane_delay_ticks[key[2]]), lanes[key]
        before = None if instance.boundary == 0 else held[0][2]
        for up_from, up_to, peer in held:
            if peer != before and delay:
                out.append(box(x(up_from - delay), y + 2, x(up_from) - x(up_from - delay), "url(#dark)", LANE - 4))
            name = instance.names.endpoint(peer)
            out.append(
                box(x(up_from), y + 2, max(0.8, x(up_to) - x(up_from)), CIRCUIT, LANE - 4, f"circuit with {name}")
            )
            before = peer
    return out


def ops(instance: Instance, schedule: Schedule, lanes: dict, x) -> list[str]:
    ends = op_ends(instance, schedule.op_start_ticks, schedule.leg_plane)
    leg_op = derive(instance).leg_op
    out = []
    for op in range(instance.n_ops):
        if instance.op_kind[op] != COMPUTE:
            continue
        begin, end, name = int(schedule.op_start_ticks[op]), int(ends[op]), instance.names.op(op)
        colour = FORWARD if name.startswith("F") else BACKWARD if name.startswith("B") else OTHER
        y = lanes["compute", int(instance.op_device[op]), 0, 0]
        tip = f"{name}: {format_time((end - begin) * instance.tick_ns)}"
        out.append(box(x(begin), y + 1, x(end) - x(begin), colour, LANE - 2, tip, stroke="#ffffff"))
        number = micro_batch(instance, op)
        if number is not None and x(end) - x(begin) >= 9:
            out.append(text((x(begin) + x(end)) / 2, y + LANE - 5, str(number), size=10, anchor="middle"))
    for leg in range(instance.n_legs):
        op, plane = int(leg_op[leg]), int(schedule.leg_plane[leg])
        begin, end = int(schedule.op_start_ticks[op]), int(ends[op])
        side = 0 if instance.plane_duplex[plane] else 1
        for key in (("port", int(instance.leg_tx[leg]), plane, 0), ("port", int(instance.leg_rx[leg]), plane, side)):
            tip = f"{instance.names.op(op)}: {format_time((end - begin) * instance.tick_ns)}"
            out.append(box(x(begin), lanes[key] + 2, max(1.2, x(end) - x(begin)), DATA, LANE - 4, tip))
    return out


def micro_batch(instance: Instance, op: int) -> int | None:
    labels = instance.names.labels
    if labels is None or labels.micro_batch[op] < 0:
        return None
    return int(labels.micro_batch[op])


def axis(total_ns: int, bottom: int, scale_per_ns: float) -> list[str]:
    """Vertical rules at round times, with numbers in one unit."""
    step = 1
    while total_ns / step > 12:
        step = step * 5 // 2 if str(step).startswith("2") else step * 2
    unit, length = next(
        (u, f) for u, f in (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)) if step >= f or f == 1
    )
    out = []
    for ns in range(0, total_ns + 1, step):
        at = LEFT + ns * scale_per_ns
        out.append(line(at, TOP - 6, at, bottom + 4))
        out.append(text(at, bottom + 18, f"{ns / length:g} {unit}", anchor="middle"))
    return out


def subtitle(instance: Instance) -> str:
    delays = sorted({int(delay) * instance.tick_ns for delay in instance.plane_delay_ticks})
    shown = ", ".join(format_time(delay) for delay in delays)
    planes = "1 plane" if instance.n_planes == 1 else f"{instance.n_planes} planes"
    parts = f"{instance.n_devices} devices, {instance.n_transfers} transfers, {planes}"
    return f"{parts}, reconfiguration delay {shown}"


def legend(instance: Instance, drawn: str, y: int) -> list[str]:
    """Explain the colours that occur."""
    delay = format_time(int(instance.plane_delay_ticks.max(initial=0)) * instance.tick_ns)
    entries = (
        (FORWARD, "forward of micro-batch n"),
        (BACKWARD, "backward"),
        (OTHER, "other compute"),
        (CIRCUIT, "circuit up"),
        (DATA, "data on the circuit"),
        ("url(#dark)", f"dark: port being reset ({delay})"),
    )
    out, at = [], LEFT
    for colour, label in entries:
        if f'fill="{colour}"' not in drawn:
            continue
        out.append(box(at, y - 10, 16, colour, 12, stroke="#8c8c8c"))
        out.append(text(at + 21, y, label))
        at += 34 + int(6.3 * len(label))
    return out


def box(x: float, y: float, width: float, fill: str, height: float, tip: str = "", stroke: str = "none") -> str:
    place = f'x="{x:.2f}" y="{y:.1f}" width="{width:.2f}" height="{height}"'
    shape = f'<rect {place} fill="{fill}" stroke="{stroke}" stroke-width="0.6"'
    return f"{shape}><title>{escape(tip)}</title></rect>" if tip else f"{shape}/>"


def line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{RULE}" stroke-width="0.7"/>'


def text(x: float, y: float, content: str, *, size: int = 11, anchor: str = "start", weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" fill="{INK}">'
        f"{escape(content)}</text>"
    )


if __name__ == "__main__":
    sys.exit(main())
