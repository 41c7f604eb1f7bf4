"""Page tokens: opaque; bound to the store, the caller and the request without its paging fields. They grant no access."""

from __future__ import annotations

import base64
import hashlib
import json
import struct

from google.protobuf.message import Message

from ..domain.errors import InvalidPageToken
from ..domain.model import Caller

_VERSION = 1
_DIGEST_BYTES = 12
_HEAD = 1 + _DIGEST_BYTES
_ABSENT = -(1 << 63)


class PageTokens:
    """Makes and reads the tokens of one store."""

    def __init__(self, store_id: str) -> None:
        self._store_id = store_id.encode()

    def make(self, request: Message, caller: Caller, *numbers: int | None) -> str:
        """Returns a token that carries the numbers and is valid only for this request of this caller."""
        values = (_ABSENT if number is None else number for number in numbers)
        raw = bytes([_VERSION]) + self._digest(request, caller) + struct.pack(f">{len(numbers)}q", *values)
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")

    def read(self, request: Message, caller: Caller, token: str, count: int) -> list[int | None]:
        """Returns the `count` numbers of the token. Raises InvalidPageToken."""
        raw = decode_token(token)
        if raw is None:
            raise InvalidPageToken("is not a page token")
        if len(raw) != _HEAD + 8 * count or raw[0] != _VERSION:
            raise InvalidPageToken("is not a page token of this server")
        if raw[1:_HEAD] != self._digest(request, caller):
            raise InvalidPageToken("belongs to another request, credential or store")
        values = struct.unpack(f">{count}q", raw[_HEAD:])
        return [None if value == _ABSENT else value for value in values]

    def _digest(self, request: Message, caller: Caller) -> bytes:
        bound = type(request)()
        bound.CopyFrom(request)
        bound.ClearField("page_token")
        bound.ClearField("page_size")
        name = bound.DESCRIPTOR.full_name.encode()
        # Fields that a request leaves out default to the caller, so equal bytes of two callers may mean different requests.
        who = json.dumps([caller.tenant, caller.user_id]).encode()
        return bound_digest(_DIGEST_BYTES, self._store_id, who, name, bound.SerializeToString(deterministic=True))


def bound_digest(size: int, *parts: bytes) -> bytes:
    """Returns the digest, of `size` bytes, of the values that a token is bound to."""
    return hashlib.blake2b(b"".join(parts), digest_size=size).digest()


def decode_token(token: str) -> bytes | None:
    """Returns the bytes of a token, None if it is not base64url."""
    try:
        return base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except ValueError:
        return None
