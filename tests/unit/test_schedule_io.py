"""Schedule files: round trips, order does not matter, and every kind of damage gives one line."""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import zipfile
from dataclasses import replace

import jsonschema
import numpy as np
import pytest

from fluxscale.errors import InputError
from fluxscale.instance.instance import Instance
from fluxscale.instance.names import Names
from fluxscale.schedule import io as schedule_io
from fluxscale.schedule import npz_form
from fluxscale.schedule.circuits import make_schedule
from fluxscale.schedule.io import load_schedule, save_schedule
from fluxscale.schedule.schedule import COLUMNS
from fluxscale.schedule.schema import schedule_schema
from tests.naive_replay import random_instance, random_schedule

NAMES = Names(ops=("fwd", "act", "ring", "bwd"), devices=("gpu0",), endpoints=("a", "b", "c"), planes=("red", "blue"))
SOURCE = {"kind": "dag", "dag": {"ops": []}, "fabric": {"planes": 2}}


def world(**changes) -> Instance:
    """Compute, a transfer, a gang with two legs between the same ends and one more, compute."""
    instance = Instance(
        op_kind=[0, 1, 2, 0],
        op_device=[0, -1, -1, 0],
        op_bytes=[0, 20, 30, 0],
        op_fixed_ticks=[10, -1, -1, 10],
        pred_indptr=[0, 0, 1, 2, 3],
        pred_index=[0, 1, 2],
        device_indptr=[0, 2],
        device_ops=[0, 3],
        leg_indptr=[0, 0, 1, 4, 4],
        leg_tx=[0, 0, 0, 1],
        leg_rx=[1, 1, 1, 2],
        plane_rate_bps=[8 * 10**9] * 2,
        plane_latency_ticks=[0, 0],
        plane_delay_ticks=[5, 5],
        plane_radix=[0, 0],
        plane_all_stop=[False, False],
        plane_duplex=[False, False],
        attach=np.zeros((2, 3)),
        injection_rate_bps=[8 * 10**9] * 2,
        boundary=1,
        names=NAMES,
    )
    return replace(instance, **changes)


@pytest.fixture
def instance():
    return world()


@pytest.fixture
def schedule(instance):
    return make_schedule(instance, np.array([0, 10, 30, 60]), np.array([0, 0, 1, 1]))


def document(path, instance, schedule):
    return json.loads(save_schedule(path, schedule, instance=instance).read_text())


def edited(tmp_path, raw):
    path = tmp_path / "edited.json"
    path.write_text(json.dumps(raw))
    return path


@pytest.mark.parametrize("ending", [".json", ".npz"])
def test_round_trip(tmp_path, instance, schedule, ending):
    path = save_schedule(
        tmp_path / f"s{ending}", schedule, instance=instance, provenance={"seed": 3, "name": "µ"}, source=SOURCE
    )
    saved = load_schedule(path)
    assert saved.provenance == {"seed": 3, "name": "µ"}
    assert saved.source == SOURCE
    assert saved.instance_sha256 == instance.sha256
    assert saved.header.iteration_time_ns == schedule.iteration_time_ticks
    assert saved.bind(instance).sha256 == schedule.sha256
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("ending", [".json", ".npz"])
def test_round_trip_of_random_schedules(tmp_path, seed, ending):
    instance = random_instance(seed)
    schedule = random_schedule(instance, seed)
    path = save_schedule(tmp_path / f"s{ending}", schedule, instance=instance)
    assert load_schedule(path).bind(instance).sha256 == schedule.sha256


