"""Recall: finding what was said."""

from __future__ import annotations

from dataclasses import replace

from ..domain.errors import InvalidField
from ..domain.model import Caller, SessionRef
from ..domain.rules import Limits
from ..store.base import SearchPage, SearchQuery, Store, UserScope
from .access import own_ref, own_user


class RecallService:
    """Use cases of search."""

    def __init__(self, store: Store, limits: Limits) -> None:
        self._store = store
        self._limits = limits

    async def search(self, caller: Caller, query: SearchQuery) -> SearchPage:
        if not query.filter.terms:
            raise InvalidField("query", "must not be blank, unless filter has keywords")
        if query.filter.last_n is not None:
            raise InvalidField("filter.last_n", "is not for searches; use page_size and page_token")
        scope = _own_scope(caller, query.scope)
        limit = min(query.filter.page_size or query.limit, self._limits.max_page_size)
        wanted = query.filter if query.filter.page_size is None else replace(query.filter, page_size=limit)
        bounded = replace(query, scope=scope, filter=wanted, limit=limit, max_bytes=self._limits.max_response_bytes)
        return await self._store.search(caller.tenant, bounded)


def _own_scope(caller: Caller, scope: SessionRef | UserScope) -> SessionRef | UserScope:
    if isinstance(scope, SessionRef):
        return own_ref(caller, scope)
    user_id = own_user(caller, scope.user_id, "user.user_id")
    if not user_id:
        raise InvalidField("user.user_id", "is required")
    return replace(scope, user_id=user_id)
