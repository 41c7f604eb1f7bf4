"""MessagePack, as checkpoints of LangGraph have it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.cli.sources.msgpack import Extension, Raw, decoded, elements, encoded, member

LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text() | st.binary()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=40) | st.dictionaries(st.text(), inner, max_size=40))


@given(VALUES)
def test_a_value_that_is_encoded_is_decoded_equal(value: Any) -> None:
    assert decoded(encoded(value)) == value


@pytest.mark.parametrize("size", [0, 15, 16, 31, 32, 255, 256, 65535, 65536])
def test_sizes_of_all_widths_are_decoded(size: int) -> None:
    for value in ("a" * size, b"a" * size, [None] * size, {str(n): n for n in range(size)}):
        assert decoded(encoded(value)) == value
        assert len(elements(encoded(value))) == (
            size if isinstance(value, list) else 2 * size if isinstance(value, dict) else 0
        )


@pytest.mark.parametrize(
    ("content", "code", "inner"),
    [
        (b"\xd4\x05a", 5, b"a"),
        (b"\xd8\xff" + b"b" * 16, -1, b"b" * 16),
        (b"\xc7\x03\x07abc", 7, b"abc"),
        (b"\xc8\x01\x00\x05" + b"c" * 256, 5, b"c" * 256),
        (b"\xc9\x00\x00\x00\x01\x02d", 2, b"d"),
    ],
)
def test_extensions_are_their_code_and_content(content: bytes, code: int, inner: bytes) -> None:
    assert decoded(content) == Extension(code, inner)
    assert elements(b"\x92" + content + b"\x01") == [content, b"\x01"]


def test_members_and_raw_values_keep_their_bytes() -> None:
    odd = b"\xd9\x01a"  # a longer form than necessary
    content = encoded({"x": {"kept": Raw(odd)}, "y": [1, 2]})
    inner = member(content, "x")
    assert inner is not None
    assert (member(inner, "kept"), member(content, "none"), member(b"\x01", "x")) == (odd, None, None)


@pytest.mark.parametrize(
    "content", [b"", b"\xc1", b"\xda\x00", b"\xd9\x05abc", b"\x92\x01", b"\xc7\x09\x05a", b"\xcb\x00", b"\x81\xa1a"]
)
def test_bytes_that_end_early_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"it (ends|has)"):
        decoded(content)
    if content[:1] >= b"\x80":
        with pytest.raises(ValueError, match=r"it (ends|has)"):
            elements(b"\x91" + content)


def test_a_number_above_64_bits_is_refused() -> None:
    with pytest.raises(ValueError, match="64 bits"):
        encoded(2**64)
