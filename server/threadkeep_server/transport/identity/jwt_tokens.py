"""Tokens of an OIDC issuer: JWTs, verified with the issuer's keys."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jwt

from ...domain.errors import Unauthenticated
from ...domain.model import Caller
from ...domain.roles import NAMES, granted
from .signing_keys import SigningKeys

_log = logging.getLogger(__name__)

_LONGEST_TOKEN = 16 << 10
_LONGEST_NAME = 256
_MOST_CACHED = 10_000
_TRUSTED_S = 300.0
"""How long a verified token is trusted without another look at the keys: so long an issuer's removed key still works."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """Which tokens are accepted, and which of their claims say who the caller is. `leeway` in seconds. `tenant` empty: the
    claim's. `user_claim`, `app_claim` empty: callers are not bound to a user, an app."""

    issuer: str
    audience: str
    algorithms: tuple[str, ...]
    leeway: float
    tenant: str
    tenant_claim: str
    user_claim: str
    app_claim: str
    roles_claim: str
    roles_prefix: str

    def caller(self, claims: Mapping[str, Any]) -> Caller:
        """Returns the caller of verified claims. Raises ValueError."""
        tenant = self.tenant or _name(claims, self.tenant_claim)
        user_id = _name(claims, self.user_claim) if self.user_claim else None
        app = _name(claims, self.app_claim) if self.app_claim else None
        return Caller(tenant, user_id, granted(self._roles(claims)), app, float(claims["exp"]))

    def _roles(self, claims: Mapping[str, Any]) -> list[str]:
        given = _claim(claims, self.roles_claim)
        names = given.split() if isinstance(given, str) else given if isinstance(given, list) else []
        return [role for role in NAMES if self.roles_prefix + role in names]


class JwtTokens:
    """The tokens of one issuer. A verified token is cached, so that a call with it costs a look-up."""

    def __init__(self, issuer: Issuer, keys: SigningKeys) -> None:
        self._issuer = issuer
        self._keys = keys
        self._verified: dict[bytes, tuple[Caller, float]] = {}

    async def caller(self, token: str, digest: bytes) -> Caller | None:
        """Returns the caller of a JWT, None for another token. Raises Unauthenticated."""
        if found := self._verified.get(digest):
            caller, until = found
            if time.time() < until:
                return caller
            self._verified.pop(digest, None)
        if token.count(".") != 2:
            return None
        try:
            if len(token) > _LONGEST_TOKEN:
                raise ValueError(f"it is longer than {_LONGEST_TOKEN:,} characters")
            claims = await self._claims(token)
            caller = self._issuer.caller(claims)
        except (jwt.PyJWTError, ValueError, RecursionError) as error:
            _log.debug("a JWT is refused: %s", error)
            raise Unauthenticated from None
        self._keep(digest, caller, min(int(claims["exp"]) + self._issuer.leeway, time.time() + _TRUSTED_S))
        return caller

    async def _claims(self, token: str) -> dict[str, Any]:
        header = jwt.get_unverified_header(token)
        if header.get("alg") not in self._issuer.algorithms:  # before any request to the issuer
            raise ValueError("its algorithm is not accepted")
        key = await self._keys.get(header["kid"]) if "kid" in header else None
        if key is None:
            raise ValueError("its key is unknown")
        return jwt.decode(
            token,
            key,
            algorithms=list(self._issuer.algorithms),
            audience=self._issuer.audience,
            issuer=self._issuer.issuer,
            leeway=self._issuer.leeway,
            options={"require": ["exp", "iss", "aud"]},
        )

    def _keep(self, digest: bytes, caller: Caller, until: float) -> None:
        if len(self._verified) >= _MOST_CACHED:
            del self._verified[next(iter(self._verified))]
        self._verified[digest] = caller, until


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """Returns a claim; a dot leads into a claim that is an object, unless the name itself has one."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _name(claims: Mapping[str, Any], name: str) -> str:
    value = _claim(claims, name)
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME or not min(value) >= " ":
        raise ValueError(f"its claim {name} must be a string of 1 to {_LONGEST_NAME} characters without control characters")
    return value
