from __future__ import annotations

import pytest

from fluxscale.errors import InputError
from fluxscale.workload.pipeline import group_size, pipeline_order

GOLDEN_1F1B = [
    "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7",
    "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7",
    "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7",
    "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7",
]
GOLDEN_INTERLEAVED = {
    0: "F0.0 F1.0 F2.0 F3.0 F0.1 F1.1 F2.1 F3.1 F4.0 F5.0 F6.0 B0.1 F7.0 B1.1 F4.1 B2.1 F5.1 B3.1 F6.1 B0.0 F7.1 B1.0 "
    "B2.0 B3.0 B4.1 B5.1 B6.1 B7.1 B4.0 B5.0 B6.0 B7.0",
    3: "F0.0 F1.0 F2.0 F3.0 F0.1 B0.1 F1.1 B1.1 F2.1 B2.1 F3.1 B3.1 F4.0 B0.0 F5.0 B1.0 F6.0 B2.0 F7.0 B3.0 F4.1 B4.1 "
    "F5.1 B5.1 F6.1 B6.1 F7.1 B7.1 B4.0 B5.0 B6.0 B7.0",
}


def rows(order, *, chunks: bool) -> list[str]:
    def word(b, m, c):
        return f"{'B' if b else 'F'}{m}" + (f".{c}" if chunks else "")

    return [
        " ".join(word(*item) for item in zip(*row, strict=True))
        for row in zip(order.backward, order.micro_batch, order.chunk, strict=True)
    ]


def makespan(order, chunks: int, forward: float, backward: float) -> float:
    """List simulation with free communication; fails on a deadlock."""
    stages, items = order.backward.shape
    at, clock, end = [0] * stages, [0.0] * stages, {}
    last = stages * chunks - 1
    while any(i < items for i in at):
        moved = False
        for s in range(stages):
            while at[s] < items:
                b, m, c = bool(order.backward[s, at[s]]), int(order.micro_batch[s, at[s]]), int(order.chunk[s, at[s]])
                v = c * stages + s
                need = []
                if not b and v > 0:
                    need.append((False, m, v - 1))
                if b:
                    need.append((False, m, v))
                    if v < last:
                        need.append((True, m, v + 1))
                if any(key not in end for key in need):
                    break
                clock[s] = max([clock[s], *(end[key] for key in need)]) + (backward if b else forward)
                end[b, m, v] = clock[s]
                at[s] += 1
                moved = True
        assert moved, "the order deadlocks"
    return max(clock)


def test_golden_1f1b():
    assert rows(pipeline_order("1f1b", 4, 8), chunks=False) == GOLDEN_1F1B


def test_golden_interleaved():
    got = rows(pipeline_order("interleaved", 4, 8, 2), chunks=True)
    for rank, golden in GOLDEN_INTERLEAVED.items():
        assert got[rank] == golden


def test_gpipe_by_rule():
    expected = " ".join([f"F{i}" for i in range(8)] + [f"B{i}" for i in range(8)])
    assert rows(pipeline_order("gpipe", 4, 8), chunks=False) == [expected] * 4


@pytest.mark.parametrize(("stages", "m", "expected"), [(2, 4, 15), (4, 8, 33), (8, 16, 69), (16, 64, 237)])
@pytest.mark.parametrize("order", ["gpipe", "1f1b"])
def test_makespan_plain(order, stages, m, expected):
    assert makespan(pipeline_order(order, stages, m), 1, 1, 2) == expected


@pytest.mark.parametrize(
    ("stages", "m", "v", "expected"),
    [(2, 4, 2, 13.5), (4, 8, 2, 28.5), (4, 8, 4, 26.25), (8, 16, 2, 58.5), (16, 64, 2, 214.5)],
)
def test_makespan_interleaved(stages, m, v, expected):
    assert makespan(pipeline_order("interleaved", stages, m, v), v, 1 / v, 2 / v) == expected


@pytest.mark.parametrize("stages", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("v", [1, 2, 3])
def test_no_order_deadlocks(stages, v):
    for m in range(1, 20):
        try:
            order = pipeline_order("interleaved", stages, m, v)
        except InputError:
            assert m % max(1, m // stages)
            continue
        assert makespan(order, v, 1, 2) >= 3 * m * v
        assert not order.backward[:, 0].any()


def test_every_item_once():
    order = pipeline_order("interleaved", 3, 8, 2)
    for s in range(3):
        items = set(
            zip(order.backward[s].tolist(), order.micro_batch[s].tolist(), order.chunk[s].tolist(), strict=True)
        )
        assert len(items) == order.backward.shape[1] == 32


def test_more_stages_than_micro_batches():
    assert makespan(pipeline_order("1f1b", 8, 3), 1, 1, 2) == makespan(pipeline_order("gpipe", 8, 3), 1, 1, 2) == 30


@pytest.mark.parametrize(("stages", "m", "group"), [(4, 8, 4), (4, 4, 4), (4, 3, 3), (4, 6, 6), (4, 10, 5), (1, 5, 1)])
def test_group_size(stages, m, group):
    assert group_size(stages, m) == group


def test_group_size_refuses():
    with pytest.raises(InputError, match=r"equal rounds.*Maybe: 8 or 12 micro-batches"):
        group_size(4, 9)
    with pytest.raises(InputError, match="does not divide"):
        group_size(4, 8, 3)
    with pytest.raises(InputError, match="shorter than the pipeline"):
        group_size(4, 8, 2)
    assert group_size(4, 16, 8) == 8


def test_chunks_need_the_interleaved_order():
    with pytest.raises(InputError, match="interleaved"):
        pipeline_order("1f1b", 4, 8, 2)
