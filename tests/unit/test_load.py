"""Finding a job, its fabric, and changing single fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fluxscale.errors import InputError, UnsupportedError
from fluxscale.instance.build import build_instance
from fluxscale.workload import job as job_module
from fluxscale.workload import presets
from fluxscale.workload.load import job_from_description, load_job

JOB = """
[parallel]
pp = 2
micro_batches = 2
[timing]
forward = "3ms"
backward = "6ms"
transfer = "1ms"
[hardware]
gpus_per_host = 1
"""
FABRIC = '[fabric]\nrate = "100Gbps"\nreconfiguration_delay = "2ms"\n'
OPS = [
    {"id": "c", "kind": "compute", "device": "a", "duration": 5},
    {"id": "t", "kind": "transfer", "src": "a", "dst": "b", "bytes": 1000, "after": ["c"]},
]
DAG = {"format": "fluxscale-dag", "version": 1, "ops": OPS}
ASSUMED = "fabric assumed: one plane per rail, 400 Gbps, reconfiguration 10 ms, per-port, simplex, boundary dark"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    texts = {"tiny": f'name = "other"\n{JOB}{FABRIC}', "small-one": JOB}
    monkeypatch.setattr(presets, "preset_names", lambda: sorted(texts))
    monkeypatch.setattr(presets, "preset_text", texts.__getitem__)
    monkeypatch.chdir(tmp_path)
    for name, text in {"j.toml": JOB, "f.toml": FABRIC, "d.json": json.dumps(DAG)}.items():
        Path(name).write_text(text)
    return tmp_path


def refused(ref: Any, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        load_job(ref, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_preset_is_known_by_its_name_and_says_that_its_fabric_is_assumed() -> None:
    job = load_job("tiny")
    assert (job.name, job.kind, job.dag_document) == ("tiny", "job", None)
    assert job.fabric.rate == 10**11
    assert job.notes[0].startswith("fabric assumed: one plane per rail, 100 Gbps, reconfiguration 2 ms")
    assert job.spec is not None
    assert job.spec.parallel.pp == 2
    assert build_instance(job).n_ops > 0


def test_a_job_without_a_fabric_gets_the_default_and_says_so() -> None:
    job = load_job("j.toml")
    assert job.name == "j"
    assert job.notes[0].startswith(ASSUMED)
    assert load_job(Path("j.toml")).fabric == job.fabric


def test_a_name_in_the_job_wins_over_the_name_of_its_file() -> None:
    Path("n.toml").write_text(f'name = "mine"\n{JOB}{FABRIC}')
    job = load_job("n.toml")
    assert job.name == "mine"
    assert job.notes == ()


def test_a_fabric_file_is_found_beside_the_job(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "k.toml").write_text(f'fabric = "../f.toml"\n{JOB}')
    for place, ref in ((folder, "sub/k.toml"), (folder / "sub", "k.toml")):
        monkeypatch.chdir(place)
        job = load_job(ref)
        assert job.fabric.rate == 10**11
        assert job.notes == ()
    (folder / "sub" / "k.toml").write_text(f'fabric = "absent.toml"\n{JOB}')
    assert "absent.toml: no such file" in refused("k.toml")


@pytest.mark.parametrize("ref", ["tiny", "j.toml", "d.json"])
def test_a_fabric_given_beside_replaces_that_of_the_job(ref: str) -> None:
    Path("g.toml").write_text('[fabric]\nrate = "7Gbps"')
    job = load_job(ref, fabric_file="g.toml")
    assert job.fabric.rate == 7 * 10**9
    assert job.fabric.reconfiguration_delay == 10**7
    assert job.notes == ()


def test_a_dag() -> None:
    job = load_job("d.json")
    assert (job.name, job.kind, job.spec) == ("d", "dag", None)
    assert job.notes[0].startswith(ASSUMED)
    assert build_instance(job).n_ops == 2
    assert load_job("d.json", overrides=["fabric.planes=2"]).fabric.planes == 2


def test_errors_in_the_ops_of_a_dag_name_its_file() -> None:
    Path("d.json").write_text(json.dumps(DAG | {"ops": [OPS[0] | {"duration": -1}]}))
    with pytest.raises(InputError, match=r"d\.json: op 'c': duration"):
        build_instance(load_job("d.json"))


@pytest.mark.parametrize(
    ("ref", "parts"),
    [
        ("tinny", ["unknown preset or file", "'tinny'", "did you mean 'tiny'?"]),
        ("zzz", ["unknown preset or file", "one of small-one, tiny."]),
        ("absent.toml", ["absent.toml: no such file"]),
        ("absent.json", ["absent.json: no such file"]),
        (".", ["is a directory"]),
        ("x.toml", ["x.toml: is a directory"]),
        ("odd.yaml", ["odd.yaml", "unknown kind of file", "'.yaml'"]),
        ("bad.toml", ["bad.toml: not TOML", "line 1"]),
        ("bad.json", ["bad.json: not JSON", "line 1"]),
        ("list.json", ["list.json", "must be an object"]),
        ("", ["is a directory"]),
    ],
)
def test_what_is_no_job(ref: str, parts: list[str]) -> None:
    Path("x.toml").mkdir()
    for name, text in {"odd.yaml": "", "bad.toml": "= 3", "bad.json": "{", "list.json": "[]"}.items():
        Path(name).write_text(text)
    text = refused(ref)
    for part in parts:
        assert part in text


@pytest.mark.parametrize("ref", ["trace.et", "trace.csv", "trace.json.gz"])
def test_traces_are_not_read_yet(ref: str) -> None:
    with pytest.raises(UnsupportedError, match=r"trace import is not there yet.*convert it to DAG JSON"):
        load_job(ref)


def test_overrides_of_fabric_and_job() -> None:
    sets = ["fabric.reconfiguration_delay=25ms", "parallel.dp = 4", 'fabric.rule="all-stop"', "timing.dp=4ms"]
    job = load_job("j.toml", overrides=[*sets, "fabric.planes=2", "fabric.planes=3", "name=mine"])
    assert job.fabric.reconfiguration_delay == 25 * 10**6
    assert (job.fabric.rule, job.fabric.planes, job.name) == ("all-stop", 3, "mine")
    assert job.spec is not None
    assert (job.spec.parallel.dp, job.spec.timing.dp) == (4, 4 * 10**6)
    assert "reconfiguration 25 ms" in job.notes[0]


def test_overrides_of_one_plane() -> None:
    Path("p.toml").write_text(f'{JOB}[[fabric.plane]]\nrate = "1Gbps"\n[[fabric.plane]]\n')
    job = load_job("p.toml", overrides=["fabric.plane.1.rate=2Gbps"])
    assert job.fabric.plane is not None
    assert [plane.rate for plane in job.fabric.plane] == [10**9, 2 * 10**9]
    for key, part in (
        ("fabric.plane.2.rate", "no such [[fabric.plane]]"),
        ("fabric.plane.x.rate", "must name a plane"),
        ("fabric.plane.0", "must name a plane"),
        ("fabric.plane.0.ratt", "did you mean 'rate'"),
    ):
        assert part in refused("p.toml", overrides=[f"{key}=1Gbps"])


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("fabric.rate", ["--set", "KEY=VALUE", "'fabric.rate'"]),
        ("=3", ["KEY=VALUE"]),
        ("fabric..rate=3", ["KEY=VALUE"]),
        ("fabrik.rate=1Gbps", ["fabrik.rate", "unknown section", "did you mean 'fabric'?"]),
        ("fabric.rat=1Gbps", ["fabric.rat", "unknown field of fabric", "did you mean 'rate'?"]),
        ("parallel.ddp=1", ["parallel.ddp", "unknown field of parallel", "did you mean"]),
        ("parallel.dp.x=1", ["parallel.dp.x", "too deep"]),
        ("name.x=1", ["name.x", "no fields"]),
        ("fabric=f.toml", ["fabric", "names a section", "--fabric FILE"]),
        ("timing=1", ["timing", "names a section"]),
        ("fabric.rate=400GB", ["fabric.rate", "wrong unit 'GB'"]),
        ("fabric.rate=nan", ["fabric.rate", "finite"]),
        ("fabric.planes=inf", ["fabric.planes", "integer"]),
        ("parallel.dp=two", ["parallel.dp", "'two'"]),
        ("parallel.dp=1\nfabric.planes=3", ["parallel.dp"]),
    ],
)
def test_bad_overrides(text: str, parts: list[str]) -> None:
    found = refused("j.toml", overrides=[text])
    for part in parts:
        assert part in found


def test_a_dag_has_no_sections_of_a_job() -> None:
    assert "a DAG has only a fabric" in refused("d.json", overrides=["parallel.dp=2"])


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("fabric = 3", "fabric: should be a table"),
        ("[fabrik]", "fabrik"),
        ("[fabric]\nrat = 1", "fabric.rat: unknown key"),
    ],
)
def test_bad_fabrics(text: str, part: str) -> None:
    Path("q.toml").write_text(text + "\n" + JOB if "[" not in text else JOB + text)
    assert part in refused("q.toml")
    Path("g.toml").write_text(text)
    assert "g.toml" in refused("j.toml", fabric_file="g.toml")
    assert "is a directory" in refused("j.toml", fabric_file=".")


@pytest.mark.parametrize("ref", ["tiny", "j.toml", "d.json"])
def test_a_description_makes_the_same_instance(ref: str) -> None:
    job = load_job(ref, overrides=["fabric.latency=3us"])
    described = json.loads(json.dumps(job.describe()))
    again = job_from_description(described)
    assert (again.name, again.kind, again.fabric) == (job.name, job.kind, job.fabric)
    assert build_instance(again).sha256 == build_instance(job).sha256
    assert again.describe() == described


def test_a_large_dag_is_named_by_file_and_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_module, "EMBED_OPS", 1)
    job = load_job("d.json")
    described = job.describe()
    assert "dag" not in described
    assert Path(described["dag_file"]).is_absolute()
    assert build_instance(job_from_description(described)).sha256 == build_instance(job).sha256
    Path("d.json").write_text(json.dumps(DAG, indent=1))
    with pytest.raises(InputError, match="has changed since the schedule was made"):
        job_from_description(described)
    Path("d.json").unlink()
    with pytest.raises(InputError, match="no such file"):
        job_from_description(described)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"kind": "x"}, "source.kind"),
        ({"name": 3}, "does not describe a job"),
        ({"fabric": None}, "source.fabric"),
        ({"fabric": {"rate": -1}}, "fabric.rate"),
        ({"job": []}, "source.job"),
        ({"job": {"parallel": {"pp": 0}}}, "pp"),
        ({"kind": "dag"}, "must be an object"),
    ],
)
def test_descriptions_are_not_trusted(change: dict[str, Any], part: str) -> None:
    described = load_job("tiny").describe() | change
    with pytest.raises(InputError) as caught:
        job_from_description(described, file="s.json")
    assert part in str(caught.value)
