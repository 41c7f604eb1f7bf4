"""Long-term memory: what is remembered, found and forgotten, and for whom."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest

from recollect.v1 import message_pb2
from recollect_server.domain import errors
from recollect_server.domain.memories import Forget, MemoryDraft, MemoryFilter, MemoryScope
from recollect_server.domain.model import SECOND_NS, Caller, Role, Session, SessionRef
from recollect_server.domain.recall import Field, SearchMode, Span
from recollect_server.domain.rules import Limits
from recollect_server.embedder.base import EmbedFailed
from recollect_server.service import memory as service
from recollect_server.service.memory import FoundMemories, Ingested, Remembering
from recollect_server.service.searches import Recency
from tests.support.codec import call, draft
from tests.support.sessions import TENANT, compact, ref
from tests.unit.service.recalling import ALICE, ANYONE, SCOPE, Meanings, Recalling, texts_of

_numbers = count(1)


def entry(text: str, entry_id: str | None = None, **fields: Any) -> MemoryDraft:
    content = message_pb2.ChatMessage(role=message_pb2.ROLE_USER)
    content.parts.add().text.text = text
    return MemoryDraft(entry_id or f"e{next(_numbers)}", content.SerializeToString(), text, **fields)


async def all_texts(recalling: Recalling, scope: MemoryScope = SCOPE) -> list[str]:
    page = await recalling.memory.list(ANYONE, scope, MemoryFilter(), 1000, None)
    assert page.cursor is None
    return [memory.draft.text for memory in page.memories]


# --- ingesting sessions


async def test_one_entry_per_event_with_text_keeps_author_and_time() -> None:
    recalling = Recalling()
    now = recalling.clock.now
    await recalling.session(
        "s1",
        draft("I like tea", event_id="e1", author="alice", time=now - 5),
        draft("   ", event_id="e2"),
        call("c1", event_id="e3"),
        draft("noted", event_id="e4", role=Role.ASSISTANT),
    )
    assert await recalling.memory.add_session(ANYONE, ref()) == Ingested(added=2, skipped=2)
    later, earlier = (await recalling.memory.list(ANYONE, SCOPE, MemoryFilter(), 10, None)).memories
    assert (earlier.draft.text, earlier.draft.author, earlier.draft.event_time) == ("I like tea", "alice", now - 5)
    assert (earlier.draft.session_id, earlier.draft.event_id, earlier.scope) == ("s1", "e1", SCOPE)
    assert message_pb2.ChatMessage.FromString(earlier.draft.content).parts[0].text.text == "I like tea"
    assert (later.draft.text, later.draft.author, later.time) == ("noted", "", now)  # no event time: when it was recorded


async def test_ingesting_again_adds_what_is_new_and_duplicates_nothing() -> None:
    recalling = Recalling()
    session = await recalling.session("s1", "one", "two")
    assert await recalling.memory.add_session(ANYONE, session) == Ingested(added=2)
    assert await recalling.memory.add_session(ANYONE, session) == Ingested(existing=2)
    await recalling.say(session, "three")
    assert await recalling.memory.add_session(ANYONE, session) == Ingested(added=1, existing=2)
    assert await all_texts(recalling) == ["three", "two", "one"]


async def test_ingesting_part_and_then_the_whole_loses_nothing() -> None:
    recalling = Recalling()
    session = await recalling.session("s1", "one", "two", "three")
    assert await recalling.memory.add_session(ANYONE, session, Remembering(event_ids=["s1-2", "s1-2"])) == Ingested(added=1)
    assert await recalling.memory.add_session(ANYONE, session) == Ingested(added=2, existing=1)
    assert sorted(await all_texts(recalling)) == ["one", "three", "two"]


async def test_a_deleted_entry_stays_deleted_on_re_ingest() -> None:
    recalling = Recalling()
    session = await recalling.session("s1", "one", "two")
    await recalling.memory.add_session(ANYONE, session)
    [found] = (await recalling.memory.list(ANYONE, SCOPE, MemoryFilter(), 1, None)).memories
    receipt = await recalling.memory.forget(ANYONE, SCOPE, Forget(ids=[found.draft.id]))
    assert (receipt.deleted, receipt.not_found, receipt.time) == (1, 0, recalling.clock.now)
    assert await recalling.memory.add_session(ANYONE, session) == Ingested(existing=1, deleted=1)
    assert await all_texts(recalling) == ["one"]


async def test_archived_events_are_remembered_too() -> None:
    recalling = Recalling()
    await recalling.session("s1", "one", "two")
    await compact(recalling.store, ["s1-1"])
    assert (await recalling.memory.add_session(ANYONE, ref())).added == 2


async def test_thoughts_tool_plumbing_and_summaries_only_if_asked() -> None:
    recalling = Recalling()
    thought = message_pb2.Part(reasoning=message_pb2.ReasoningPart(text="she may mean green tea"))
    await recalling.session(
        "s1",
        draft(None, event_id="thinks", parts=[thought]),
        call("c1", event_id="calls"),
        draft("so far: tea", event_id="sums", synthetic=True),
    )
    assert await recalling.memory.add_session(ANYONE, ref()) == Ingested(skipped=3)
    for option, text in (
        ("include_reasoning", "she may mean green tea"),
        ("include_tools", "f\n{}"),
        ("include_synthetic", "so far: tea"),
    ):
        assert (await recalling.memory.add_session(ANYONE, ref(), Remembering(**{option: True}))).added == 1  # type: ignore[arg-type]
        assert (await all_texts(recalling))[0] == text


async def test_metadata_goes_to_every_entry_that_is_added() -> None:
    recalling = Recalling()
    await recalling.session("s1", "one")
    await recalling.memory.add_session(ANYONE, ref(), Remembering(metadata_json='{"topic": "tea"}'))
    assert texts_of(await recalling.remembered("one", filter=MemoryFilter(metadata={"topic": "tea"}))) == ["one"]
    assert texts_of(await recalling.remembered("one", filter=MemoryFilter(metadata={"topic": "rum"}))) == []


async def test_long_sessions_are_read_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "_EVENTS_AT_ONCE", 7)
    recalling = Recalling()
    await recalling.session("s1", *[f"text {number}" for number in range(50)])
    calls: list[int] = []
    add = recalling.store.add_memories

    async def noted(tenant: str, scope: MemoryScope, drafts: Any, now: int, *, ingesting: bool) -> Any:
        calls.append(len(drafts))
        return await add(tenant, scope, drafts, now, ingesting=ingesting)

    recalling.store.add_memories = noted  # type: ignore[method-assign]
    assert (await recalling.memory.add_session(ANYONE, ref())).added == 50
    assert calls == [7] * 7 + [1]


async def test_a_session_under_a_name_that_was_taken_over_is_another() -> None:
    recalling = Recalling()
    await recalling.session("s1", draft("one", event_id="e1"))
    await recalling.memory.add_session(ANYONE, ref())
    await recalling.store.delete_session(TENANT, ref())
    await recalling.session("s1", draft("other", event_id="e1"))
    assert (await recalling.memory.add_session(ANYONE, ref())).added == 1
    assert sorted(await all_texts(recalling)) == ["one", "other"]


async def test_memories_outlive_their_session_and_are_purged_by_it() -> None:
    recalling = Recalling()
    await recalling.session("s1", "one", "two")
    await recalling.session("s2", "three")
    for name in ("s1", "s2"):
        await recalling.memory.add_session(ANYONE, ref(name))
    await recalling.store.delete_session(TENANT, ref())
    assert texts_of(await recalling.remembered("one")) == ["one"]
    assert (await recalling.memory.forget(ANYONE, SCOPE, Forget(session_id="s1"))).deleted == 2
    assert await all_texts(recalling) == ["three"]
    assert (await recalling.memory.forget(ANYONE, SCOPE, Forget())).deleted == 1
    assert await all_texts(recalling) == []


async def test_unknown_sessions_and_events_are_told() -> None:
    recalling = Recalling()
    await recalling.session("s1", "one")
    with pytest.raises(errors.SessionNotFound):
        await recalling.memory.add_session(ANYONE, ref("other"))
    with pytest.raises(errors.EventNotFound):
        await recalling.memory.add_session(ANYONE, ref(), Remembering(event_ids=["s1-1", "s1-2"]))
    with pytest.raises(errors.InvalidField, match="event_ids"):
        await recalling.memory.add_session(ANYONE, ref(), Remembering(event_ids=["e"] * 1001))
    assert (await recalling.memory.add_session(ANYONE, SessionRef("", "", "s1"))).added == 1
    assert await all_texts(recalling) == ["one"]


# --- entries given directly


async def test_entries_are_added_all_or_none_and_again_is_a_replay() -> None:
    recalling = Recalling()
    facts = [entry("likes tea", "a"), entry("has a cat", "b")]
    assert [each.replayed for each in await recalling.memory.add(ANYONE, SCOPE, facts)] == [False, False]
    assert [each.replayed for each in await recalling.memory.add(ANYONE, SCOPE, facts)] == [True, True]
    with pytest.raises(errors.MemoryIdConflict):
        await recalling.memory.add(ANYONE, SCOPE, [entry("new", "c"), entry("likes rum", "a")])
    assert sorted(await all_texts(recalling)) == ["has a cat", "likes tea"]


async def test_an_id_that_was_deleted_may_be_added_again_directly() -> None:
    recalling = Recalling()
    await recalling.memory.add(ANYONE, SCOPE, [entry("likes tea", "a")])
    await recalling.memory.forget(ANYONE, SCOPE, Forget(ids=["a"]))
    assert [each.replayed for each in await recalling.memory.add(ANYONE, SCOPE, [entry("likes rum", "a")])] == [False]
    assert await all_texts(recalling) == ["likes rum"]


async def test_batches_have_bounds() -> None:
    recalling = Recalling(limits=Limits(max_batch_events=2, max_batch_bytes=300, max_event_bytes=200))
    add = recalling.memory.add
    with pytest.raises(errors.InvalidField, match="memories must not be empty"):
        await add(ANYONE, SCOPE, [])
    with pytest.raises(errors.BatchTooLarge, match="3 entries"):
        await add(ANYONE, SCOPE, [entry("a"), entry("b"), entry("c")])
    with pytest.raises(errors.EventTooLarge, match=r"memories\[0\]\.content"):
        await add(ANYONE, SCOPE, [entry("a" * 200)])
    with pytest.raises(errors.BatchTooLarge, match="bytes"):
        await add(ANYONE, SCOPE, [entry("a" * 180), entry("b" * 180)])
    with pytest.raises(errors.InvalidField, match=r"memories\[1\]\.id occurs twice"):
        await add(ANYONE, SCOPE, [entry("a", "x"), entry("b", "x")])
    with pytest.raises(errors.InvalidField, match=r"memories\[1\]\.content must have text"):
        await add(ANYONE, SCOPE, [entry("a"), entry(" \n")])
    assert await all_texts(recalling) == []


# --- finding


async def remembering(*texts: str, embedder: Meanings | None = None, **how: Any) -> Recalling:
    recalling = Recalling(embedder, **how)
    if texts:
        await recalling.memory.add(ANYONE, SCOPE, [entry(text) for text in texts])
    if embedder is not None:
        await recalling.embed_all()
    return recalling


@pytest.mark.parametrize("mode", [None, *SearchMode])
@pytest.mark.parametrize("query", ["", " \t\n"])
async def test_an_empty_query_returns_nothing(mode: SearchMode | None, query: str) -> None:
    recalling = await remembering("likes tea", embedder=Meanings())
    assert texts_of(await recalling.remembered(query, mode)) == []


async def test_hybrid_is_the_default_where_an_embedder_is_configured_else_ranked() -> None:
    assert (await (await remembering("tea")).remembered("tea")).mode is SearchMode.RANKED
    assert (await (await remembering("tea", embedder=Meanings())).remembered("tea")).mode is SearchMode.HYBRID


async def test_substring_is_case_insensitive_newest_first_with_highlights() -> None:
    recalling = Recalling()
    now = recalling.clock.now
    await recalling.memory.add(
        ANYONE, SCOPE, [entry("Tea, newest", event_time=now), entry("more TEA", event_time=now - 5), entry("rum")]
    )
    found = await recalling.remembered("tEa", SearchMode.SUBSTRING)
    assert texts_of(found) == ["Tea, newest", "more TEA"]
    assert [each.highlights for each in found.entries] == [[(Field.TEXT, Span(0, 3))], [(Field.TEXT, Span(5, 8))]]
    assert [each.score for each in found.entries] == [0.0, 0.0]
    assert found.semantic_lag == 0
    assert texts_of(await recalling.remembered("tea", SearchMode.SUBSTRING, top_k=1)) == ["Tea, newest"]


async def test_ranked_answers_questions_best_first() -> None:
    recalling = await remembering("her boat lies in the harbour", "she likes tea", "the harbour is old")
    found = await recalling.remembered("Where does her boat lie?")
    assert texts_of(found)[0] == "her boat lies in the harbour"
    assert found.entries[0].score > 0
    assert found.entries[0].highlights
    assert texts_of(await recalling.remembered("?!")) == []


async def test_semantic_is_top_5_by_default_with_an_optional_floor() -> None:
    recalling = await remembering(*[f"a car {number}" for number in range(8)], "a ship", embedder=Meanings())
    found = await recalling.remembered("automobile", SearchMode.SEMANTIC)
    assert len(found.entries) == 5
    assert all(each.score > 0.9 for each in found.entries)
    assert len((await recalling.remembered("automobile", SearchMode.SEMANTIC, top_k=20)).entries) == 9
    assert len((await recalling.remembered("automobile", SearchMode.SEMANTIC, top_k=20, min_score=0.5)).entries) == 8
    for wrong in (-1.01, 1.01, float("nan")):
        with pytest.raises(errors.InvalidField, match="min_score"):
            await recalling.remembered("automobile", SearchMode.SEMANTIC, min_score=wrong)
    for mode in (None, SearchMode.RANKED, SearchMode.SUBSTRING):
        with pytest.raises(errors.InvalidField, match="min_score is for SEMANTIC only"):
            await recalling.remembered("automobile", mode, min_score=0.5)


async def test_top_k_is_10_otherwise_coerced_and_not_negative() -> None:
    recalling = await remembering(*[f"tea {number}" for number in range(15)])
    assert len((await recalling.remembered("tea")).entries) == 10
    assert len((await recalling.remembered("tea", top_k=1_000_000)).entries) == 15
    with pytest.raises(errors.InvalidField, match="top_k"):
        await recalling.remembered("tea", top_k=-1)


async def test_hybrid_finds_words_and_meanings() -> None:
    recalling = await remembering("my automobile", "the word car", "an infusion", embedder=Meanings())
    found = await recalling.remembered("car")
    assert texts_of(found)[:2] == ["the word car", "my automobile"]


async def test_an_embedder_that_is_down_leaves_ranked_and_fails_semantic() -> None:
    embedder = Meanings()
    recalling = await remembering("a car", embedder=embedder)
    embedder.fails = EmbedFailed("no answer", retry=True)
    found = await recalling.remembered("car")
    assert (texts_of(found), found.mode) == (["a car"], SearchMode.RANKED)
    with pytest.raises(errors.EmbedderFailed, match="no answer"):
        await recalling.remembered("car", SearchMode.SEMANTIC)
    with pytest.raises(errors.EmbedderNotConfigured):
        await (await remembering("a car")).remembered("car", SearchMode.HYBRID)


async def test_entries_wait_in_a_queue_for_their_embedding_and_the_lag_is_told() -> None:
    recalling = await remembering("my automobile", embedder=Meanings())
    await recalling.memory.add(ANYONE, SCOPE, [entry("another vehicle")])
    await recalling.session("s1", "events wait too", "and are another matter")
    found = await recalling.remembered("car", SearchMode.SEMANTIC)
    assert (texts_of(found), found.semantic_lag) == (["my automobile"], 1)
    await recalling.embed_all()
    found = await recalling.remembered("car", SearchMode.SEMANTIC)
    assert (len(found.entries), found.semantic_lag) == (2, 0)


async def test_nothing_deleted_is_found_afterwards_by_any_mode() -> None:
    recalling = await remembering("a car", "my automobile", embedder=Meanings())
    assert len((await recalling.remembered("car", SearchMode.SEMANTIC)).entries) == 2
    receipt = await recalling.memory.forget(ANYONE, SCOPE, Forget())
    assert (receipt.deleted, receipt.embeddings) == (2, 2)
    for mode in SearchMode:
        assert texts_of(await recalling.remembered("car", mode)) == []


async def test_recency_lifts_newer_entries() -> None:
    recalling = Recalling()
    now, day = recalling.clock.now, 86_400 * SECOND_NS
    old, new = entry("tea", event_time=now - 300 * day), entry("tea, in a much longer text", event_time=now)
    await recalling.memory.add(ANYONE, SCOPE, [old, new])
    assert texts_of(await recalling.remembered("tea"))[0] == "tea"
    assert texts_of(await recalling.remembered("tea", recency=Recency(day, 9.0)))[0] == "tea, in a much longer text"
    with pytest.raises(errors.InvalidField, match="recency"):
        await recalling.remembered("tea", SearchMode.SUBSTRING, recency=Recency(day))


async def test_filters_hold_in_every_mode() -> None:
    recalling = Recalling(Meanings())
    await recalling.memory.add(
        ANYONE, SCOPE, [entry("a car", author="alice"), entry("the car", author="bob", metadata_json=json.dumps({"n": 1}))]
    )
    await recalling.embed_all()
    for mode in SearchMode:
        assert texts_of(await recalling.remembered("car", mode, filter=MemoryFilter(authors=frozenset({"bob"})))) == ["the car"]
        assert texts_of(await recalling.remembered("car", mode, filter=MemoryFilter(metadata={"n": "1"}))) == ["the car"]


async def test_answers_stay_within_the_bytes_of_a_response_but_hold_one_entry() -> None:
    recalling = await remembering(
        *[f"tea {number} " + "x" * 500 for number in range(6)], limits=Limits(max_response_bytes=1200)
    )
    for found in (await recalling.remembered("tea"), await recalling.remembered("tea", SearchMode.SUBSTRING)):
        assert len(found.entries) == 2
    texts: list[str] = []
    cursor = None
    while True:
        page = await recalling.memory.list(ANYONE, SCOPE, MemoryFilter(), 100, cursor)
        assert 1 <= len(page.memories) <= 2
        texts += [memory.draft.text for memory in page.memories]
        cursor = page.cursor
        if cursor is None:
            break
    assert len(texts) == len(set(texts)) == 6
    tiny = await remembering("tea " + "x" * 500, "tea", limits=Limits(max_response_bytes=10))
    assert len((await tiny.remembered("tea")).entries) == 1


# --- who may


async def test_everything_is_scoped_to_tenant_app_and_user() -> None:
    recalling = await remembering("tea")
    for scope in (SCOPE._replace(user_id="bob"), SCOPE._replace(app="bank"), SCOPE._replace(app="")):
        assert await all_texts(recalling, scope) == []
        assert (await recalling.memory.forget(ANYONE, scope, Forget())).deleted == 0
    other = await recalling.memory.list(Caller("other"), SCOPE, MemoryFilter(), 10, None)
    assert other.memories == []
    assert await all_texts(recalling) == ["tea"]


async def use(recalling: Recalling, caller: Caller, scope: MemoryScope) -> list[errors.RecollectError | None]:
    """What each method raises."""
    memory = recalling.memory
    raised: list[errors.RecollectError | None] = []

    async def search() -> FoundMemories:
        return await memory.search(caller, service.MemoryQuery(scope, "tea"))

    for work in (
        memory.add(caller, scope, [entry("a")]),
        search(),
        memory.list(caller, scope, MemoryFilter(), 10, None),
        memory.forget(caller, scope, Forget()),
        memory.add_session(caller, SessionRef(scope.app, scope.user_id, "s1")),
    ):
        try:
            await work
        except errors.RecollectError as error:
            raised.append(error)
        else:
            raised.append(None)
    return raised


async def test_a_caller_bound_to_a_user_reaches_only_that_user() -> None:
    recalling = Recalling()
    await recalling.session("s1", "tea")
    await recalling.session("s1", "tea", user="bob")
    denied = await use(recalling, ALICE, SCOPE._replace(user_id="bob"))
    assert all(isinstance(error, errors.PermissionDenied) for error in denied)
    assert await use(recalling, ALICE, SCOPE._replace(user_id="")) == [None] * 5
    assert await all_texts(recalling) == ["tea"]


async def test_a_user_is_required() -> None:
    recalling = Recalling()
    *missing, _ = await use(recalling, ANYONE, MemoryScope("shop", ""))
    assert [str(error) for error in missing] == ["scope.user_id is required"] * 4


async def test_switched_off_everything_says_so() -> None:
    recalling = Recalling(memory=False)
    await recalling.session("s1", "tea")
    off = await use(recalling, ANYONE, SCOPE)
    assert all(isinstance(error, errors.MemoryNotConfigured) for error in off)


async def test_forgetting_by_id_has_bounds_and_counts_what_it_did_not_find() -> None:
    recalling = await remembering()
    await recalling.memory.add(ANYONE, SCOPE, [entry("tea", "a")])
    for ids in ([], ["x"] * 1001):
        with pytest.raises(errors.InvalidField, match="ids"):
            await recalling.memory.forget(ANYONE, SCOPE, Forget(ids=ids))
    receipt = await recalling.memory.forget(ANYONE, SCOPE, Forget(ids=["a", "b"]))
    assert (receipt.deleted, receipt.not_found) == (1, 1)


async def test_whoever_embeds_is_woken_when_something_was_added() -> None:
    recalling = Recalling()
    woken: list[bool] = []
    memory = service.MemoryService(
        recalling.store, recalling.limits, recalling.reader, None, recalling.clock, added=lambda: woken.append(True)
    )
    await recalling.session("s1", "tea")
    await memory.add_session(ANYONE, ref())
    await memory.add_session(ANYONE, ref())
    assert len(woken) == 1
    await memory.add(ANYONE, SCOPE, [entry("rum")])
    assert len(woken) == 2


async def test_a_session_of_large_events_is_ingested_by_parts_so_that_others_can_write(monkeypatch: pytest.MonkeyPatch) -> None:
    recalling = Recalling()
    session = await recalling.session("s1", *(f"{number} " + "tea " * 150_000 for number in range(4)))
    parts: list[int] = []
    add = recalling.store.add_memories

    async def counted(tenant: str, scope: MemoryScope, drafts: Sequence[MemoryDraft], *args: Any, **kwargs: Any) -> Any:
        parts.append(sum(len(each.content) for each in drafts))
        return await add(tenant, scope, drafts, *args, **kwargs)

    monkeypatch.setattr(recalling.store, "add_memories", counted)
    assert (await recalling.memory.add_session(ANYONE, session)).added == 4
    assert max(parts) <= 1 << 20


@pytest.mark.parametrize("event_ids", [(), ("s1-1",)])
async def test_a_session_that_takes_over_the_name_while_the_other_is_ingested_is_remembered_once(
    monkeypatch: pytest.MonkeyPatch, event_ids: Sequence[str]
) -> None:
    recalling = Recalling()
    session = await recalling.session("s1", "old tea")
    get_session = recalling.store.get_session

    async def taken_over(tenant: str, to: SessionRef) -> Session:
        monkeypatch.setattr(recalling.store, "get_session", get_session)
        told = await get_session(tenant, to)
        await recalling.store.delete_session(tenant, to)
        await recalling.session("s1", "new tea")
        return told

    monkeypatch.setattr(recalling.store, "get_session", taken_over)
    with pytest.raises(errors.SessionNotFound):
        await recalling.memory.add_session(ANYONE, session, Remembering(event_ids))
    assert (await recalling.memory.add_session(ANYONE, session)).added == 1
    assert await all_texts(recalling) == ["new tea"]
