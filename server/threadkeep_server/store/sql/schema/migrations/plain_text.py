"""The change of schema 5 to stored encodings: the text of a part was a message with a string, and becomes the string.

It works on the wire format, because generated classes no longer have the old form. All other bytes are unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

_VARINT, _FIXED64, _LENGTH, _GROUP, _END_GROUP, _FIXED32 = range(6)
# SessionEvent.size_bytes.
_SIZE_BYTES = 17


class _Field(NamedTuple):
    """A field of an encoding: data[start:at] is its tag (and length), data[at:end] its value."""

    number: int
    kind: int
    start: int
    at: int
    end: int


def message(content: bytes) -> bytes:
    """Converts a ChatMessage."""
    return _replaced(content, {2: _part})


def event(body: bytes, sent: int) -> tuple[bytes, int]:
    """Converts a stored SessionEvent whose caller sent the first `sent` bytes; also returns their new number."""
    draft = _replaced(body[:sent], {3: message})
    return draft + _sized(body[sent:], len(draft)), len(draft)


def _part(data: bytes) -> bytes:
    return _replaced(data, {1: _text, 4: _tool_result})


def _tool_result(data: bytes) -> bytes:
    return _replaced(data, {3: _part})


def _text(data: bytes) -> bytes:
    """Returns the string of an old TextPart; the last one, as always in protobuf."""
    found = [data[each.at : each.end] for each in _fields(data) if (each.number, each.kind) == (1, _LENGTH)]
    return found[-1] if found else b""


def _sized(data: bytes, size: int) -> bytes:
    """Returns the server's fields of an event, with size_bytes set."""
    for each in _fields(data):
        if (each.number, each.kind) == (_SIZE_BYTES, _VARINT):
            return data[: each.at] + _encoded(size) + data[each.end :]
    return data


def _replaced(data: bytes, arms: Mapping[int, Callable[[bytes], bytes]]) -> bytes:
    """Returns the encoding with the values of some fields replaced."""
    pieces: list[bytes] = []
    kept = 0
    for each in _fields(data):
        replace = arms.get(each.number)
        if replace is None or each.kind != _LENGTH:
            continue
        value = data[each.at : each.end]
        changed = replace(value)
        if changed != value:
            tag = each.number << 3 | _LENGTH
            pieces += data[kept : each.start], _encoded(tag), _encoded(len(changed)), changed
            kept = each.end
    return b"".join((*pieces, data[kept:])) if pieces else data


def _fields(data: bytes) -> Iterator[_Field]:
    """Yields the fields of an encoding, without those inside unknown groups. Raises ValueError for invalid encodings."""
    at = depth = 0
    while at < len(data):
        start = at
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        end = at
        if kind == _VARINT:
            _, end = _varint(data, at)
        elif kind == _FIXED64:
            end = at + 8
        elif kind == _LENGTH:
            length, at = _varint(data, at)
            end = at + length
        elif kind == _FIXED32:
            end = at + 4
        elif kind not in (_GROUP, _END_GROUP):
            raise ValueError(f"unknown wire type {kind}")
        if end > len(data):
            raise ValueError("it ends inside a field")
        depth += (kind == _GROUP) - (kind == _END_GROUP)
        if not depth and kind != _END_GROUP:
            yield _Field(number, kind, start, at, end)
        at = end


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Returns the number at this place, and its end."""
    value = 0
    for place, byte in enumerate(data[at : at + 10]):
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, at + place + 1
    raise ValueError("it ends inside a number")


def _encoded(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
