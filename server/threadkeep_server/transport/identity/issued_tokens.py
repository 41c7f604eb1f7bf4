"""Issued tokens of a running server, which follows the changes of their file."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

from ...domain.errors import Unauthenticated
from ...domain.model import Caller
from .token_hashes import InvalidTokenHashes, read_tokens

_log = logging.getLogger(__name__)

_LOOKS_EVERY_S = 1.0


class IssuedTokens:
    """The tokens of a file. It is read again when it has changed, which is looked for at most once a second, when a call comes.
    While the file is missing or invalid, the tokens stay as they were."""

    def __init__(self, path: Path) -> None:
        """Reads the file. Raises InvalidTokenHashes, OSError."""
        self._path = path
        self._seen = _state(path)
        self._tokens = _by_digest(path)
        self._looks_at = time.monotonic() + _LOOKS_EVERY_S
        self._problem = ""

    async def caller(self, _token: str, digest: bytes) -> Caller | None:
        """Returns the caller of a token. Raises Unauthenticated for an expired one."""
        if time.monotonic() >= self._looks_at:
            self._looks_at = time.monotonic() + _LOOKS_EVERY_S
            await asyncio.to_thread(self._follow)
        if (found := self._tokens.get(digest)) is None:
            return None
        caller, expires_at = found
        if time.time() >= expires_at:
            raise Unauthenticated
        return caller

    def _follow(self) -> None:
        try:
            state = _state(self._path)
            if state == self._seen:
                return
            self._tokens = _by_digest(self._path)
        except (InvalidTokenHashes, OSError) as error:
            if str(error) != self._problem:  # not every second
                _log.error("issued tokens stay as they were: %s", error)
            self._problem = str(error)
        else:
            self._seen, self._problem = state, ""
            _log.info("issued tokens: %d from %s", len(self._tokens), self._path)


def _by_digest(path: Path) -> dict[bytes, tuple[Caller, float]]:
    return {bytes.fromhex(each.sha256): (each.caller, each.expires_at) for each in read_tokens(path)}


def _state(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size
