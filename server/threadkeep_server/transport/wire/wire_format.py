"""Length-delimited protobuf fields written by hand, where stored bytes go into a response as they are."""

from __future__ import annotations

from collections.abc import Iterable

_LENGTHS_KEPT = 16_384


def _varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


class Prefixes(dict[int, bytes]):
    """A field's tag and length by length, each encoded once: values that follow each other differ little in length."""

    def __init__(self, tag: bytes) -> None:
        self._tag = tag

    def __missing__(self, length: int) -> bytes:
        prefix = self._tag + _varint(length)
        if length < _LENGTHS_KEPT:
            self[length] = prefix
        return prefix


def delimited(field: int) -> Prefixes:
    """The field of that number, with wire type 2 (length-delimited)."""
    return Prefixes(_varint(field << 3 | 2))


def single(prefixes: Prefixes, value: bytes) -> bytes:
    return prefixes[len(value)] + value


def repeated(prefixes: Prefixes, values: Iterable[bytes]) -> bytes:
    parts: list[bytes] = []
    for value in values:
        parts.append(prefixes[len(value)])
        parts.append(value)
    return b"".join(parts)
