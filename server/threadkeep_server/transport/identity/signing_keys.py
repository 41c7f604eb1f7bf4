"""The keys with which an OIDC issuer signs, fetched in a thread and cached."""

from __future__ import annotations

import asyncio
import logging
import time
from urllib.parse import urlsplit

from jwt import PyJWK, PyJWKClient, PyJWTError

_log = logging.getLogger(__name__)

_FRESH_S = 300.0
_ATTEMPT_EVERY_S = 10.0
"""So that made-up key ids cause few requests to the issuer."""
_TIMEOUT_S = 10.0
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class SigningKeys:
    """The keys of an issuer by id. They are fetched again after five minutes, in the background, and for an unknown id; at most
    once in ten seconds. While that fails, the keys stay."""

    def __init__(self, issuer: str, url: str) -> None:
        """`url` empty: what the issuer's configuration names."""
        self._issuer = issuer
        self._url = url
        self._keys: dict[str, PyJWK] = {}
        self._fetched = self._attempted = float("-inf")
        self._lock = asyncio.Lock()
        self._refreshing: asyncio.Task[None] | None = None

    async def get(self, key_id: str) -> PyJWK | None:
        """Returns the key; None if the issuer has no such key, or cannot be reached."""
        if key_id not in self._keys:
            await self._refresh(key_id)
        elif self._may_attempt() and time.monotonic() - self._fetched > _FRESH_S and not self._lock.locked():
            self._refreshing = asyncio.create_task(self._refresh())
        return self._keys.get(key_id)

    def _may_attempt(self) -> bool:
        return time.monotonic() - self._attempted > _ATTEMPT_EVERY_S

    async def _refresh(self, key_id: str = "") -> None:
        async with self._lock:
            if key_id in self._keys or not self._may_attempt():  # another call has fetched it
                return
            self._attempted = time.monotonic()
            try:
                self._keys = await asyncio.to_thread(self._fetch)
            except (PyJWTError, OSError, ValueError) as error:
                _log.warning("the keys of %s cannot be fetched: %s: %s", self._issuer, type(error).__name__, error)
            else:
                self._fetched = time.monotonic()

    def _fetch(self) -> dict[str, PyJWK]:
        client = PyJWKClient(self._url or self._discovered(), cache_jwk_set=False, timeout=_TIMEOUT_S)
        return {key.key_id: key for key in client.get_signing_keys() if key.key_id}

    def _discovered(self) -> str:
        url = self._issuer.rstrip("/") + "/.well-known/openid-configuration"
        # The client follows no redirects, and reads any JSON object.
        found = PyJWKClient(url, cache_jwk_set=False, timeout=_TIMEOUT_S).fetch_data()
        named = found.get("jwks_uri")
        if not isinstance(named, str) or found.get("issuer") != self._issuer:
            raise ValueError(f"{url} does not describe this issuer")
        parts = urlsplit(named)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
            raise ValueError(f"{url} names keys that are not at an https:// URL")
        return named
