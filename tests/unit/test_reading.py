"""Files that nobody vouches for: whatever is wrong with one, the answer is one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxscale.errors import InputError
from fluxscale.kernels.text import json_depth
from fluxscale.workload.reading import MAX_DEPTH, parse_toml, read_json, read_toml


def write(tmp_path: Path, data: bytes | str) -> Path:
    path = tmp_path / "file"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def refused(reader: object, path: Path, **options: int) -> str:
    with pytest.raises(InputError) as caught:
        reader(path, **options)  # type: ignore[operator]
    text = str(caught.value)
    assert "\n" not in text
    assert str(path) in text
    assert caught.value.exit_code == 2
    return text


def test_both_read_what_is_right(tmp_path: Path) -> None:
    assert read_toml(write(tmp_path, "[a]\nb = 1")) == {"a": {"b": 1}}
    assert read_json(write(tmp_path, '{"a": [1, "é", null]}')) == {"a": [1, "é", None]}


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    assert read_toml(write(tmp_path, "\ufeffa = 1")) == {"a": 1}
    assert read_json(write(tmp_path, "\ufeff[1]")) == [1]


@pytest.mark.parametrize("reader", [read_toml, read_json])
def test_missing_directory_large_and_not_text(reader: object, tmp_path: Path) -> None:
    assert "no such file" in refused(reader, tmp_path / "absent")
    assert "is a directory" in refused(reader, tmp_path)
    assert "larger than 3 bytes" in refused(reader, write(tmp_path, "1234"), max_bytes=3)
    assert "not UTF-8 text: byte 0xff in line 2" in refused(reader, write(tmp_path, b"\n\xff"))
    assert "cannot be read" in refused(reader, Path(f"{tmp_path}/a\0b"))


def test_an_endless_file_is_not_read_to_its_end() -> None:
    assert "larger than 1048576 bytes" in refused(read_toml, Path("/dev/zero"))


def test_malformed_text_is_located(tmp_path: Path) -> None:
    text = refused(read_toml, write(tmp_path, "a = 1\nb = = 2"))
    assert "not TOML" in text
    assert "line 2, column 5" in text
    text = refused(read_json, write(tmp_path, '{"a": 1,\n "b" 2}'))
    assert "not JSON" in text
    assert "line 2, column 6" in text
    assert "line 1, column 1" in refused(read_json, write(tmp_path, ""))
    assert "not TOML" in refused(read_toml, write(tmp_path, "a = 1\na = 2"))


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_json_numbers_are_finite(tmp_path: Path, word: str) -> None:
    text = refused(read_json, write(tmp_path, f'{{"bytes": {word}}}'))
    assert "must be finite" in text
    assert word in text


def test_a_number_of_five_thousand_digits(tmp_path: Path) -> None:
    assert "not JSON" in refused(read_json, write(tmp_path, "1" * 5000))
    assert "not TOML" in refused(read_toml, write(tmp_path, "a = " + "1" * 5000))


def test_a_key_given_twice(tmp_path: Path) -> None:
    text = refused(read_json, write(tmp_path, '{"ops": [{"id": "a", "id": "b"}]}'))
    assert "a key is given twice in one object (got 'id')" in text


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 5000, 200_000])
def test_too_deep(tmp_path: Path, depth: int) -> None:
    assert "deeper than 64" in refused(read_json, write(tmp_path, "[" * depth + "]" * depth))
    assert "deeper than 64" in refused(read_toml, write(tmp_path, "a = " + "[" * depth + "]" * depth))


def test_just_deep_enough(tmp_path: Path) -> None:
    read_json(write(tmp_path, "[" * MAX_DEPTH + "]" * MAX_DEPTH))
    parse_toml("a = " + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1), file="x")


def plain_depth(value: object) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(plain_depth, value), default=0) if isinstance(value, list) else 0


@given(st.recursive(st.text('[]{}\\"a'), lambda inner: st.lists(inner) | st.dictionaries(st.text('[{"\\'), inner)))
def test_depth_agrees_with_the_plain_count(value: object) -> None:
    assert json_depth(np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)) == plain_depth(value)
