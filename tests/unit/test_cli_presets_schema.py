import json
import tomllib

import jsonschema
import pytest

from fluxscale.cli import main
from fluxscale.report.text import WIDTH
from fluxscale.workload.presets import preset_names


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main.run(list(arguments))
    said = capsys.readouterr()
    return end.value.code, said.out, said.err


def test_the_list_names_every_preset(capsys):
    code, out, _ = run(capsys, "presets")
    assert code == 0
    header, *body = out.splitlines()
    assert header.split() == ["name", "GPUs", "parallelism", "switch", "source"]
    assert [line.split()[0] for line in body if not line.startswith(" ")] == preset_names()
    assert max(map(len, out.splitlines())) <= WIDTH
    assert "16,384" in out


def test_the_list_as_json(capsys):
    code, out, _ = run(capsys, "presets", "--json")
    assert code == 0
    found = {entry["name"]: entry for entry in json.loads(out)}
    main_job = found["llama3-405b-16k"]
    assert main_job["gpus"] == 16384
    assert main_job["parallelism"] == "tp8 pp16 x8 dp128"
    assert main_job["switch"] == "400 Gbps 10 ms"
    assert all(entry["source"] for entry in found.values())


def test_a_preset_to_copy(capsys):
    code, out, _ = run(capsys, "presets", "tiny-4x8")
    assert code == 0
    assert tomllib.loads(out)["name"] == "tiny-4x8"
    code, out, _ = run(capsys, "presets", "tiny-4x8", "--json")
    assert tomllib.loads(json.loads(out)["toml"])["name"] == "tiny-4x8"


def test_an_unknown_preset_gets_the_near_one(capsys):
    code, out, err = run(capsys, "presets", "tiny-4x9")
    assert (code, out) == (2, "")
    assert "did you mean 'tiny-4x8'" in err


@pytest.mark.parametrize("kind", ["job", "fabric", "dag", "schedule"])
def test_every_schema_is_a_schema(capsys, kind):
    code, out, _ = run(capsys, "schema", kind)
    assert code == 0
    schema = json.loads(out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]