def test_json_says_what_it_means(tmp_path, instance, schedule):
    raw = document(tmp_path / "s.json", instance, schedule)
    assert (raw["format"], raw["version"], raw["tick_ns"]) == ("fluxscale-schedule", 1, 1)
    assert raw["ops"] == {"id": ["fwd", "act", "ring", "bwd"], "start_ns": [0, 10, 30, 60]}
    assert raw["transfers"]["op"] == ["act", "ring", "ring", "ring"]
    assert raw["transfers"]["plane"] == ["red", "red", "blue", "blue"]
    assert raw["transfers"]["start_ns"] == [10, 30, 30, 30]
    assert set(raw["circuits"]) == {"plane", "tx", "rx", "up_from_ns", "up_to_ns"}
    jsonschema.Draft202012Validator.check_schema(schedule_schema())
    jsonschema.validate(raw, schedule_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(raw | {"oops": 1}, schedule_schema())


def test_times_are_in_ns_whatever_the_tick(tmp_path):
    instance = world(tick_ns=10)
    schedule = make_schedule(instance, np.array([0, 10, 12, 20]), np.array([0, 0, 1, 1]))
    raw = document(tmp_path / "s.json", instance, schedule)
    assert raw["ops"]["start_ns"] == [0, 100, 120, 200]
    assert load_schedule(tmp_path / "s.json").bind(instance).sha256 == schedule.sha256
    raw["ops"]["start_ns"][1] = 101
    with pytest.raises(InputError, match=r"ops.start_ns: is not a multiple of the tick \(10 ns\) \(got 101\)"):
        load_schedule(edited(tmp_path, raw)).bind(instance)


def test_rows_may_come_in_any_order(tmp_path, instance, schedule):
    raw = document(tmp_path / "s.json", instance, schedule)
    rng = random.Random(1)
    for section in ("ops", "transfers"):
        rows = list(range(len(raw[section]["start_ns"])))
        rng.shuffle(rows)
        raw[section] = {key: [column[i] for i in rows] for key, column in raw[section].items()}
    bound = load_schedule(edited(tmp_path, raw)).bind(instance)
    assert bound.op_start_ticks.tolist() == schedule.op_start_ticks.tolist()
    # The two legs of the gang between the same ends may swap their planes; nothing else may change.
    assert sorted(bound.leg_plane[1:3].tolist()) == [0, 1]
    assert bound.leg_plane[[0, 3]].tolist() == [0, 1]


def test_a_foreign_file_needs_no_hash_provenance_or_transfer_starts(tmp_path, instance, schedule):
    raw = document(tmp_path / "s.json", instance, schedule)
    for key in ("instance_sha256", "provenance", "source", "tick_ns"):
        del raw[key]
    del raw["transfers"]["start_ns"]
    jsonschema.validate(raw, schedule_schema())
    saved = load_schedule(edited(tmp_path, raw))
    assert (saved.instance_sha256, saved.provenance, saved.source) == (None, {}, None)
    assert saved.bind(instance).sha256 == schedule.sha256


def test_ops_that_are_called_alike_get_their_number(tmp_path):
    instance = world(names=Names(ops=("x", "y", "x", "x")))
    schedule = make_schedule(instance, np.array([0, 10, 30, 60]), np.array([0, 0, 1, 1]))
    raw = document(tmp_path / "s.json", instance, schedule)
    assert raw["ops"]["id"] == ["x#0", "y", "x#2", "x#3"]
    assert load_schedule(tmp_path / "s.json").bind(instance).sha256 == schedule.sha256


def change(*path_and_value):
    *path, value = path_and_value

    def edit(raw):
        for key in path[:-1]:
            raw = raw[key]
        raw[path[-1]] = value

    return edit


def drop(*path):
    def edit(raw):
        for key in path[:-1]:
            raw = raw[key]
        del raw[path[-1]]

    return edit


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (change("format", "fluxscale-dag"), "format: not a schedule file"),
        (change("version", 2), r"version: unknown version .*got 2.* Maybe: this fluxscale reads versions 1 to 1"),
        (change("version", True), "version: unknown version"),
        (change("instance_sha256", "abc"), "instance_sha256: must be 64 hexadecimal digits"),
        (change("tick_ns", 0), "tick_ns: must be from 1"),
        (change("iteration_time_ns", 1.5), "iteration_time_ns: must be a whole number"),
        (change("iteration_time_ns", -1), "iteration_time_ns: must be a whole number"),
        (drop("iteration_time_ns"), "iteration_time_ns: is missing"),
        (change("provenance", []), "provenance: must be an object"),
        (change("circuit", {}), "unknown key 'circuit'. Maybe: did you mean 'circuits'"),
        (change("ops", "starts_ns", []), "ops: unknown key 'starts_ns'. Maybe: did you mean 'start_ns'"),
        (drop("circuits"), "circuits: must be an object of columns"),
        (drop("circuits", "tx"), "circuits.tx: must be a list"),
        (change("ops", "id", 0, 7), r"ops.id: entry 0 must be a name \(got 7\)"),
        (change("ops", "start_ns", 1, True), "ops.start_ns: entry 1 must be a whole number"),
        (change("ops", "start_ns", 1, -3), r"ops.start_ns: entry 1 must be from 0 to 2\*\*62"),
        (change("ops", "start_ns", 1, 2**63), r"ops.start_ns: entry 1 must be from 0 to 2\*\*62"),
        (change("ops", "start_ns", [0]), "ops.start_ns: has 1 entries, the other columns 4"),
    ],
)
def test_bad_documents(tmp_path, instance, schedule, edit, message):
    raw = document(tmp_path / "s.json", instance, schedule)
    edit(raw)
    with pytest.raises(InputError, match=message) as caught:
        load_schedule(edited(tmp_path, raw))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "edited.json"))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (change("instance_sha256", "0" * 64), "this schedule is for another instance .* Maybe: give the job"),
        (change("tick_ns", 2), "tick_ns: ticks differ"),
        (change("ops", "id", 1, "acts"), "ops.id: unknown op 'acts'. Maybe: did you mean 'act'"),
        (change("ops", "id", 1, "fwd"), "ops.id: op 'fwd' appears twice"),
        (lambda raw: [column.pop() for column in raw["ops"].values()], "ops.id: op 'bwd' is missing"),
        (change("transfers", "op", 0, "fwd"), "transfers: op 'fwd' has no circuit a -> b"),
        (change("transfers", "rx", 0, "c"), "transfers: op 'act' has no circuit a -> c"),
        (change("transfers", "rx", 0, "d"), "transfers.rx: unknown endpoint 'd'"),
        (change("transfers", "plane", 0, "bleu"), "transfers.plane: unknown plane 'bleu'. Maybe: did you mean 'blue'"),
        (
            lambda raw: raw["transfers"].update(tx=["a"] * 4, rx=["b"] * 4),
            "circuit a -> b of op 'ring' appears too often",
        ),
        (
            lambda raw: [column.pop() for column in raw["transfers"].values()],
            "transfers: circuit b -> c of op 'ring' is missing",
        ),
        (change("transfers", "start_ns", 0, 11), r"op 'act' starts at 10 ns in ops but not here \(got 11\)"),
        (change("circuits", "tx", 0, "z"), "circuits.tx: unknown endpoint 'z'"),
    ],
)
def test_documents_that_do_not_fit_the_instance(tmp_path, instance, schedule, edit, message):
    raw = document(tmp_path / "s.json", instance, schedule)
    edit(raw)
    saved = load_schedule(edited(tmp_path, raw))
    with pytest.raises(InputError, match=message) as caught:
        saved.bind(instance)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "not valid JSON"),
        (b"[]", "must be one JSON object"),
        (b"{", "not valid JSON: .* at line 1, column 2"),
        (b'{"a": NaN}', r"not a finite number \(got 'NaN'\)"),
        (b'{"a": -Infinity}', "not a finite number"),
        (b'{"a": 1e999}', "not a finite number"),
        (b'{"a": 1, "a": 2}', "key 'a' is given twice"),
        (b'{"a": "\xff"}', "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "too many digits"),
    ],
)
def test_damaged_text(tmp_path, text, message):
    path = tmp_path / "s.json"
    path.write_bytes(text)
    with pytest.raises(InputError, match=message):
        load_schedule(path)


