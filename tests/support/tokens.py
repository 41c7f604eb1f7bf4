"""Resume tokens of stores in unit tests."""

from __future__ import annotations

from threadkeep_server.domain.feed import Incarnations
from threadkeep_server.transport.resume_tokens import ResumeTokens
from threadkeep_server.transport.sealed import Seal

KEY = bytes(range(32))


def resume_tokens(store: str = "store-1", incarnations: Incarnations | None = None, *, key: bytes = KEY) -> ResumeTokens:
    return ResumeTokens(Seal(store, key), lambda: incarnations or Incarnations())
