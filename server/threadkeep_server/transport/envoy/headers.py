"""The headers and trailers of gRPC."""

from __future__ import annotations

import base64
import re
from typing import Final
from urllib.parse import quote

from google.rpc import status_pb2

from ...domain.errors import InvalidField

Header = tuple[bytes, bytes]

_SECONDS: Final = {b"H": 3600.0, b"M": 60.0, b"S": 1.0, b"m": 1e-3, b"u": 1e-6, b"n": 1e-9}
_TIMEOUT: Final = re.compile(rb"([0-9]{1,8})([HMSmun])")
# Of printable ASCII, only the percent sign is encoded.
_PLAIN: Final = "".join(map(chr, range(0x20, 0x7F))).replace("%", "")
OK: Final[list[Header]] = [(b"grpc-status", b"0")]


def timeout_of(value: bytes | None) -> float | None:
    """Returns the seconds of a grpc-timeout header."""
    if value is None:
        return None
    matched = _TIMEOUT.fullmatch(value)
    if matched is None:
        raise InvalidField("grpc-timeout", "must be up to eight digits and one of H, M, S, m, u, n")
    return int(matched[1]) * _SECONDS[matched[2]]


def plain_status(code: int, message: str) -> list[Header]:
    return [(b"grpc-status", str(code).encode()), (b"grpc-message", quote(message, safe=_PLAIN).encode())]


def status_headers(status: status_pb2.Status) -> list[Header]:
    """Returns code, message and details."""
    details = base64.b64encode(status.SerializeToString()).rstrip(b"=")
    return [*plain_status(status.code, status.message), (b"grpc-status-details-bin", details)]