def test_missing_file_and_directory(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        load_schedule(tmp_path / "none.json")
    with pytest.raises(InputError, match="is a directory"):
        load_schedule(tmp_path)


def test_too_large(tmp_path, monkeypatch, instance, schedule):
    monkeypatch.setattr(schedule_io, "MAX_JSON_BYTES", 100)
    path = save_schedule(tmp_path / "s.json", schedule, instance=instance)
    with pytest.raises(InputError, match="larger than"):
        load_schedule(path)


def test_archive_bytes_depend_on_the_content_alone(tmp_path, instance, schedule):
    first = save_schedule(tmp_path / "1.npz", schedule, instance=instance, provenance={"b": 1, "a": 2})
    second = save_schedule(tmp_path / "2.npz", schedule, instance=instance, provenance={"a": 2, "b": 1})
    assert first.read_bytes() == second.read_bytes()
    with np.load(first, allow_pickle=False) as columns:
        assert columns["op_start_ticks"].tolist() == [0, 10, 30, 60]


def rewritten(path, members):
    """The archive with some members replaced (or left out: None)."""
    with zipfile.ZipFile(path) as old:
        content = {name: old.read(name) for name in old.namelist()} | members
    with zipfile.ZipFile(path, "w") as new:
        for name, data in content.items():
            if data is not None:
                new.writestr(name, data)
    return path


def npy(array, *, shape=None):
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    data = out.getvalue()
    return data if shape is None else data.replace(b"'shape': (4,)", shape)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"header.json": None}, "header.json is missing"),
        ({"leg_plane.npy": None}, "leg_plane.npy is missing"),
        ({"header.json": b"{"}, "header.json: not valid JSON"),
        ({"leg_plane.npy": b"junk"}, "leg_plane: not an npy column"),
        ({"leg_plane.npy": npy(np.zeros(4))}, r"leg_plane: must be one column of <i2 \(got 'float64"),
        ({"leg_plane.npy": npy(np.zeros((2, 2), dtype="<i2"))}, "leg_plane: must be one column"),
        ({"leg_plane.npy": npy(np.array([{}], dtype=object))}, "leg_plane: must be one column"),
        ({"leg_plane.npy": npy(np.zeros(4, dtype="<i2"), shape=b"'shape': (9,)")}, "has 8 bytes for 9 entries"),
        ({"leg_plane.npy": npy(np.zeros(4, dtype="<i2"), shape=b"'shape': (4)*")}, "leg_plane: not an npy column"),
    ],
)
def test_damaged_archives(tmp_path, instance, schedule, members, message):
    path = rewritten(save_schedule(tmp_path / "s.npz", schedule, instance=instance), members)
    with pytest.raises(InputError, match=message):
        load_schedule(path)


