"""Retention: a session is deleted if it is what was archived."""

from __future__ import annotations

import pytest

from tests.support.clock import NOW
from tests.support.codec import draft
from tests.support.feed import settled
from tests.support.sessions import TENANT, append, create, ref, session_with
from threadkeep_server.domain.feed import ChangeKind
from threadkeep_server.domain.model import SessionChange
from threadkeep_server.domain.state.state import StateName, StatePatch, StateQuery, StateScope
from threadkeep_server.store.contract.store import Store

STATE = StateName(StateScope.SESSION, ref())


class RetentionRows:
    async def test_a_session_unchanged_since_it_was_archived_is_deleted(self, store: Store) -> None:
        await session_with(store, draft("one"), draft("two"), labels={"kind": "chat"})
        version = await store.patch_state(TENANT, STATE, StatePatch({"mood": '"good"'}), NOW)
        seen, head = await store.get_session(TENANT, ref()), await settled(store)
        assert await store.delete_unchanged("other", seen, version, NOW) is False
        assert await store.delete_unchanged(TENANT, seen, version, NOW) is True
        assert await store.delete_unchanged(TENANT, seen, version, NOW) is False
        assert await store.delete_session(TENANT, ref()) is None
        await settled(store)  # an index transaction that began before the deletion may hold it up
        page = await store.changes(head, 10)
        assert [(change.kind, change.expired) for change in page.changes] == [(ChangeKind.DELETED, False)]

    @pytest.mark.parametrize("change", ["append", "labels", "state", "other"])
    async def test_a_session_changed_since_it_was_archived_stays(self, store: Store, change: str) -> None:
        await session_with(store, draft("one"))
        seen = await store.get_session(TENANT, ref())
        if change == "append":
            await append(store, draft("two"))
        elif change == "labels":
            await store.update_session(TENANT, ref(), SessionChange(frozenset({"labels"}), NOW, labels={"hold": "yes"}))
        elif change == "state":  # by a clock that is behind, so that the session's update_time stays
            await store.patch_state(TENANT, STATE, StatePatch({"mood": '"good"'}), NOW - 5)
            assert await store.get_session(TENANT, ref()) == seen
        else:
            await store.delete_session(TENANT, ref())
            await session_with(store, draft("one"))
        assert await store.delete_unchanged(TENANT, seen, 0, NOW) is False
        kept = await store.get_session(TENANT, ref())
        assert kept.last_seq == (2 if change == "append" else 1)
        state = await store.get_state(TENANT, STATE, StateQuery())
        assert await store.delete_unchanged(TENANT, kept, state.version, NOW) is True

    async def test_tenants_with_sessions_are_listed_once_each(self, store: Store) -> None:
        assert await store.tenants() == []
        for tenant, name in (("b", "s1"), ("a", "s1"), ("b", "s2")):
            await create(store, name, tenant=tenant)
        assert await store.tenants() == ["a", "b"]
