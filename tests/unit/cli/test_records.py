"""Reading JSON values out of files of any shape, and saying where one is wrong."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.cli.formats import records as module
from threadkeep.cli.formats.items import Malformed
from threadkeep.cli.formats.records import Record, RecordReader


def read(data: bytes) -> list[Record | Malformed]:
    return list(RecordReader(io.BytesIO(data), "f"))


def values(data: bytes) -> list[object]:
    found = read(data)
    assert all(isinstance(each, Record) for each in found), found
    return [each.value for each in found if isinstance(each, Record)]


def problems(data: bytes) -> list[Malformed]:
    return [each for each in read(data) if isinstance(each, Malformed)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b" \n\n", []),
        (b"[]", []),
        (b"[\n]", []),
        (b'{"a": 1}', [{"a": 1}]),
        (b'{"a": 1}\n\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        (b'{"a": 1}\r\n{"a": 2}\r\n', [{"a": 1}, {"a": 2}]),
        (b'[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}]),
        (b'[\n  {"a": 1},\n  {"a": [\n2]}\n]\n', [{"a": 1}, {"a": [2]}]),
        (b"[1]\n[2]\n", [[1], [2]]),
        (b'{\n  "a": {\n  "b": 1}\n}\n', [{"a": {"b": 1}}]),
        (b'{\n "a": 1}\n{\n "a": 2}', [{"a": 1}, {"a": 2}]),
        (b'\xef\xbb\xbf{"a": 1}', [{"a": 1}]),
        ('[\n{"a": "é你🎉"}\n]'.encode(), [{"a": "é你🎉"}]),
    ],
)
def test_every_shape_gives_its_records(data: bytes, expected: list[object]) -> None:
    assert values(data) == expected


def test_records_have_their_number_and_first_line() -> None:
    lines = [str(each.origin) for each in read(b'[\n{"a":\n1},\n\n{"a": 2}]')]
    assert lines == ["f: record 1, line 2", "f: record 2, line 5"]
    assert [each.origin.line for each in read(b'{"a": 1}\n\n{"a": 2}\n')] == [1, 3]


def test_a_wrong_line_is_reported_and_the_others_are_read() -> None:
    found = read(b'{"a": 1}\n{"a": }\n{"a": 3}\n')
    assert [type(each).__name__ for each in found] == ["Record", "Malformed", "Record"]
    assert isinstance(found[1], Malformed)
    assert (found[1].origin.record, found[1].origin.line, found[1].fatal) == (2, 2, False)
    assert found[1].problem.startswith("not valid JSON: Expecting value (column 7)")


@pytest.mark.parametrize(
    ("data", "problem", "line"),
    [
        (b"hello", "a file begins with { or [", 1),
        (b'[\n{"a": 1},\n{"a" 2}\n]', "not valid JSON", 3),
        (b'[\n{"a": 1},\n', "truncated", 3),
        (b'[\n{"a": "\xff"}\n]', "not UTF-8", 2),
        (b'[\n{"a": 1},\n{"a": 2},\n\xff]', "not UTF-8", 4),
        (b'{\n"a": 1}\n\xff', "not UTF-8", 3),
        (b'{"a": 1}\n{"a": "\xff"}\n', "not UTF-8 text (byte 8 of the line", 2),
        (b'{"a": "cut off', "not valid JSON: Unterminated string", 1),
        (b'{"a": 1}\n' + b"[" * 100_000 + b"\n", "nested too deeply", 2),
    ],
)
def test_errors_name_the_line(data: bytes, problem: str, line: int) -> None:
    (found,) = problems(data)
    assert problem in found.problem
    assert found.origin.line == line


def test_a_record_over_the_limit_is_refused_without_reading_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LARGEST", 10_000)
    monkeypatch.setattr(module, "_CHUNK", 1000)
    (found,) = problems(b'[\n{"a": "' + b"x" * 100_000)
    assert "larger than" in found.problem
    assert found.fatal


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(st.text(), json_values, max_size=3), max_size=6), st.sampled_from([None, 1]), st.integers(1, 9))
def test_any_array_is_read_equally_in_any_chunks(items: list[object], indent: int | None, chunk: int) -> None:
    data = ("[\n" + json.dumps(items, indent=indent, ensure_ascii=False)[1:]).encode("utf-8", "surrogatepass")
    if b"\xed" in data:  # lone surrogates have no place in a file
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CHUNK", chunk)
        assert values(data) == items
