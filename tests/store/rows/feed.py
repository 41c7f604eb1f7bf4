"""The feed: what is recorded of each committed change, and that nothing else is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.support.clock import NOW
from tests.support.codec import draft
from tests.support.feed import follow, kinds, seqs_of, settled
from tests.support.sessions import TENANT, append, compact, create, new_session, placed, ref, session_with
from threadkeep_server.domain.errors import (
    EventIdConflict,
    NothingToCompact,
    SessionAlreadyExists,
    SessionNotFound,
    ThreadkeepError,
    VersionMismatch,
)
from threadkeep_server.domain.feed import Change, ChangeKind
from threadkeep_server.domain.model import NO_COUNTERS, Counters, Session, SessionChange, Versions
from threadkeep_server.store.contract.events import Appended
from threadkeep_server.store.contract.feed import MOST_METADATA_BYTES
from threadkeep_server.store.contract.store import Store


def versions(change: Change) -> Versions:
    window = Counters(change.window_events, change.window_turns, change.window_bytes, change.window_tokens)
    return Versions(change.log_version, change.window_version, change.last_seq, window)


def answered(appended: Appended) -> Versions:
    return Versions(appended.log_version, 0, appended.last_seq, appended.window)


async def relabel(store: Store, labels: Mapping[str, str], *, of: str = "s1", now: int = NOW) -> Session:
    return await store.update_session(TENANT, ref(of), SessionChange(frozenset({"labels"}), now, labels=labels))


class FeedRows:
    async def test_the_feed_has_one_change_for_each_commit_in_order(self, store: Store) -> None:
        await create(store)
        await append(store, draft("a", event_id="e1"), now=NOW + 1)
        await relabel(store, {"a": "1"}, now=NOW + 2)
        await append(store, draft("b"), draft("c"), now=NOW + 3)
        await compact(store, ["e1"], now=NOW + 4)
        changes = await follow(store)
        assert kinds(changes) == "created appended updated appended compacted"
        assert [change.time for change in changes] == [NOW, NOW + 1, NOW + 2, NOW + 3, NOW + 4]
        assert {(change.tenant, change.ref, change.session) for change in changes} == {(TENANT, ref(), changes[0].session)}
        positions = [change.position for change in changes]
        assert positions == sorted(set(positions))

    async def test_changes_have_versions_and_counters_after_the_change(self, store: Store) -> None:
        stood = [(await create(store)).versions]
        stood.append(answered(await append(store, draft("one", event_id="e1"))))
        stood.append((await relabel(store, {"a": "1"})).versions)
        stood.append(answered(await append(store, draft("two", event_id="e2"), draft("three"))))
        await compact(store, ["e1", "e2"], placed(None, draft("sum", synthetic=True)))
        stood.append((await store.get_session(TENANT, ref())).versions)
        await append(store, draft("four"))
        stood.append((await store.get_session(TENANT, ref())).versions)
        assert [versions(change) for change in await follow(store)] == stood
        assert [(each.log_version, each.window_version, each.last_seq) for each in stood] == [
            *((0, 0, 0), (1, 0, 1), (1, 0, 1), (2, 0, 3), (3, 1, 4), (4, 1, 5))
        ]

    async def test_an_append_that_creates_a_session_is_two_changes(self, store: Store) -> None:
        new = new_session(labels={"a": "1"}, metadata_json='{"n":1}', expire_time=NOW + 99)
        await append(store, draft("a"), create=new, now=NOW + 7)
        created, appended = await follow(store)
        assert (created.kind, appended.kind) == (ChangeKind.CREATED, ChangeKind.APPENDED)
        assert created.session == appended.session
        assert created.after is not None
        assert (created.after.uid, created.after.create_time, created.after.expire_time) == (new.uid, NOW, NOW + 99)
        assert (created.after.metadata_json, dict(created.after.labels)) == ('{"n":1}', {"a": "1"})
        assert (created.after.versions, versions(created)) == (Versions(), Versions())
        assert (appended.time, appended.log_version, appended.last_seq, appended.after) == (NOW + 7, 1, 1, None)
        await append(store, draft("b"), create=new_session())
        assert kinds(await follow(store)) == "created appended appended"

    async def test_calls_without_effect_record_no_change(self, store: Store) -> None:
        drafts = [draft("a", event_id="e1"), draft("b", event_id="e2")]
        await session_with(store, *drafts)
        await compact(store, ["e1"], compaction_id="c1", at=0)
        before, head = await follow(store), await settled(store)
        await store.create_session(TENANT, new_session(), return_existing=True)
        assert [each.replayed for each in (await append(store, *drafts)).events] == [True, True]
        assert (await append(store, drafts[1], create=new_session(), expected_log_version=9)).log_version == 3
        assert (await append(store, draft("x", event_id="e1"), ignore_existing=True)).log_version == 3
        assert (await compact(store, ["e2"], compaction_id="c1")).replayed
        await compact(store, ["e2"], placed(None, draft("sum")), dry_run=True)
        assert await store.delete_session(TENANT, ref("no")) is None
        assert await store.delete_expired(None, NOW + 1, 10) == 0
        assert await follow(store) == before
        assert await settled(store) == head

    @pytest.mark.parametrize(
        ("call", "error"),
        [
            (lambda store: create(store), SessionAlreadyExists),
            (lambda store: append(store, draft("x"), to=ref("no")), SessionNotFound),
            (lambda store: append(store, draft("x"), expected_log_version=7), VersionMismatch),
            (lambda store: append(store, draft("x"), draft("y", event_id="e1")), EventIdConflict),
            (
                lambda store: append(store, draft("x"), to=ref("n"), create=new_session("n"), expected_log_version=3),
                VersionMismatch,
            ),
            (lambda store: compact(store, ["e1"], at=7), VersionMismatch),
            (lambda store: compact(store, ["e1"], placed(None, draft("x", event_id="e2"))), EventIdConflict),
            (lambda store: compact(store), NothingToCompact),
            (lambda store: relabel(store, {"a": "1"}, of="no"), SessionNotFound),
        ],
    )
    async def test_failed_calls_record_no_change(
        self, store: Store, call: Callable[[Store], Awaitable[Any]], error: type[ThreadkeepError]
    ) -> None:
        await session_with(store, draft("a", event_id="e1"), draft("b", event_id="e2"))
        before, head = await follow(store), await settled(store)
        with pytest.raises(error):
            await call(store)
        assert await follow(store) == before
        assert await settled(store) == head

    async def test_a_partial_replay_records_only_new_events(self, store: Store) -> None:
        old = draft("old")
        await session_with(store, old)
        new = [draft("new"), draft("newer")]
        await append(store, new[0], old, new[1])
        change = (await follow(store))[-1]
        assert await seqs_of(store, [change]) == [[2, 3]]
        assert change.size == sum(len(each.body) for each in new)
        assert (change.log_version, change.last_seq) == (2, 3)

    async def test_a_batch_is_one_change(self, store: Store) -> None:
        await create(store)
        drafts = [draft("x" * number) for number in range(100)]
        await append(store, *drafts)
        _, change = await follow(store, limit=1)
        assert await seqs_of(store, [change]) == [list(range(1, 101))]
        assert change.size == sum(len(each.body) for each in drafts)

    async def test_the_feed_keeps_the_order_of_appends_made_at_once(self, store: Store) -> None:
        names = ["s1", "s2", "s3"]
        await asyncio.gather(
            *(append(store, draft("a"), draft("b"), to=ref(name), create=new_session(name)) for name in names * 12)
        )
        changes = await follow(store)
        assert len({change.session for change in changes}) == 3
        for name in names:
            own = [change for change in changes if change.ref == ref(name)]
            assert kinds(own) == "created" + " appended" * 12
            assert [change.log_version for change in own] == list(range(13))
            assert await seqs_of(store, own[1:]) == [[seq, seq + 1] for seq in range(1, 25, 2)]

    async def test_the_feed_keeps_the_order_of_everything_done_to_a_session_at_once(self, store: Store) -> None:
        await session_with(store, draft("a", event_id="e1"))
        todo: list[Awaitable[Any]] = [append(store, draft("b")) for _ in range(8)]
        todo += [compact(store, (), placed(None, draft("sum"))) for _ in range(4)]
        todo += [relabel(store, {"n": str(number)}) for number in range(8)]
        await asyncio.gather(*todo)
        changes = await follow(store)
        adding = [change for change in changes if change.size]
        assert [change.log_version for change in adding] == list(range(1, 14))
        assert await seqs_of(store, adding) == [[seq] for seq in range(1, 14)]
        updates = [change for change in changes if change.kind is ChangeKind.UPDATED]
        bore: Mapping[str, str] = {}
        for change in updates:
            assert change.labels_before == bore
            assert change.after is not None
            bore = change.after.labels
        assert bore == (await store.get_session(TENANT, ref())).labels


class FeedDetailRows:
    async def test_changes_have_the_session_after_the_change(self, store: Store) -> None:
        made = await create(store, metadata_json='{"n":1}', labels={"a": "ä\x01\"'"}, expire_time=NOW + 10**9)
        await append(store, draft("a"), now=NOW + 1)
        fields = frozenset({"metadata_json", "expiry", "context_bytes"})
        change = SessionChange(fields, NOW + 2, expire_time=None, metadata_json='{"n":"\\u0000"}', context_bytes=77)
        updated = await store.update_session(TENANT, ref(), change)
        await append(store, draft("b"), now=NOW + 3)
        changes = await follow(store)
        assert [each.after for each in changes] == [made, None, updated, None]
        assert updated.context_bytes == 77
        assert [dict(each.labels) for each in changes] == [{"a": "ä\x01\"'"}] * 4

    @pytest.mark.parametrize(
        ("labels", "before"),
        [({"a": "2"}, {"a": "1"}), ({}, {"a": "1"}), ({"a": "1", "b": "2"}, {"a": "1"}), ({"a": "1"}, None)],
    )
    async def test_an_update_of_labels_has_the_previous_labels(
        self, store: Store, labels: Mapping[str, str], before: Mapping[str, str] | None
    ) -> None:
        await create(store, labels={"a": "1"})
        await relabel(store, labels)
        created, updated = await follow(store)
        assert (created.labels_before, updated.labels_before) == (None, before)
        assert updated.after is not None
        assert updated.after.labels == updated.labels == created.labels == labels

    @pytest.mark.parametrize(("beyond", "kept"), [(0, True), (1, False)])
    async def test_the_feed_leaves_out_metadata_that_is_large(self, store: Store, beyond: int, kept: bool) -> None:
        text = '{"ä":"' + "ö" * ((MOST_METADATA_BYTES - 9) // 2) + "x" * (1 + beyond) + '"}'
        assert len(text.encode()) == MOST_METADATA_BYTES + beyond
        made = await create(store, metadata_json=text)
        updated = await relabel(store, {"a": "1"})
        await append(store, draft("a"), to=ref("s2"), create=new_session("s2", metadata_json=text))
        small = SessionChange(frozenset({"metadata_json"}), NOW, metadata_json="{}")
        shrunk = await store.update_session(TENANT, ref("s2"), small)
        assert [each.metadata_json for each in (made, updated, await store.get_session(TENANT, ref()))] == [text] * 3
        changes = [each for each in await follow(store) if each.kind is not ChangeKind.APPENDED]
        left = text if kept else ""
        assert [each.after and each.after.metadata_json for each in changes] == [left, left, left, "{}"]
        assert [changes[1].after, changes[3].after] == [replace(updated, metadata_json=left), shrunk]

    async def test_an_update_of_other_fields_has_no_previous_labels(self, store: Store) -> None:
        await create(store, labels={"a": "1"})
        await store.update_session(TENANT, ref(), SessionChange(frozenset({"metadata_json"}), NOW, metadata_json="{}"))
        assert (await follow(store))[-1].labels_before is None

    async def test_the_first_labels_have_empty_previous_labels(self, store: Store) -> None:
        await create(store)
        await relabel(store, {"a": "1"})
        assert (await follow(store))[-1].labels_before == {}

    async def test_a_compaction_change_has_its_record(self, store: Store) -> None:
        await session_with(store, *(draft(name, event_id=name) for name in ("e1", "e2", "e3")))
        inserted = [draft("sum", synthetic=True), draft("top", synthetic=True)]
        first = await compact(store, ["e1"], placed("e2", inserted[0]), placed(None, inserted[1]), strategy="own", actor="bob")
        second = await compact(store, ["e2"], now=NOW + 5)
        *_, one, two = await follow(store)
        assert (one.kind, one.compaction, one.size) == (
            *(ChangeKind.COMPACTED, first.compaction, sum(len(each.body) for each in inserted)),
        )
        assert (two.compaction, two.size, two.time, two.last_seq) == (second.compaction, 0, NOW + 5, 5)
        assert await seqs_of(store, [one, two]) == [[4, 5], []]

    @pytest.mark.parametrize("expired", [False, True])
    async def test_a_deletion_change_has_the_session_and_the_reason(self, store: Store, expired: bool) -> None:
        made = await create(store, labels={"a": "1"}, expire_time=NOW + 5)
        await append(store, draft("a"))
        await relabel(store, {"a": "2"})
        if expired:
            assert await store.delete_expired(None, NOW + 6, 10) == 1
        else:
            assert await store.delete_session(TENANT, ref()) == 1
        (change,) = await follow(store)
        assert (change.kind, change.expired, change.tenant, change.ref) == (ChangeKind.DELETED, expired, TENANT, ref())
        assert change.after is not None
        assert (change.after.ref, change.after.uid, dict(change.after.labels)) == (ref(), made.uid, {"a": "2"})
        assert dict(change.labels) == {"a": "2"}
        assert change.time == NOW + 6 if expired else change.time > NOW
        assert (change.size, change.compaction, change.labels_before) == (0, None, None)

    async def test_the_feed_counts_windows_down_to_nothing(self, store: Store) -> None:
        await session_with(store, draft("a", event_id="e1"))
        await compact(store, ["e1"])
        assert versions((await follow(store))[-1]) == Versions(2, 1, 1, NO_COUNTERS)
