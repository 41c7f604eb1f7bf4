"""Counts the fields of an encoded request before it is decoded: two bytes can become a message of 200 bytes in memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError

from ...domain.errors import InvalidField

_VARINT, _DELIMITED = 0, 2
_FIXED_BYTES = {1: 8, 5: 4}
_LONGEST_VARINT = 10
_DEEPEST = 100  # as protobuf parsers
# Bytes that are searched at once: other threads wait meanwhile.
_SLICE = 1 << 18
# Every byte of a varint but its last.
_CONTINUED = bytes(range(0x80, 0x100))
_WIDTHS = {
    **dict.fromkeys((FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FIXED64, FieldDescriptor.TYPE_SFIXED64), 8),
    **dict.fromkeys((FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_FIXED32, FieldDescriptor.TYPE_SFIXED32), 4),
}

_Path = tuple[FieldDescriptor, ...]


class Layout(dict[int, "_Content"]):
    """The fields of a message that contain a message or packed numbers, by tag."""

    def __init__(self, descriptor: Descriptor) -> None:
        super().__init__()
        self.descriptor = descriptor
        self.starts: bytes | None = None
        """The bytes with which a field begins that takes memory of its own, in the message or in one within it. None: there are
        packed numbers, which begin with nothing."""


@dataclass(frozen=True, slots=True)
class _Content:
    field: FieldDescriptor
    layout: Layout | None
    """Of the message; None: packed numbers."""


@cache  # each front end needs it at the start
def layout_of(descriptor: Descriptor) -> Layout:
    """Returns the layout of a message."""
    known: dict[str, Layout] = {}
    layout = _layout(descriptor, known)
    repeated = [field for each in known.values() for field in each.descriptor.fields if field.is_repeated or field.message_type]
    if all(field.message_type or field.cpp_type == FieldDescriptor.CPPTYPE_STRING for field in repeated):
        # A tag of one byte may also be encoded in several, of which all but the last have the highest bit.
        layout.starts = bytes({field.number << 3 & 0x7F | _DELIMITED | high for field in repeated for high in (0, 0x80)})
    return layout


def _layout(descriptor: Descriptor, known: dict[str, Layout]) -> Layout:
    """Types may contain themselves."""
    if (layout := known.get(descriptor.full_name)) is not None:
        return layout
    known[descriptor.full_name] = layout = Layout(descriptor)
    for field in descriptor.fields:
        if field.message_type is not None:
            layout[field.number << 3 | _DELIMITED] = _Content(field, _layout(field.message_type, known))
        elif field.is_repeated and field.cpp_type != FieldDescriptor.CPPTYPE_STRING:
            layout[field.number << 3 | _DELIMITED] = _Content(field, None)
    return layout


def may_hold(raw: bytes, layout: Layout, number: int) -> bool:
    """Reports whether a message may have so many fields that take memory of their own, by how many of its bytes can begin one.
    For texts, of which most requests consist, that is much faster than counting."""
    if 2 * number > len(raw):  # a field has at least two bytes
        return False
    if layout.starts is None:
        return True
    for begin in range(0, len(raw), _SLICE):
        part = raw[begin : begin + _SLICE]
        number -= len(part) - len(part.translate(None, layout.starts))
        if number <= 0:
            return True
    return False


def check_fields(raw: bytes, layout: Layout, most: int) -> None:
    """Raises InvalidField if an encoded message has more than `most` fields, with the repeated field in which it exceeds them.

    Fields of nested messages count, also unknown ones; each value of a repeated field counts as one. It stops at the limit, so
    its own cost is bounded: 0.4 µs a field. Raises DecodeError for an encoding that no parser accepts, and for groups, which
    proto3 does not have.
    """
    try:
        _take(raw, 0, len(raw), layout, most, ())
    except (IndexError, KeyError):
        raise DecodeError from None
    except _Exceeded as exceeded:
        raise too_many(str(exceeded), most) from None


class _Exceeded(Exception):
    """Its text is the field."""


def _take(raw: bytes, at: int, end: int, layout: Layout, left: int, path: _Path) -> int:
    """Returns how many of `left` fields are left after the message between `at` and `end`. Raises _Exceeded if none is."""
    if len(path) > _DEEPEST:
        raise DecodeError
    while at < end:
        left -= 1
        tag, at = (raw[at], at + 1) if raw[at] < 0x80 else _varint(raw, at)
        kind = tag & 7
        if kind == _DELIMITED:
            size, at = (raw[at], at + 1) if raw[at] < 0x80 else _varint(raw, at)
            if at + size > end:
                raise DecodeError
            if size and (content := layout.get(tag)) is not None:
                if content.layout is None:
                    left -= _numbers(raw[at : at + size], content.field)
                else:
                    left = _take(raw, at, at + size, content.layout, left, (*path, content.field))
            at += size
        elif kind == _VARINT:
            at = at + 1 if raw[at] < 0x80 else _varint(raw, at)[1]
        else:
            at += _FIXED_BYTES[kind]
        if left < 0:
            raise _Exceeded(_name(path, layout.descriptor.fields_by_number.get(tag >> 3)))
    if at > end:
        raise DecodeError
    return left


def _numbers(packed: bytes, field: FieldDescriptor) -> int:
    width = _WIDTHS.get(field.type)
    return len(packed) // width if width else len(packed.translate(None, _CONTINUED))


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    """Returns the number that begins here, and where it ends. Raises IndexError or DecodeError if it does not end."""
    value = 0
    for shift in range(0, 7 * _LONGEST_VARINT, 7):
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise DecodeError


def _name(path: _Path, last: FieldDescriptor | None) -> str:
    """Returns the path to the outermost repeated field."""
    names = []
    for field in (*path, last):
        if field is not None:
            names.append(field.name)
            if field.is_repeated:
                break
    return ".".join(names) or "request"


def too_many(field: str, most: int) -> InvalidField:
    """Returns the error of a request with more than `most` fields. `field`: the one in which it exceeds them."""
    return InvalidField(field, f"has too many values: a request may have {most} fields and values at most; send several")
