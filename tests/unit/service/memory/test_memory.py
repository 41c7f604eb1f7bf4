"""Long-term memory: what is remembered, found and forgotten, and for whom."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from tests.support.codec import call, draft
from tests.support.sessions import TENANT, compact, ref
from tests.unit.service.memory.memories import all_texts, entry, remembering
from tests.unit.service.search.searching import ALICE, ANYONE, SCOPE, Meanings, SearchServices, texts_of
from threadkeep.v1 import message_pb2
from threadkeep_server.domain import errors
from threadkeep_server.domain.memories import Forget, MemoryDraft, MemoryFilter, MemoryScope
from threadkeep_server.domain.memory.writes import MemoryWrite
from threadkeep_server.domain.model import SECOND_NS, Caller, Role, Session, SessionRef
from threadkeep_server.domain.roles import READER
from threadkeep_server.domain.search import SearchMode
from threadkeep_server.domain.validation import Limits
from threadkeep_server.service.memory import memories as service
from threadkeep_server.service.memory.memories import Ingested, IngestOptions
from threadkeep_server.service.memory.memory_search import FoundMemories, MemoryQuery

# --- ingesting sessions


async def test_one_entry_per_event_with_text_keeps_author_and_time() -> None:
    services = SearchServices()
    now = services.clock.now
    await services.session(
        "s1",
        draft("I like tea", event_id="e1", author="alice", time=now - 5),
        draft("   ", event_id="e2"),
        call("c1", event_id="e3"),
        draft("noted", event_id="e4", role=Role.ASSISTANT),
    )
    assert await services.memory.add_session(ANYONE, ref()) == Ingested(added=2, skipped=2)
    later, earlier = (await services.memory.list(ANYONE, SCOPE, MemoryFilter(), 10, None)).memories
    assert (earlier.draft.text, earlier.draft.author, earlier.draft.event_time) == ("I like tea", "alice", now - 5)
    assert (earlier.draft.session_id, earlier.draft.event_id, earlier.scope) == ("s1", "e1", SCOPE)
    assert message_pb2.ChatMessage.FromString(earlier.draft.content).parts[0].text == "I like tea"
    assert (later.draft.text, later.draft.author, later.time) == ("noted", "", now)  # no event time: when it was recorded


async def test_ingesting_again_adds_what_is_new_and_duplicates_nothing() -> None:
    services = SearchServices()
    session = await services.session("s1", "one", "two")
    assert await services.memory.add_session(ANYONE, session) == Ingested(added=2)
    assert await services.memory.add_session(ANYONE, session) == Ingested(existing=2)
    await services.say(session, "three")
    assert await services.memory.add_session(ANYONE, session) == Ingested(added=1, existing=2)
    assert await all_texts(services) == ["three", "two", "one"]


async def test_ingesting_part_and_then_the_whole_loses_nothing() -> None:
    services = SearchServices()
    session = await services.session("s1", "one", "two", "three")
    assert await services.memory.add_session(ANYONE, session, IngestOptions(event_ids=["s1-2", "s1-2"])) == Ingested(added=1)
    assert await services.memory.add_session(ANYONE, session) == Ingested(added=2, existing=1)
    assert sorted(await all_texts(services)) == ["one", "three", "two"]


async def test_a_deleted_entry_stays_deleted_on_re_ingest() -> None:
    services = SearchServices()
    session = await services.session("s1", "one", "two")
    await services.memory.add_session(ANYONE, session)
    [found] = (await services.memory.list(ANYONE, SCOPE, MemoryFilter(), 1, None)).memories
    receipt = await services.memory.forget(ANYONE, SCOPE, Forget(names=[found.draft.id]))
    assert (receipt.deleted, receipt.not_found, receipt.time) == (1, 0, services.clock.now)
    assert await services.memory.add_session(ANYONE, session) == Ingested(existing=1, deleted=1)
    assert await all_texts(services) == ["one"]


async def test_archived_events_are_ingested_too() -> None:
    services = SearchServices()
    await services.session("s1", "one", "two")
    await compact(services.store, ["s1-1"])
    assert (await services.memory.add_session(ANYONE, ref())).added == 2


async def test_reasoning_tool_calls_and_summaries_are_ingested_on_request_only() -> None:
    services = SearchServices()
    thought = message_pb2.Part(reasoning=message_pb2.ReasoningPart(text="she may mean green tea"))
    await services.session(
        "s1",
        draft(None, event_id="thinks", parts=[thought]),
        call("c1", event_id="calls"),
        draft("so far: tea", event_id="sums", synthetic=True),
    )
    assert await services.memory.add_session(ANYONE, ref()) == Ingested(skipped=3)
    for option, text in (
        ("include_reasoning", "she may mean green tea"),
        ("include_tools", "f\n{}"),
        ("include_synthetic", "so far: tea"),
    ):
        assert (await services.memory.add_session(ANYONE, ref(), IngestOptions(**{option: True}))).added == 1  # type: ignore[arg-type]
        assert (await all_texts(services))[0] == text


async def test_metadata_is_stored_with_every_added_entry() -> None:
    services = SearchServices()
    await services.session("s1", "one")
    await services.memory.add_session(ANYONE, ref(), IngestOptions(metadata_json='{"topic": "tea"}'))
    assert texts_of(await services.remembered("one", filter=MemoryFilter(metadata={"topic": "tea"}))) == ["one"]
    assert texts_of(await services.remembered("one", filter=MemoryFilter(metadata={"topic": "rum"}))) == []


async def test_long_sessions_are_read_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "_EVENTS_AT_ONCE", 7)
    services = SearchServices()
    await services.session("s1", *[f"text {number}" for number in range(50)])
    calls: list[int] = []
    add = services.store.add_memories

    async def noted(tenant: str, scope: MemoryScope, drafts: Any, now: int, *, ingesting: bool) -> Any:
        calls.append(len(drafts))
        return await add(tenant, scope, drafts, now, ingesting=ingesting)

    services.store.add_memories = noted  # type: ignore[method-assign]
    assert (await services.memory.add_session(ANYONE, ref())).added == 50
    assert calls == [7] * 7 + [1]


async def test_a_recreated_session_is_another_session() -> None:
    services = SearchServices()
    await services.session("s1", draft("one", event_id="e1"))
    await services.memory.add_session(ANYONE, ref())
    await services.store.delete_session(TENANT, ref())
    await services.session("s1", draft("other", event_id="e1"))
    assert (await services.memory.add_session(ANYONE, ref())).added == 1
    assert sorted(await all_texts(services)) == ["one", "other"]


async def test_memories_outlive_their_session_and_are_purged_by_it() -> None:
    services = SearchServices()
    await services.session("s1", "one", "two")
    await services.session("s2", "three")
    for name in ("s1", "s2"):
        await services.memory.add_session(ANYONE, ref(name))
    await services.store.delete_session(TENANT, ref())
    assert texts_of(await services.remembered("one")) == ["one"]
    assert (await services.memory.forget(ANYONE, SCOPE, Forget(session_id="s1"))).deleted == 2
    assert await all_texts(services) == ["three"]
    assert (await services.memory.forget(ANYONE, SCOPE, Forget())).deleted == 1
    assert await all_texts(services) == []


async def test_unknown_sessions_and_events_are_reported() -> None:
    services = SearchServices()
    await services.session("s1", "one")
    with pytest.raises(errors.SessionNotFound):
        await services.memory.add_session(ANYONE, ref("other"))
    with pytest.raises(errors.EventNotFound):
        await services.memory.add_session(ANYONE, ref(), IngestOptions(event_ids=["s1-1", "s1-2"]))
    with pytest.raises(errors.InvalidField, match="event_ids"):
        await services.memory.add_session(ANYONE, ref(), IngestOptions(event_ids=["e"] * 1001))
    assert (await services.memory.add_session(ANYONE, SessionRef("", "", "s1"))).added == 1
    assert await all_texts(services) == ["one"]


# --- entries given directly


async def test_entries_are_added_all_or_none_and_again_is_a_replay() -> None:
    services = SearchServices()
    facts = [entry("likes tea", "a"), entry("has a cat", "b")]
    assert [each.replayed for each in await services.memory.add(ANYONE, SCOPE, facts)] == [False, False]
    assert [each.replayed for each in await services.memory.add(ANYONE, SCOPE, facts)] == [True, True]
    with pytest.raises(errors.MemoryIdConflict):
        await services.memory.add(ANYONE, SCOPE, [entry("new", "c"), entry("likes rum", "a")])
    assert sorted(await all_texts(services)) == ["has a cat", "likes tea"]


async def test_an_id_that_was_deleted_may_be_added_again_directly() -> None:
    services = SearchServices()
    await services.memory.add(ANYONE, SCOPE, [entry("likes tea", "a")])
    await services.memory.forget(ANYONE, SCOPE, Forget(names=["a"]))
    assert [each.replayed for each in await services.memory.add(ANYONE, SCOPE, [entry("likes rum", "a")])] == [False]
    assert await all_texts(services) == ["likes rum"]


async def test_batches_have_bounds() -> None:
    services = SearchServices(limits=Limits(max_batch_events=2, max_batch_bytes=300, max_event_bytes=200))
    add = services.memory.add
    with pytest.raises(errors.InvalidField, match="memories must not be empty"):
        await add(ANYONE, SCOPE, [])
    with pytest.raises(errors.BatchTooLarge, match="3 entries"):
        await add(ANYONE, SCOPE, [entry("a"), entry("b"), entry("c")])
    with pytest.raises(errors.EventTooLarge, match=r"memories\[0\]"):
        await add(ANYONE, SCOPE, [entry("a" * 200)])
    with pytest.raises(errors.BatchTooLarge, match="bytes"):
        await add(ANYONE, SCOPE, [entry("a" * 180), entry("b" * 180)])
    with pytest.raises(errors.InvalidField, match=r"memories\[1\]\.id occurs twice"):
        await add(ANYONE, SCOPE, [entry("a", "x"), entry("b", "x")])
    with pytest.raises(errors.InvalidField, match=r"memories\[1\]\.content must have text"):
        await add(ANYONE, SCOPE, [entry("a"), entry(" \n")])
    assert await all_texts(services) == []


# --- who may


async def test_everything_is_scoped_to_tenant_app_and_user() -> None:
    services = await remembering("tea")
    for scope in (SCOPE._replace(user_id="bob"), SCOPE._replace(app="bank"), SCOPE._replace(app="")):
        assert await all_texts(services, scope) == []
        assert (await services.memory.forget(ANYONE, scope, Forget())).deleted == 0
    other = await services.memory.list(Caller("other"), SCOPE, MemoryFilter(), 10, None)
    assert other.memories == []
    assert await all_texts(services) == ["tea"]


async def use(services: SearchServices, caller: Caller, scope: MemoryScope) -> list[errors.ThreadkeepError | None]:
    """What each method raises."""
    memory = services.memory
    raised: list[errors.ThreadkeepError | None] = []

    async def search() -> FoundMemories:
        return await memory.search(caller, MemoryQuery(scope, "tea"))

    for work in (
        memory.add(caller, scope, [entry("a")]),
        search(),
        memory.list(caller, scope, MemoryFilter(), 10, None),
        memory.forget(caller, scope, Forget()),
        memory.add_session(caller, SessionRef(scope.app, scope.user_id, "s1")),
    ):
        try:
            await work
        except errors.ThreadkeepError as error:
            raised.append(error)
        else:
            raised.append(None)
    return raised


async def test_a_caller_bound_to_a_user_reaches_only_that_user() -> None:
    services = SearchServices()
    await services.session("s1", "tea")
    await services.session("s1", "tea", user="bob")
    denied = await use(services, ALICE, SCOPE._replace(user_id="bob"))
    assert all(isinstance(error, errors.PermissionDenied) for error in denied)
    assert await use(services, ALICE, SCOPE._replace(user_id="")) == [None] * 5
    assert await all_texts(services) == ["tea"]


async def test_a_user_is_required() -> None:
    services = SearchServices()
    *missing, _ = await use(services, ANYONE, MemoryScope("shop", ""))
    assert [str(error) for error in missing] == ["scope.user_id is required"] * 4


async def test_disabled_memory_is_reported_by_every_call() -> None:
    services = SearchServices(memory=False)
    await services.session("s1", "tea")
    off = await use(services, ANYONE, SCOPE)
    assert all(isinstance(error, errors.MemoryNotConfigured) for error in off)


async def test_deleting_by_id_has_bounds_and_counts_missing_ids() -> None:
    services = await remembering()
    await services.memory.add(ANYONE, SCOPE, [entry("tea", "a")])
    for ids in ([], ["x"] * 1001):
        with pytest.raises(errors.InvalidField, match="ids"):
            await services.memory.forget(ANYONE, SCOPE, Forget(names=ids))
    receipt = await services.memory.forget(ANYONE, SCOPE, Forget(names=["a", "b"]))
    assert (receipt.deleted, receipt.not_found) == (1, 1)


async def test_the_embedder_is_woken_by_added_memories() -> None:
    services = SearchServices()
    woken: list[bool] = []
    memory = service.MemoryService(
        services.store, services.limits, services.reader, None, services.clock, added=lambda: woken.append(True)
    )
    await services.session("s1", "tea")
    await memory.add_session(ANYONE, ref())
    await memory.add_session(ANYONE, ref())
    assert len(woken) == 1
    await memory.add(ANYONE, SCOPE, [entry("rum")])
    assert len(woken) == 2


async def test_a_session_of_large_events_is_ingested_in_parts_so_that_others_can_write(monkeypatch: pytest.MonkeyPatch) -> None:
    services = SearchServices()
    session = await services.session("s1", *(f"{number} " + "tea " * 150_000 for number in range(4)))
    parts: list[int] = []
    add = services.store.add_memories

    async def counted(tenant: str, scope: MemoryScope, drafts: Sequence[MemoryDraft], *args: Any, **kwargs: Any) -> Any:
        parts.append(sum(len(each.content) for each in drafts))
        return await add(tenant, scope, drafts, *args, **kwargs)

    monkeypatch.setattr(services.store, "add_memories", counted)
    assert (await services.memory.add_session(ANYONE, session)).added == 4
    assert max(parts) <= 1 << 20


@pytest.mark.parametrize("event_ids", [(), ("s1-1",)])
async def test_a_session_recreated_during_ingestion_is_ingested_once(
    monkeypatch: pytest.MonkeyPatch, event_ids: Sequence[str]
) -> None:
    services = SearchServices()
    session = await services.session("s1", "old tea")
    get_session = services.store.get_session

    async def taken_over(tenant: str, to: SessionRef) -> Session:
        monkeypatch.setattr(services.store, "get_session", get_session)
        reported = await get_session(tenant, to)
        await services.store.delete_session(tenant, to)
        await services.session("s1", "new tea")
        return reported

    monkeypatch.setattr(services.store, "get_session", taken_over)
    with pytest.raises(errors.SessionNotFound):
        await services.memory.add_session(ANYONE, session, IngestOptions(event_ids))
    assert (await services.memory.add_session(ANYONE, session)).added == 1
    assert await all_texts(services) == ["new tea"]


# --- written again, read by name, refreshed


async def test_a_replaced_memory_is_found_by_its_new_text_only() -> None:
    services = await remembering(embedder=Meanings())
    await services.memory.add(ANYONE, SCOPE, [entry("likes salmon", "m1")])
    await services.embed_all()
    await services.memory.upsert(ANYONE, SCOPE, [MemoryWrite(entry("likes tofu", "m1"))])
    await services.embed_all()
    for text in ("salmon", "likes"):
        found = await services.memory.search(ANYONE, MemoryQuery(SCOPE, text, min_score=0.0))
        assert {each.memory.draft.text for each in found.entries} <= {"likes tofu"}


async def test_an_expired_memory_is_absent_and_a_refresh_keeps_one() -> None:
    services = await remembering()
    ttl = 10 * SECOND_NS
    await services.memory.add(ANYONE, SCOPE, [entry(f"note {n}", f"m{n}", ttl=ttl) for n in range(4)])
    services.clock.now += 6 * SECOND_NS
    expected = services.clock.now + ttl
    read = await services.memory.get(ANYONE, SCOPE, ["m0"], refresh=True)
    assert read.found["m0"].expire_time == expected
    query = MemoryQuery(SCOPE, "note 1", SearchMode.SUBSTRING, refresh=True)
    assert [each.memory.expire_time for each in (await services.memory.search(ANYONE, query)).entries] == [expected]
    await services.memory.get(ANYONE, SCOPE, ["m2"])
    services.clock.now += 5 * SECOND_NS
    listed = await services.memory.list(ANYONE, SCOPE, MemoryFilter(), 10, None, refresh=True)
    assert {each.draft.id: each.expire_time for each in listed.memories} == dict.fromkeys(
        ("m0", "m1"), services.clock.now + ttl
    )
    assert not (await services.memory.get(ANYONE, SCOPE, ["m2", "m3"])).found
    for text in ("note 3", "note"):
        for mode in (SearchMode.SUBSTRING, SearchMode.RANKED):
            found = await services.memory.search(ANYONE, MemoryQuery(SCOPE, text, mode, min_score=0.0))
            assert {each.memory.draft.id for each in found.entries} <= {"m0", "m1"}


async def test_a_reader_may_not_refresh() -> None:
    services = await remembering("note")
    reader = Caller(TENANT, roles=frozenset({READER}))
    await services.memory.get(reader, SCOPE, ["x"])
    calls: list[Callable[[], Awaitable[Any]]] = [
        lambda: services.memory.get(reader, SCOPE, ["x"], refresh=True),
        lambda: services.memory.list(reader, SCOPE, MemoryFilter(), 1, None, refresh=True),
        lambda: services.memory.search(reader, MemoryQuery(SCOPE, "note", refresh=True)),
    ]
    for call_ in calls:
        with pytest.raises(errors.PermissionDenied, match="role writer"):
            await call_()
