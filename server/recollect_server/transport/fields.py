"""Protobuf fields written by hand, where stored bytes go into a response as they are or a message is made for every change."""

from __future__ import annotations

from collections.abc import Iterable

_KEPT = 16_384


def varint(value: int) -> bytes:
    """The encoding of a 64-bit number. The frequent lengths are written out, for a change has ten of them."""
    if 0 <= value < 1 << 7:
        return bytes((value,))
    if 0 <= value < 1 << 14:
        return bytes((value & 0x7F | 0x80, value >> 7))
    if 0 <= value < 1 << 21:
        return bytes((value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14))
    value &= 0xFFFF_FFFF_FFFF_FFFF
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


class Tagged(dict[int, bytes]):
    """A field's tag with a number behind it, by the number: the value of a varint field, the length of a length-delimited one.
    Each is encoded once, as long as it is small: lengths and counts that follow each other differ little."""

    def __init__(self, tag: bytes) -> None:
        self._tag = tag

    def __missing__(self, number: int) -> bytes:
        field = self._tag + varint(number)
        if 0 <= number < _KEPT:
            self[number] = field
        return field


def number(field: int) -> Tagged:
    """A field of wire type 0 (varint); zeros are to be left out."""
    return Tagged(varint(field << 3))


def delimited(field: int) -> Tagged:
    """A field of wire type 2 (length-delimited)."""
    return Tagged(varint(field << 3 | 2))


def repeated(prefixes: Tagged, values: Iterable[bytes]) -> bytes:
    """The values of one length-delimited field."""
    parts: list[bytes] = []
    for value in values:
        parts.append(prefixes[len(value)])
        parts.append(value)
    return b"".join(parts)


def numbers(fields: Iterable[Tagged], values: Iterable[int]) -> bytes:
    """Varint fields in order, without those that are zero."""
    return b"".join([field[value] for field, value in zip(fields, values, strict=True) if value])
