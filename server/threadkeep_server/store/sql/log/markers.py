"""Markers: terms that represent scopes in the search index. Each begins with a character that no indexed term has, and a letter
for its kind."""

from __future__ import annotations

import hashlib
from base64 import b32encode
from functools import lru_cache

from ....domain.memories import MemoryScope
from ....domain.scopes import AppScope, UserScope


def markers(tenant: str, app: str, user_id: str, session: int) -> str:
    """Returns the markers of all scopes that contain the events of a session."""
    return f"{_owner_markers(tenant, app, user_id)} {session_marker(session)}"


def scope_marker(tenant: str, scope: UserScope | AppScope) -> str:
    if isinstance(scope, AppScope):
        return _marker("a", tenant, scope.app)
    if scope.app is None:
        return _marker("u", tenant, scope.user_id)
    return _marker("v", tenant, scope.app, scope.user_id)


def memory_marker(tenant: str, scope: MemoryScope) -> str:
    """Returns the marker of a scope of memories, also used with their embeddings."""
    return scope_marker(tenant, UserScope(scope.user_id, scope.app))


def session_marker(session: int) -> str:
    return f"~s{session}"


def digest(text: str, size: int) -> str:
    """Returns a hash of `size` bytes in lower-case base32."""
    return b32encode(hashlib.blake2b(text.encode(), digest_size=size).digest()).decode().lower()


@lru_cache(maxsize=4096)
def _owner_markers(tenant: str, app: str, user_id: str) -> str:
    scopes = (UserScope(user_id), UserScope(user_id, app), AppScope(app))
    return " ".join(scope_marker(tenant, scope) for scope in scopes)


def _marker(kind: str, *names: str) -> str:
    return f"~{kind}" + digest("".join(f"{len(name)}:{name}" for name in names), 10)
