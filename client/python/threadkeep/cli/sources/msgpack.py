"""MessagePack, as far as checkpoints of LangGraph need it: values are separated as bytes, and only some are decoded."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_SIZED = {0xD9: ("str", 1), 0xDA: ("str", 2), 0xDB: ("str", 4), 0xC4: ("bin", 1), 0xC5: ("bin", 2), 0xC6: ("bin", 4)}
_EXTENDED = {0xC7: 1, 0xC8: 2, 0xC9: 4}
_GROUPS = {0xDC: ("array", 2), 0xDD: ("array", 4), 0xDE: ("map", 2), 0xDF: ("map", 4)}
_NUMBERS = {
    **dict(zip(range(0xCC, 0xD4), (">B", ">H", ">I", ">Q", ">b", ">h", ">i", ">q"), strict=True)),
    0xCA: ">f",
    0xCB: ">d",
}
_WORDS = {0xC0: None, 0xC2: False, 0xC3: True}


@dataclass(frozen=True, slots=True)
class Extension:
    """A value of a type of the application's own: its code and its content."""

    code: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Raw:
    """A value that is encoded already."""

    content: bytes


@dataclass(frozen=True, slots=True)
class _Head:
    """The beginning of a value. `start`: of its content; `size`: of the content in bytes, or in elements or pairs."""

    kind: str
    start: int
    size: int
    value: Any = None


def elements(content: bytes) -> list[bytes]:
    """The elements of an array, or the keys and values of a map one after the other, each as its bytes; none of another value.

    Raises ValueError for bytes that are no MessagePack.
    """
    head = _head(content, 0)
    if head.kind not in ("array", "map"):
        return []
    found, at = [], head.start
    for _ in range(head.size * (2 if head.kind == "map" else 1)):
        end = _end(content, at)
        found.append(content[at:end])
        at = end
    return found


def member(content: bytes, key: str) -> bytes | None:
    """The value of a key of a map, as its bytes; None without one."""
    parts = elements(content) if _head(content, 0).kind == "map" else []
    wanted = encoded(key)
    return next((value for name, value in zip(parts[::2], parts[1::2], strict=True) if name == wanted), None)


def decoded(content: bytes) -> Any:
    """The value of bytes. Raises ValueError for bytes that are no MessagePack."""
    value, _ = _value(content, 0)
    return value


def encoded(value: object) -> bytes:
    """The bytes of a JSON value in which there may be bytes and raw values. Raises ValueError for a number above 64 bits."""
    return b"".join(_encoded(value))


def _value(content: bytes, at: int) -> tuple[Any, int]:
    head = _head(content, at)
    start, end = head.start, head.start + head.size
    if head.kind == "value":
        return head.value, start
    if head.kind in ("array", "map"):
        values, at = [], start
        for _ in range(head.size * (2 if head.kind == "map" else 1)):
            value, at = _value(content, at)
            values.append(value)
        return (dict(zip(values[::2], values[1::2], strict=True)) if head.kind == "map" else values), at
    if end > len(content):
        raise ValueError("it ends within a value")
    part = content[start:end]
    if head.kind == "str":
        return part.decode("utf-8", "surrogatepass"), end
    return (Extension(head.value, part) if head.kind == "ext" else part), end


def _end(content: bytes, at: int) -> int:
    """Where the value ends that begins at a place. What is in an extension is not looked at."""
    left = 1
    while left:
        head = _head(content, at)
        left += {"array": head.size, "map": 2 * head.size}.get(head.kind, 0) - 1
        at = head.start + (head.size if head.kind in ("str", "bin", "ext") else 0)
    if at > len(content):
        raise ValueError("it ends within a value")
    return at


def _head(content: bytes, at: int) -> _Head:
    if at >= len(content):
        raise ValueError("it ends within a value")
    first, after = content[at], at + 1
    if first <= 0x7F or first >= 0xE0:
        return _Head("value", after, 0, first if first <= 0x7F else first - 0x100)
    if first <= 0x9F:
        return _Head("map" if first <= 0x8F else "array", after, first & 0x0F)
    if first <= 0xBF:
        return _Head("str", after, first & 0x1F)
    if first in _WORDS:
        return _Head("value", after, 0, _WORDS[first])
    if first in _NUMBERS:
        form = _NUMBERS[first]
        return _Head("value", after + struct.calcsize(form), 0, _number(form, content, after))
    if first in _SIZED or first in _GROUPS:
        kind, width = _SIZED.get(first) or _GROUPS[first]
        return _Head(kind, after + width, _size(content, after, width))
    if 0xD4 <= first <= 0xD8:
        return _Head("ext", after + 1, 1 << (first - 0xD4), _number(">b", content, after))
    if first in _EXTENDED:
        width = _EXTENDED[first]
        return _Head("ext", after + width + 1, _size(content, after, width), _number(">b", content, after + width))
    raise ValueError("it has a byte that begins no value")


def _number(form: str, content: bytes, at: int) -> Any:
    try:
        return struct.unpack_from(form, content, at)[0]
    except struct.error:
        raise ValueError("it ends within a value") from None


def _size(content: bytes, at: int, width: int) -> int:
    return int.from_bytes(content[at : at + width], "big")


def _encoded(value: object) -> Iterator[bytes]:
    if isinstance(value, Raw):
        yield value.content
    elif value is None or isinstance(value, (int, float)):
        yield _scalar(value)
    elif isinstance(value, str):
        text = value.encode("utf-8", "surrogatepass")
        yield (bytes([0xA0 | len(text)]) if len(text) < 32 else _sized(len(text), (0xD9, 0xDA, 0xDB))) + text
    elif isinstance(value, bytes):
        yield _sized(len(value), (0xC4, 0xC5, 0xC6)) + value
    elif isinstance(value, Mapping):
        yield bytes([0x80 | len(value)]) if len(value) < 16 else _sized(len(value), (0, 0xDE, 0xDF))
        for key, each in value.items():
            yield from _encoded(key)
            yield from _encoded(each)
    elif isinstance(value, Sequence):
        yield bytes([0x90 | len(value)]) if len(value) < 16 else _sized(len(value), (0, 0xDC, 0xDD))
        for each in value:
            yield from _encoded(each)
    else:
        raise ValueError(f"a {type(value).__name__} has no form")


def _sized(size: int, marks: tuple[int, int, int]) -> bytes:
    """The beginning of a value with a size; `marks`: the first bytes for sizes of one, two and four bytes, 0 for none."""
    if size < 0x100 and marks[0]:
        return bytes([marks[0], size])
    return struct.pack(">BH", marks[1], size) if size < 0x10000 else struct.pack(">BI", marks[2], size)


def _scalar(value: Any) -> bytes:
    if value is None or isinstance(value, bool):
        return b"\xc0" if value is None else b"\xc3" if value else b"\xc2"
    if isinstance(value, float):
        return struct.pack(">Bd", 0xCB, value)
    if -32 <= value < 128:
        return bytes([value & 0xFF])
    forms = ("BHIQ", 0xCC) if value >= 0 else ("bhiq", 0xD0)
    for number, form in enumerate(forms[0]):
        try:
            return struct.pack(f">B{form}", forms[1] + number, value)
        except struct.error:
            continue
    raise ValueError("a number is above 64 bits")
