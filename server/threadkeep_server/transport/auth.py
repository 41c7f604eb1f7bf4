"""Authentication: derives the caller from the credential, never from a request field alone."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from ..domain.errors import Unauthenticated
from ..domain.model import Caller

DEFAULT_TENANT = "default"
_PREFIX = "bearer "


class Authenticator:
    """Maps bearer tokens to callers. Without configured tokens, every caller has the default tenant and no user."""

    def __init__(self, tokens: Mapping[str, Caller]) -> None:
        self._callers = {_digest(token): caller for token, caller in tokens.items()}
        self.anonymous = None if tokens else Caller(DEFAULT_TENANT)
        """The caller of every request if no token is configured, else None."""

    def caller(self, authorization: str | None) -> Caller:
        """Returns the caller. `authorization` is the value of the header. Raises Unauthenticated."""
        if self.anonymous is not None:
            return self.anonymous
        value = authorization or ""
        if not value[: len(_PREFIX)].lower() == _PREFIX:
            raise Unauthenticated
        offered = _digest(value[len(_PREFIX) :].strip())
        for known, caller in self._callers.items():
            if hmac.compare_digest(known, offered):
                return caller
        raise Unauthenticated


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
