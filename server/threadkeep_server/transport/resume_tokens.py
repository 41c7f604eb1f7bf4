"""Resume tokens: opaque places in the feed, bound to the store and to what is followed. They are no authority."""

from __future__ import annotations

import binascii
import json
import struct
from typing import Protocol

from ..domain.errors import InvalidResumeToken
from ..domain.feed import Bookmark, FeedScope, Position
from .page_tokens import bound_digest, from_text

_VERSION = 1
# With the version a multiple of three, so that it fills whole characters of base64: what is bound is encoded once.
_DIGEST_BYTES = 14
_HEAD = 1 + _DIGEST_BYTES
_POSITION = struct.Struct(">qq")
_SKIP = struct.Struct(">q")
"""Behind the position, in tokens of what has not yet passed the seq that it was asked to start after."""
_PLAIN = _HEAD + _POSITION.size
_LENGTHS = (_PLAIN, _PLAIN + _SKIP.size)
_URL_SAFE = bytes.maketrans(b"+/", b"-_")


class Maker(Protocol):
    """Makes tokens for places; see Bookmark.skip_seq."""

    def __call__(self, position: Position, skip_seq: int = 0) -> bytes: ...


class ResumeTokens:
    """Makes and reads the tokens of one store."""

    def __init__(self, store_id: str) -> None:
        self._store_id = store_id.encode()

    def digest(self, scope: FeedScope, filter_bytes: bytes) -> bytes:
        """What a token is bound to. The filter's bytes are the same for equal filters."""
        named = json.dumps([scope.tenant, scope.app, scope.user_id, scope.session_id, scope.labels])
        return bound_digest(_DIGEST_BYTES, self._store_id, named.encode(), filter_bytes)

    def make(self, digest: bytes, position: Position) -> str:
        return self.maker(digest)(position).decode()

    def maker(self, digest: bytes) -> Maker:
        """Makes the tokens of one digest, as ASCII; one for each change that is told."""
        head, pack, encode = _base64(bytes((_VERSION,)) + digest), _POSITION.pack, _base64

        def make(position: Position, skip_seq: int = 0) -> bytes:
            return head + encode(pack(*position) + _SKIP.pack(skip_seq) if skip_seq else pack(*position))

        return make

    def read(self, digest: bytes, token: str) -> Bookmark:
        """Raises InvalidResumeToken."""
        raw = from_text(token)
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
