"""Forks in the feed."""

from __future__ import annotations

import pytest

from tests.store.rows.compaction import named, summary
from tests.store.rows.feed import versions
from tests.store.rows.states.state import patch, states
from tests.support.clock import NOW
from tests.support.feed import follow, kinds, seqs_of, trim
from tests.support.forks import copy_few_at_once, fork
from tests.support.sessions import TENANT, append, compact, placed, ref, session_with
from threadkeep_server.domain.feed import ChangeKind, FeedScope, FeedTrimmed
from threadkeep_server.domain.model import NOWHERE
from threadkeep_server.store.contract.store import Store

FORK = FeedScope(TENANT, *ref("f"))
SCOPES = (FeedScope(TENANT), FeedScope(TENANT, user_id="alice"), FeedScope(TENANT, app="shop", labels=(("a", "1"),)))


class ForkFeedRows:
    async def test_a_fork_is_one_creation_for_everybody_and_a_log_for_its_own_subscribers(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        copy_few_at_once(monkeypatch, 2)
        await session_with(store, *named("e1", "e2", "e3"), labels={"a": "1"})
        await compact(store, ["e1"], placed("e2", summary("sum")))
        await append(store, *named("e4"))
        head = await store.feed_head()
        made = await fork(store)
        await append(store, *named("f5"), to=ref("f"))
        for scope in SCOPES:
            changes = await follow(store, scope, after=head)
            assert kinds(changes) == "created appended"
            assert changes[0].after == made
        changes = await follow(store, FORK)
        assert kinds(changes) == "created copied copied copied appended"
        assert await seqs_of(store, changes) == [[], [1, 2], [3, 4], [5], [6]]
        assert versions(changes[0]) == NOWHERE
        assert [each.last_seq for each in changes] == [0, 2, 4, 5, 6]
        assert (versions(changes[3]), changes[3].time) == (made.versions, NOW + 9)
        assert {each.kind for each in await follow(store, None, after=head)} > {ChangeKind.COPIED}

    async def test_places_in_a_fork_are_found_by_seq(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        copy_few_at_once(monkeypatch, 2)
        await session_with(store, *named("e1", "e2", "e3", "e4", "e5"))
        await fork(store)
        await append(store, *named("e6"), to=ref("f"))
        left = {0: "created copied copied copied appended", 1: "copied copied copied appended", 2: "copied copied appended"}
        for after, expected in (left | {3: "copied copied appended", 5: "appended", 6: ""}).items():
            position = await store.locate(TENANT, ref("f"), after)
            assert kinds(await follow(store, FORK, after=position)) == expected
        await trim(store, NOW + 10, 3)
        with pytest.raises(FeedTrimmed):
            await store.locate(TENANT, ref("s1"), 0)

    async def test_the_state_of_a_fork_is_reported_after_its_creation(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        await patch(store, a="1")
        await fork(store)
        changes = await follow(store, FORK)
        assert kinds(changes) == "created state copied"
        assert states(changes) == [("f", 1, {"a": "1"}, ())]

    async def test_a_deleted_fork_leaves_its_deletion(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        await fork(store)
        await store.delete_session(TENANT, ref("f"))
        assert kinds(await follow(store, FORK)) == "deleted"
