"""Instance files: the same bytes for the same content, and no trust in what is read."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluxscale.errors import InputError
from fluxscale.fabric.spec import parse_fabric
from fluxscale.instance import io as instance_io
from fluxscale.instance.build import assemble
from fluxscale.instance.columns import check_columns
from fluxscale.instance.instance import COLUMNS, Instance
from fluxscale.instance.io import load_instance, save_instance
from fluxscale.instance.names import LABEL_COLUMNS, Names, OpLabels
from fluxscale.workload.dag_json import read_dag

OPS = [
    {"id": "c", "kind": "compute", "device": "a", "duration": 5},
    {"id": "d", "kind": "compute", "device": "a", "duration": 6},
    {"id": "é", "kind": "transfer", "src": "a", "dst": "b", "bytes": 1000, "after": ["c"]},
    {"id": "g", "kind": "gang", "circuits": [["a", "b"], ["b", "a"]], "duration": 9, "after": ["c", "d"]},
    {"id": "l", "kind": "local", "duration": 3},
]


def instance() -> Instance:
    dag = read_dag({"format": "fluxscale-dag", "version": 1, "ops": OPS})
    return assemble(dag, parse_fabric({"fabric": {"planes": 2, "boundary": "cyclic", "nic_buffer": "1MiB"}}))


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        load_instance(path)
    text = str(caught.value)
    assert "\n" not in text
    assert str(path) in text
    return text


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path: Path, content: dict[str, bytes | None]) -> None:
    found = members(path) | content
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in found.items():
            if data is not None:
                archive.writestr(name, data)


def npy(values: Any, dtype: str) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array(values, dtype=dtype), allow_pickle=dtype == "O")
    return buffer.getvalue()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return save_instance(tmp_path / "x.flux.npz", instance())


def test_what_is_saved_is_loaded(path: Path) -> None:
    first, again = instance(), load_instance(path)
    assert again.sha256 == first.sha256
    assert (again.boundary, again.nic_buffer_bytes, again.tick_ns) == (2, 2**20, 1)
    assert again.names == first.names
    for name in COLUMNS:
        column = getattr(again, name)
        assert column.dtype == getattr(first, name).dtype
        assert not column.flags.writeable


def test_labels_are_kept(tmp_path: Path) -> None:
    first = instance()
    columns = [np.arange(first.n_ops, dtype=np.int16) for _ in LABEL_COLUMNS]
    named = replace(first, names=Names(labels=OpLabels(*columns)))
    again = load_instance(save_instance(tmp_path / "y.npz", named))
    assert [again.names.op(k) for k in range(5)] == [named.names.op(k) for k in range(5)]


def test_equal_instances_give_equal_bytes_and_numpy_reads_them(path: Path, tmp_path: Path) -> None:
    again = save_instance(tmp_path / "z.npz", load_instance(path))
    assert again.read_bytes() == path.read_bytes()
    with np.load(path) as columns:
        assert columns["op_fixed_ticks"].tolist() == [5, 6, -1, 9, 3]


def test_nothing_half_written_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(instance_io, "_write", full_disk)
    with pytest.raises(InputError, match="cannot be written: No space left"):
        save_instance(path, instance())
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown kind of instance file"):
        save_instance(tmp_path / "x.json", instance())
    with pytest.raises(InputError, match="cannot be written"):
        save_instance(tmp_path / "absent" / "x.npz", instance())


def test_what_is_no_instance_file(tmp_path: Path, path: Path) -> None:
    assert "no such file" in refused(tmp_path / "absent.npz")
    assert "is a directory" in refused(tmp_path)
    junk = tmp_path / "junk.npz"
    junk.write_bytes(b"junk")
    assert "no readable instance file" in refused(junk)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    assert "no readable instance file" in refused(path)
    with zipfile.ZipFile(junk, "w") as archive:
        archive.writestr("a.npy", b"")
    assert "header.json is missing" in refused(junk)


@pytest.mark.parametrize("bit", [0, 7])
def test_flipped_bits_are_noticed_or_harmless(path: Path, bit: int) -> None:
    data, sha256 = path.read_bytes(), instance().sha256
    for place in range(0, len(data), 11):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])
        try:
            # What still loads had the flip in a time stamp or the like, which nothing is read from.
            good = load_instance(path).sha256 == sha256
        except InputError as error:
            good = "\n" not in str(error)
        assert good, place


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"op_bytes.npy": npy([0, 0, 1001, 0, 0], "<i8")}, "does not match its hash"),
        ({"op_bytes.npy": None}, "op_bytes.npy is missing"),
        ({"op_bytes.npy": b"junk"}, "op_bytes: is no npy column"),
        ({"op_bytes.npy": npy([0] * 5, "<i4")}, "op_bytes: must be <i8"),
        ({"op_bytes.npy": npy([None] * 5, "O")}, "op_bytes: must be <i8"),
        ({"op_bytes.npy": npy([[0] * 5], "<i8")}, "of 1 axes"),
        ({"op_bytes.npy": npy([0] * 5, "<i8")[:-1]}, "39 bytes for the shape"),
        ({"attach.npy": npy([0, 0], "<i4")}, "attach: must be <i4 of 2 axes"),
        ({"op_bytes.npy": npy([0] * 4, "<i8")}, "op_bytes: has 4 entries instead of 5"),
        ({"header.json": b"{"}, "header is not JSON"),
        ({"header.json": b"[" * 100_000}, "header is not JSON"),
        ({"header.json": b"{}"}, "the format must be"),
    ],
)
def test_damaged_members(path: Path, change: dict[str, bytes | None], part: str) -> None:
    rewrite(path, change)
    assert part in refused(path)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"version": 2}, "version: unknown version"),
        ({"version": True}, "version: unknown version"),
        ({"sha256": 3}, "wrong type"),
        ({"sha256": "0" * 64}, "does not match its hash"),
        ({"labels": 1}, "wrong type"),
        ({"labels": True}, "no readable instance file"),
        ({"scalars": {}}, "scalars"),
        ({"scalars": {"boundary": 3, "nic_buffer_bytes": 0, "tick_ns": 1}}, "boundary: must be from 0 to 2"),
        ({"scalars": {"boundary": 0, "nic_buffer_bytes": 0.5, "tick_ns": 1}}, "nic_buffer_bytes"),
        ({"names": {}}, "names"),
        ({"names": {"ops": [1], "devices": [], "endpoints": [], "planes": []}}, "names.ops"),
        ({"names": {"ops": ["x"], "devices": [], "endpoints": [], "planes": []}}, "names.ops: has 1 entries"),
    ],
)
def test_damaged_headers(path: Path, change: dict[str, Any], part: str) -> None:
    header = json.loads(members(path)["header.json"])
    rewrite(path, {"header.json": json.dumps(header | change).encode()})
    assert part in refused(path)


def test_files_that_unpack_to_too_much(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instance_io, "MAX_UNPACKED_BYTES", 1000)
    assert "unpacks to more than" in refused(path)


def test_a_member_given_twice(path: Path) -> None:
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("op_bytes.npy", b"")
    assert "given twice" in refused(path)


def test_an_instance_that_cannot_be_scheduled_is_refused(path: Path, tmp_path: Path) -> None:
    apart = replace(instance(), attach=np.array([[0, 1], [0, -1]]))
    with pytest.raises(InputError, match="on no common OCS"):
        load_instance(save_instance(tmp_path / "apart.npz", apart))


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"op_kind": [0, 0, 1, 2, 4]}, "op_kind: entry 4 must be from 0 to 3 (got 4)"),
        ({"op_device": [0, 0, -1, -1, 0]}, "op_device: entry 4"),
        ({"op_device": [0, 7, -1, -1, -1]}, "op_device: entry 1 must be from -1 to 0"),
        ({"op_fixed_ticks": [5, -1, -1, 9, 3]}, "op_fixed_ticks: entry 1 must be a duration"),
        ({"op_bytes": [0, 0, -5, 0, 0]}, "op_bytes: entry 2"),
        ({"pred_indptr": [0, 0, 0, 1, 3, 4]}, "pred_indptr: must run from 0 to 3"),
        ({"pred_indptr": [0, 2, 0, 1, 3, 3]}, "pred_indptr: entry 1 is followed by a smaller one"),
        ({"pred_index": [0, 0, 9]}, "pred_index: entry 2 must be from 0 to 4 (got 9)"),
        ({"pred_index": [3, 0, 2]}, "wait for each other in a cycle"),
        ({"device_ops": [0, 0]}, "device_ops: must hold each compute op once"),
        ({"device_ops": [0, 2]}, "device_ops: entry 1 is an op of another device"),
        ({"leg_indptr": [0, 0, 0, 2, 3, 3]}, "leg_indptr: entry 2 has a number of circuits"),
        ({"leg_rx": [0, 1, 0]}, "leg_rx: entry 0 sends to itself"),
        ({"leg_rx": [5, 1, 0]}, "leg_rx: entry 0 must be from 0 to 1"),
        ({"leg_rx": [1, 1]}, "leg_rx: has 2 entries instead of 3"),
        ({"plane_rate_bps": [0, 1]}, "plane_rate_bps: entry 0 must be from 1"),
        ({"plane_delay_ticks": [1, -1]}, "plane_delay_ticks: entry 1"),
        ({"attach": [[0, 0], [0, -2]]}, "attach: entry 3"),
        ({"names": Names(labels=OpLabels(*[np.zeros(4, dtype=np.int8)] * 7))}, "label.role: has 4 entries"),
        ({"names": Names(labels=OpLabels(*[np.full(5, 99, dtype=np.int8)] * 7))}, "label.role: entry 0 is no role"),
    ],
)
def test_columns_that_contradict_each_other(change: dict[str, Any], part: str) -> None:
    values = {key: value if isinstance(value, Names) else np.array(value) for key, value in change.items()}
    with pytest.raises(InputError) as caught:
        check_columns(replace(instance(), **values), file="x.npz")
    assert part in str(caught.value)
