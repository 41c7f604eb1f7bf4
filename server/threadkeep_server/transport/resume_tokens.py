"""Resume tokens: opaque positions, bound to the store, the scope and the filter. They grant no access."""

from __future__ import annotations

import binascii
import json
import struct
from typing import Protocol

from ..domain.errors import InvalidResumeToken
from ..domain.feed import Bookmark, FeedScope, Position
from .page_tokens import bound_digest, decode_token

_VERSION = 1
# Version and digest are a multiple of three bytes and fill whole base64 characters, so that they are encoded once.
_DIGEST_BYTES = 14
_HEAD = 1 + _DIGEST_BYTES
_POSITION = struct.Struct(">qq")
_SKIP = struct.Struct(">q")
"""Follows the position in the token of a subscription that has not passed its `after_seq` yet."""
_PLAIN = _HEAD + _POSITION.size
_LENGTHS = (_PLAIN, _PLAIN + _SKIP.size)
_URL_SAFE = bytes.maketrans(b"+/", b"-_")


class MakeToken(Protocol):
    """Makes tokens of positions; see Bookmark.skip_seq."""

    def __call__(self, position: Position, skip_seq: int = 0) -> bytes: ...


class ResumeTokens:
    """Makes and reads the tokens of one store."""

    def __init__(self, store_id: str) -> None:
        self._store_id = store_id.encode()

    def digest(self, scope: FeedScope, filter_bytes: bytes) -> bytes:
        """Returns the digest of the values that a token is bound to. Equal filters must have equal bytes."""
        named = json.dumps([scope.tenant, scope.app, scope.user_id, scope.session_id, scope.labels])
        return bound_digest(_DIGEST_BYTES, self._store_id, named.encode(), filter_bytes)

    def make(self, digest: bytes, position: Position) -> str:
        return self.maker(digest)(position).decode()

    def maker(self, digest: bytes) -> MakeToken:
        """Returns a function that makes tokens of one digest, as ASCII bytes. It runs once per delivered change."""
        head, pack, encode = _base64(bytes((_VERSION,)) + digest), _POSITION.pack, _base64

        def make(position: Position, skip_seq: int = 0) -> bytes:
            return head + encode(pack(*position) + _SKIP.pack(skip_seq) if skip_seq else pack(*position))

        return make

    def read(self, digest: bytes, token: str) -> Bookmark:
        """Returns the content of the token. Raises InvalidResumeToken."""
        raw = decode_token(token)
        if raw is None or len(raw) not in _LENGTHS or raw[0] != _VERSION:
            raise InvalidResumeToken("is not a resume token")
        if raw[1:_HEAD] != digest:
            raise InvalidResumeToken("belongs to another scope, filter or store")
        position = Position(*_POSITION.unpack_from(raw, _HEAD))
        (skip_seq,) = _SKIP.unpack_from(raw, _PLAIN) if len(raw) > _PLAIN else (0,)
        if min(*position, skip_seq) < 0:
            raise InvalidResumeToken("is not a resume token")
        return Bookmark(position, skip_seq)


def _base64(raw: bytes) -> bytes:
    return binascii.b2a_base64(raw, newline=False).translate(_URL_SAFE, b"=")
