"""Authentication: derives the caller from the credential, never from a request field alone, and compares its roles with the one
that a method needs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from ..domain.errors import PermissionDenied, Unauthenticated
from ..domain.model import Caller
from ..domain.roles import EVERY
from .failed_logins import FailedLogins

DEFAULT_TENANT = "default"
_PREFIX = "bearer "

Refused = Callable[[str, Caller | None, str], None]
"""Receives a refused call: its method, its caller if that is known, and the reason."""


class TokenSource(Protocol):
    """Where tokens come from that the settings do not contain."""

    async def caller(self, token: str, digest: bytes) -> Caller | None:
        """Returns the caller of a token, None for a token that is not of this source. `digest`: its SHA-256. Raises
        Unauthenticated."""
        ...


class Authenticator:
    """Maps bearer tokens and client certificates to callers. Without any of them, every caller has the default tenant, no user
    and every role."""

    def __init__(
        self,
        tokens: Mapping[str, Caller],
        sources: Sequence[TokenSource] = (),
        certificates: Mapping[str, Caller] | None = None,
        *,
        logins: FailedLogins | None = None,
        refused: Refused | None = None,
    ) -> None:
        """`certificates`: callers by a name in their certificate. `refused`: for the audit log."""
        # By digest: how long the search takes reveals nothing of a token.
        self._callers = {digest_of(token): caller for token, caller in tokens.items()}
        self._known: dict[str, Caller] = {}
        """Callers by header, of these tokens alone and once accepted: hashing one again took a third of the time of a login."""
        self._sources = sources
        self._certificates = certificates or {}
        self._logins = logins or FailedLogins()
        self._refused = refused
        self.anonymous = None if tokens or sources or certificates else Caller(DEFAULT_TENANT, roles=EVERY)
        """The caller of every request if there is no authentication, else None."""

    async def admit(self, role: str, authorization: str | None, names: Sequence[str] = (), *, method: str) -> Caller:
        """Returns the caller of a method. `authorization` is the value of the header, None without it; then one of `names`,
        those in the client's verified certificate, identifies the caller. Raises Unauthenticated, PermissionDenied for a
        caller without the role, and RateLimited after too many failed logins."""
        caller = self.anonymous or self._certified(authorization, names) or await self._logged_in(authorization or "", method)
        if role not in caller.roles:
            if self._refused is not None:
                self._refused(method, caller, PermissionDenied.reason)
            raise PermissionDenied(role=role)
        return caller

    def _certified(self, authorization: str | None, names: Sequence[str]) -> Caller | None:
        if authorization is not None:
            return None
        return next((self._certificates[name] for name in names if name in self._certificates), None)

    async def _logged_in(self, authorization: str, method: str) -> Caller:
        if (known := self._known.get(authorization)) is not None:
            return known
        token = authorization[len(_PREFIX) :].strip()
        if authorization[: len(_PREFIX)].lower() != _PREFIX or not token:
            raise Unauthenticated
        digest = digest_of(token)
        self._logins.check(digest)
        try:
            caller = await self._caller(token, digest)
        except Unauthenticated as error:
            self._logins.failed(digest)
            if self._refused is not None:
                self._refused(method, None, error.reason)
            raise
        self._logins.accepted(digest)
        # In one spelling: one caller must not fill the memory with others.
        if digest in self._callers and authorization == f"Bearer {token}":
            self._known[authorization] = caller
        return caller

    async def _caller(self, token: str, digest: bytes) -> Caller:
        if caller := self._callers.get(digest):
            return caller
        for source in self._sources:
            if caller := await source.caller(token, digest):
                return caller
        raise Unauthenticated


def digest_of(token: str) -> bytes:
    """Returns the SHA-256 of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
