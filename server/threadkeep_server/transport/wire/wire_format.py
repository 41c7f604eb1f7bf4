"""Length-delimited protobuf fields, for responses that contain stored bytes."""

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
    """Maps a length to the encoded tag and length of a field. Entries are encoded once and kept."""

    def __init__(self, tag: bytes) -> None:
        self._tag = tag

    def __missing__(self, length: int) -> bytes:
        prefix = self._tag + _varint(length)
        if length < _LENGTHS_KEPT:
            self[length] = prefix
        return prefix


def delimited(field: int) -> Prefixes:
    """Returns the prefixes of the field with this number and wire type 2 (length-delimited)."""
    return Prefixes(_varint(field << 3 | 2))


def single(prefixes: Prefixes, value: bytes) -> bytes:
    """Encodes a field."""
    return prefixes[len(value)] + value


def repeated(prefixes: Prefixes, values: Iterable[bytes]) -> bytes:
    """Encodes a repeated field."""
    parts: list[bytes] = []
    for value in values:
        parts.append(prefixes[len(value)])
        parts.append(value)
    return b"".join(parts)
