"""Resume tokens: sealed positions, bound to the store, the scope and the filter. They grant no access.

A position is valid in the incarnation that it was issued in: after a restore, the database gives the positions of lost changes
to other changes.
"""

from __future__ import annotations

import binascii
import json
import struct
from collections.abc import Callable
from typing import Protocol

from ..domain.errors import InvalidResumeToken
from ..domain.feed import Bookmark, FeedScope, Incarnations, Position
from .sealed import OVERHEAD, Seal, decode_token

_VERSION = 2
_DIGEST_BYTES = 14
_PLACE = struct.Struct(">qqI")
"""A position and the number of its incarnation."""
_SKIP = struct.Struct(">q")
"""Follows the position in the token of a subscription that has not passed its `after_seq` yet."""
_PLAIN = 1 + OVERHEAD + _PLACE.size
_URL_SAFE = bytes.maketrans(b"+/", b"-_")

# Tokens of version 1 hold the digest and the position in clear, and no incarnation: they are of the time before the first one.
_OLD_VERSION = 1
_OLD_HEAD = 1 + _DIGEST_BYTES
_OLD_PLACE = struct.Struct(">qq")
_OLD_PLAIN = _OLD_HEAD + _OLD_PLACE.size


class MakeToken(Protocol):
    """Makes tokens of positions; see Bookmark.skip_seq."""

    def __call__(self, position: Position, skip_seq: int = 0) -> bytes: ...


class ResumeTokens:
    """Makes and reads the tokens of one store."""

    def __init__(self, seal: Seal, incarnations: Callable[[], Incarnations]) -> None:
        self._seal = seal
        self._incarnations = incarnations

    def digest(self, scope: FeedScope, filter_bytes: bytes) -> bytes:
        """Returns the digest of the values that a token is bound to. Equal filters must have equal bytes."""
        named = json.dumps([scope.tenant, scope.app, scope.user_id, scope.session_id, scope.labels])
        return self._seal.digest(_DIGEST_BYTES, named.encode(), filter_bytes)

    def make(self, digest: bytes, position: Position) -> str:
        return self.maker(digest)(position).decode()

    def maker(self, digest: bytes) -> MakeToken:
        """Returns a function that makes tokens of one digest in the present incarnations, as ASCII bytes. It runs once per
        delivered change."""
        version, incarnation, pack, close = bytes((_VERSION,)), self._incarnations().of, _PLACE.pack, self._seal.close

        def make(position: Position, skip_seq: int = 0) -> bytes:
            place = pack(*position, incarnation(position))
            sealed = close(place + _SKIP.pack(skip_seq) if skip_seq else place, digest)
            return binascii.b2a_base64(version + sealed, newline=False).translate(_URL_SAFE, b"=")

        return make

    def read(self, digest: bytes, token: str) -> Bookmark:
        """Returns the content of the token. Raises InvalidResumeToken."""
        raw = decode_token(token)
        if raw and raw[0] == _VERSION and len(raw) in (_PLAIN, _PLAIN + _SKIP.size):
            content = self._seal.open(raw[1:], digest)
            if content is None:
                raise InvalidResumeToken("belongs to another scope, filter or store")
            xid, change, incarnation = _PLACE.unpack_from(content)
            bookmark = Bookmark(Position(xid, change), _skipped(content, _PLACE.size), incarnation)
        elif raw and raw[0] == _OLD_VERSION and len(raw) in (_OLD_PLAIN, _OLD_PLAIN + _SKIP.size):
            if raw[1:_OLD_HEAD] != digest:
                raise InvalidResumeToken("belongs to another scope, filter or store")
            bookmark = Bookmark(Position(*_OLD_PLACE.unpack_from(raw, _OLD_HEAD)), _skipped(raw, _OLD_PLAIN))
        else:
            raise InvalidResumeToken("is not a resume token")
        if min(*bookmark.position, bookmark.skip_seq) < 0:
            raise InvalidResumeToken("is not a resume token")
        return bookmark


def _skipped(content: bytes, offset: int) -> int:
    return int(_SKIP.unpack_from(content, offset)[0]) if len(content) > offset else 0