def test_a_pickle_is_never_opened(tmp_path, instance, schedule):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    path = save_schedule(tmp_path / "s.npz", schedule, instance=instance)
    rewritten(path, {"leg_plane.npy": pickle.dumps(Trap())})
    with pytest.raises(InputError):
        load_schedule(path)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("cut", [10, 200, -30])
def test_truncated_archive(tmp_path, instance, schedule, cut):
    path = save_schedule(tmp_path / "s.npz", schedule, instance=instance)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(InputError, match="damaged archive"):
        load_schedule(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_given_twice(tmp_path, instance, schedule):
    path = save_schedule(tmp_path / "s.npz", schedule, instance=instance)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("leg_plane.npy", b"")
    with pytest.raises(InputError, match="given twice"):
        load_schedule(path)


def test_an_unknown_compression(tmp_path, instance, schedule):
    path = save_schedule(tmp_path / "s.npz", schedule, instance=instance)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("more", b"x" * 100, compress_type=zipfile.ZIP_BZIP2)
    with pytest.raises(InputError, match="compressed in an unknown way"):
        load_schedule(path)


def test_flipped_bytes_are_noticed_or_harmless(tmp_path, instance, schedule):
    data = save_schedule(tmp_path / "s.npz", schedule, instance=instance).read_bytes()
    path = tmp_path / "flipped.npz"
    for at in range(4, len(data), 3):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :])
        try:
            load_schedule(path).bind(instance)
        except InputError as error:
            assert "\n" not in str(error)  # noqa: PT017


def test_an_archive_that_unpacks_too_far_is_refused(tmp_path, monkeypatch, instance, schedule):
    monkeypatch.setattr(npz_form, "MAX_UNPACKED", 100)
    path = save_schedule(tmp_path / "s.npz", schedule, instance=instance)
    with pytest.raises(InputError, match="unpacks to more than"):
        load_schedule(path)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("leg_plane", [0, 0, 1], "leg_plane: has 3 entries where the instance needs 4"),
        ("leg_plane", [0, 0, 1, 2], "leg_plane: entry 3 must be from 0 to 1"),
        ("op_start_ticks", [0, -1, 30, 60], r"op_start_ticks: entry 1 must be from 0 .*got -1"),
        ("circuit_tx", None, "circuit_tx: entry 0 must be from 0 to 2"),
    ],
)
def test_columns_that_do_not_fit_the_instance(tmp_path, instance, schedule, name, value, message):
    column = np.full(len(schedule.circuit_tx), 7) if value is None else np.array(value)
    path = save_schedule(tmp_path / "s.npz", schedule, instance=instance)
    rewritten(path, {f"{name}.npy": npy(column.astype(COLUMNS[name]))})
    with pytest.raises(InputError, match=message):
        load_schedule(path).bind(instance)


def test_numbers_without_the_hash_of_their_instance_are_refused(tmp_path, instance, schedule):
    path = save_schedule(tmp_path / "s.npz", schedule, instance=instance)
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
    rewritten(path, {"header.json": json.dumps(header | {"instance_sha256": None}).encode()})
    with pytest.raises(InputError, match="instance_sha256: must be given"):
        load_schedule(path)


def test_the_ending_follows_the_size(tmp_path, monkeypatch, instance, schedule):
    assert save_schedule(tmp_path / "small", schedule, instance=instance).name == "small.json"
    monkeypatch.setattr(schedule_io, "LARGE_OPS", 3)
    assert save_schedule(tmp_path / "large", schedule, instance=instance).name == "large.npz"


def test_what_cannot_be_saved(tmp_path, instance, schedule):
    with pytest.raises(InputError, match="unknown kind of schedule file"):
        save_schedule(tmp_path / "s.txt", schedule, instance=instance)
    with pytest.raises(InputError, match="another instance"):
        save_schedule(tmp_path / "s.json", schedule, instance=world(boundary=0))
    with pytest.raises(InputError, match="cannot write"):
        save_schedule(tmp_path / "none" / "s.json", schedule, instance=instance)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("ending", [".json", ".npz"])
@pytest.mark.parametrize("value", [float("nan"), object()])
def test_a_failed_save_leaves_the_old_file(tmp_path, instance, schedule, ending, value):
    path = save_schedule(tmp_path / f"s{ending}", schedule, instance=instance)
    before = path.read_bytes()
    with pytest.raises(InputError, match="provenance or source is not JSON"):
        save_schedule(path, schedule, instance=instance, provenance={"x": value})
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]
