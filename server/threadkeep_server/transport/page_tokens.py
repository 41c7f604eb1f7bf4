"""Page tokens: sealed; bound to the store, the caller and the request without its paging fields. They grant no access."""

from __future__ import annotations

import base64
import json
import struct

from google.protobuf.message import Message

from ..domain.errors import InvalidPageToken
from ..domain.model import Caller
from .sealed import OVERHEAD, Seal, decode_token

_VERSION = 2
_DIGEST_BYTES = 12
_ABSENT = -(1 << 63)
_PAGING = {"page_token", "page_size"}


class PageTokens:
    """Makes and reads the tokens of one store."""

    def __init__(self, seal: Seal) -> None:
        self._seal = seal

    def make(self, request: Message, caller: Caller, *numbers: int | None) -> str:
        """Returns a token that carries the numbers and is valid only for this request of this caller."""
        values = (_ABSENT if number is None else number for number in numbers)
        return self._made(request, caller, struct.pack(f">{len(numbers)}q", *values))

    def make_text(self, request: Message, caller: Caller, text: str) -> str:
        """Returns a token that carries a text."""
        return self._made(request, caller, text.encode())

    def _made(self, request: Message, caller: Caller, content: bytes) -> str:
        sealed = self._seal.close(content, self._digest(request, caller))
        return base64.urlsafe_b64encode(bytes((_VERSION,)) + sealed).decode().rstrip("=")

    def read(self, request: Message, caller: Caller, token: str, count: int) -> list[int | None]:
        """Returns the `count` numbers of the token. Raises InvalidPageToken."""
        values = struct.unpack(f">{count}q", self._content(request, caller, token, 8 * count))
        return [None if value == _ABSENT else value for value in values]

    def read_text(self, request: Message, caller: Caller, token: str) -> str:
        """Returns the text of the token. Raises InvalidPageToken."""
        return self._content(request, caller, token, None).decode()

    def _content(self, request: Message, caller: Caller, token: str, size: int | None) -> bytes:
        """`size`: of the content; None: any."""
        raw = decode_token(token)
        if raw is None:
            raise InvalidPageToken("is not a page token")
        fits = len(raw) > OVERHEAD if size is None else len(raw) == 1 + OVERHEAD + size
        if not fits or raw[0] != _VERSION:
            raise InvalidPageToken("is not a page token of this server")
        content = self._seal.open(raw[1:], self._digest(request, caller))
        if content is None:
            raise InvalidPageToken("belongs to another request, credential or store")
        return content

    def _digest(self, request: Message, caller: Caller) -> bytes:
        bound = type(request)()
        bound.CopyFrom(request)
        for field in _PAGING.intersection(bound.DESCRIPTOR.fields_by_name):
            bound.ClearField(field)
        name = bound.DESCRIPTOR.full_name.encode()
        # Fields that a request leaves out default to the caller, so equal bytes of two callers may mean different requests.
        app = [] if caller.app is None else [caller.app]
        who = json.dumps([caller.tenant, caller.user_id, *app]).encode()
        return self._seal.digest(_DIGEST_BYTES, who, name, bound.SerializeToString(deterministic=True))
