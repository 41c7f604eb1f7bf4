"""The SDK's own kit, and what it does not test: repeats, concurrency, summaries, other frameworks' sessions."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any, cast

import pytest
from claude_agent_sdk import (
    SessionKey,
    SessionStore,
    SessionStoreEntry,
    delete_session_via_store,
    fork_session_via_store,
    get_session_messages_from_store,
    get_subagent_messages_from_store,
    list_sessions_from_store,
    list_subagents_from_store,
    project_key_for_directory,
    rename_session_via_store,
    tag_session_via_store,
)
from claude_agent_sdk.testing import run_session_store_conformance

from threadkeep import AsyncClient, AsyncSessionHandle, assistant, event, tool_call, tool_result_part, user
from threadkeep.errors import Unavailable
from threadkeep.formats import claude_transcript as transcript
from threadkeep.integrations.claude_agent import ThreadkeepSessionStore
from threadkeep.v1.message_pb2 import Role

KEY: SessionKey = {"project_key": "proj", "session_id": "sess"}
SUB: SessionKey = {**KEY, "subpath": "subagents/agent-1"}


def entry(n: int, **fields: Any) -> SessionStoreEntry:
    return cast("SessionStoreEntry", {"type": "x", "uuid": f"u{n}", "n": n, **fields})


def bare(n: int) -> SessionStoreEntry:
    return cast("SessionStoreEntry", {"type": "custom-title", "n": n})


@pytest.fixture
async def user_client(address: str) -> AsyncIterator[AsyncClient]:
    """A client with a user of its own: the apps are the projects."""
    async with AsyncClient(address, user_id=f"user-{uuid.uuid4()}") as opened:
        yield opened


@pytest.fixture
def store(user_client: AsyncClient) -> ThreadkeepSessionStore:
    return ThreadkeepSessionStore(user_client)


async def test_conformance_kit_passes_with_all_optional_methods(address: str) -> None:
    async with AsyncExitStack() as stack:

        async def make() -> SessionStore:
            opened = AsyncClient(address, user_id=f"user-{uuid.uuid4()}")
            return ThreadkeepSessionStore(await stack.enter_async_context(opened))

        await run_session_store_conformance(make)
    for method in ("list_sessions", "list_session_summaries", "delete", "list_subkeys"):
        assert getattr(ThreadkeepSessionStore, method) is not getattr(SessionStore, method), "the kit skips it"


async def test_entries_come_back_equal(store: ThreadkeepSessionStore) -> None:
    odd = {"type": "x", "text": "a \u0000 and \ud800", "big": 2**80, "small": 1e-7, "none": None, "nested": [[], {}], "uuid": 7}
    message = {"type": "user", "uuid": "", "message": {"role": "user", "content": [{"type": "image"}, 5, {"type": "text"}]}}
    entries = [cast("SessionStoreEntry", each) for each in (odd, message, {"type": "user", "message": "text"})]
    await store.append(KEY, entries)
    assert await store.load(KEY) == entries


async def test_entry_with_a_stored_uuid_is_stored_once(store: ThreadkeepSessionStore) -> None:
    await store.append(KEY, [entry(1), entry(2), entry(2)])
    await store.append(KEY, [entry(2, changed=True), entry(3)])
    assert await store.load(KEY) == [entry(1), entry(2), entry(3)]


async def test_uuid_of_main_transcript_is_free_in_a_subagents(store: ThreadkeepSessionStore) -> None:
    await store.append(KEY, [entry(1)])
    await store.append(SUB, [entry(1)])
    assert await store.load(SUB) == await store.load(KEY) == [entry(1)]


async def test_repeated_append_after_lost_answer_stores_nothing_twice(
    store: ThreadkeepSessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = AsyncSessionHandle.append

    async def lost(handle: AsyncSessionHandle, *events: Any, **options: Any) -> None:
        await append(handle, *events, **options)
        raise Unavailable("the connection broke")

    for key in (KEY, SUB):
        with monkeypatch.context() as patch:
            patch.setattr(AsyncSessionHandle, "append", lost)
            with pytest.raises(Unavailable):
                await store.append(key, [entry(1), bare(2)])
        await store.append(key, [entry(1), bare(2)])
        assert await store.load(key) == [entry(1), bare(2)]
    await store.append(KEY, [bare(2)])
    assert await store.load(KEY) == [entry(1), bare(2), bare(2)], "an entry without a uuid is appended as it is"


async def test_concurrent_first_appends_are_all_stored_and_summarized(user_client: AsyncClient) -> None:
    stores = [ThreadkeepSessionStore(user_client) for _ in range(8)]
    batches = [
        [entry(n * 10 + i, customTitle=f"{n}", timestamp=f"2026-01-01T00:00:0{n}Z") for i in range(3)]
        for n in range(len(stores))
    ]
    await asyncio.gather(*(store.append(KEY, batch) for store, batch in zip(stores, batches, strict=True)))
    found = [cast("Any", each)["n"] for each in await stores[0].load(KEY) or []]
    assert sorted(found) == [n * 10 + i for n in range(8) for i in range(3)]
    assert all(found[found.index(n * 10) :][:3] == [n * 10, n * 10 + 1, n * 10 + 2] for n in range(8))
    (summary,) = await stores[0].list_session_summaries("proj")
    assert summary["data"]["custom_title"] == str(found[-1] // 10), "the last append is the last fold"


async def test_summaries_are_as_new_as_the_list_and_survive_the_store(user_client: AsyncClient) -> None:
    await ThreadkeepSessionStore(user_client).append(KEY, [entry(1, cwd="/here", customTitle="first")])
    store = ThreadkeepSessionStore(user_client)
    await store.append(SUB, [entry(2, customTitle="a subagent's")])
    await store.append(KEY, [entry(3, gitBranch="main")])
    (summary,), (listed,) = await store.list_session_summaries("proj"), await store.list_sessions("proj")
    assert summary["mtime"] == listed["mtime"]
    assert {"cwd": "/here", "custom_title": "first", "git_branch": "main"}.items() <= summary["data"].items()


async def test_session_of_subagents_alone_is_not_listed_until_its_main_transcript_is(store: ThreadkeepSessionStore) -> None:
    await store.append(SUB, [entry(1)])
    assert await store.list_sessions("proj") == []
    assert await store.load(KEY) is None
    await store.append(KEY, [entry(2)])
    assert [each["session_id"] for each in await store.list_sessions("proj")] == ["sess"]


@pytest.mark.parametrize("subpath", ["subagents/a.b/agent-1", "a//b", "50%/\u00e9 \n", "."])
async def test_subpath_of_any_characters_is_kept(store: ThreadkeepSessionStore, subpath: str) -> None:
    await store.append({**KEY, "subpath": subpath}, [entry(1)])
    assert await store.list_subkeys({"project_key": "proj", "session_id": "sess"}) == [subpath]


async def test_empty_subpath_is_refused(store: ThreadkeepSessionStore) -> None:
    with pytest.raises(ValueError, match="subpath"):
        await store.load({**KEY, "subpath": ""})


async def test_deleted_subpath_is_listed_again_after_an_append(store: ThreadkeepSessionStore) -> None:
    key = {"project_key": "proj", "session_id": "sess"}
    await store.append(KEY, [entry(0)])
    await store.append(SUB, [entry(n) for n in range(1_100)])
    await store.delete(SUB)
    assert await store.load(SUB) is None
    assert await store.list_subkeys(cast("Any", key)) == []
    await store.append(SUB, [entry(2_000)])
    assert await store.list_subkeys(cast("Any", key)) == ["subagents/agent-1"]
    assert await store.load(SUB) == [entry(2_000)]


async def test_erase_leaves_no_content_of_a_deleted_subagents_transcript(user_client: AsyncClient) -> None:
    store = ThreadkeepSessionStore(user_client, erase=True)
    await store.append(SUB, [entry(1)])
    await store.delete(SUB)
    session = user_client.session(store._handle(SUB).ref)
    assert [each.erased async for each in session.events()] == [True]


async def test_sdks_readers_and_mutations_work_with_the_store(store: ThreadkeepSessionStore) -> None:
    session_id = str(uuid.uuid4())
    key: SessionKey = {"project_key": project_key_for_directory("/work"), "session_id": session_id}
    asked, answered = spoken("user", "What is it?", None), spoken("assistant", "It is a test.", None)
    answered["parentUuid"] = asked["uuid"]
    await store.append(key, cast("Any", [asked, answered]))
    await store.append({**key, "subpath": "subagents/agent-7"}, cast("Any", [spoken("user", "Look.", None, agentId="7")]))

    messages = await get_session_messages_from_store(store, session_id, directory="/work")
    assert [message.type for message in messages] == ["user", "assistant"]
    assert await list_subagents_from_store(store, session_id, directory="/work") == ["7"]
    assert len(await get_subagent_messages_from_store(store, session_id, "7", directory="/work")) == 1
    await rename_session_via_store(store, session_id, "Tests", directory="/work")
    await tag_session_via_store(store, session_id, "done", directory="/work")
    (info,) = await list_sessions_from_store(store, directory="/work")
    assert (info.custom_title, info.tag, info.first_prompt) == ("Tests", "done", "What is it?")
    forked = await fork_session_via_store(store, session_id, directory="/work")
    assert len(await get_session_messages_from_store(store, forked.session_id, directory="/work")) == 2
    await delete_session_via_store(store, session_id, directory="/work")
    assert await store.load(key) is None


def spoken(role: str, content: Any, parent: str | None, **fields: Any) -> dict[str, Any]:
    message = {"role": role, "content": content}
    own = {"parentUuid": parent, "uuid": str(uuid.uuid4()), "timestamp": "2026-11-27T08:00:00.500Z", "cwd": "/work"}
    return {"type": role, "message": message, "isSidechain": False, **own, **fields}


async def test_lines_have_typed_parts_usage_and_time(store: ThreadkeepSessionStore) -> None:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 10, "output_tokens": 7}
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    lines = [
        spoken("user", "List.", None, promptId="p1"),
        *(spoken("assistant", [block], None) for block in (thinking, call)),
        spoken("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "denied", "is_error": True}], None),
        spoken("user", "This session is continued.", None, isCompactSummary=True),
    ]
    for line in lines[1:3]:
        line["message"] |= {"id": "msg_1", "usage": usage}
    for batch in (lines[:2], lines[2:]):
        await store.append(KEY, cast("Any", batch))
    session = store._handle(KEY)
    events = [each async for each in session.events()]
    assert [Role.Name(each.pb.message.role)[5:] for each in events] == ["USER", "ASSISTANT", "ASSISTANT", "TOOL", "USER"]
    assert [each.id for each in events] == [line["uuid"] for line in lines]
    assert events[0].pb.invocation_id == "p1"
    assert events[0].time is not None
    assert events[0].time.isoformat() == "2026-11-27T08:00:00.500000+00:00"
    assert events[1].pb.message.parts[0].reasoning.signature == b"c2ln"
    assert (events[2].tool_calls[0].name, events[2].tool_calls[0].args) == ("Bash", {"command": "ls"})
    assert (events[3].tool_results[0].call_id, events[3].tool_results[0].is_error) == ("t1", True)
    assert (events[4].pb.synthetic, events[4].pb.compaction_source) == (True, transcript.COMPACTION)
    total = (await session.get()).usage
    assert (total.input_tokens, total.output_tokens, total.cached_tokens) == (113, 7, 100), "an answer in two lines counts once"


async def test_messages_of_another_framework_are_lines_that_the_sdk_shows(
    store: ThreadkeepSessionStore, user_client: AsyncClient
) -> None:
    session_id, key = str(uuid.uuid4()), project_key_for_directory("/work")
    session = user_client.session(store._handle({"project_key": key, "session_id": session_id}).ref)
    first = spoken("user", "Hi", None)
    await store.append({"project_key": key, "session_id": session_id}, cast("Any", [first]))
    answer = assistant(["Look.", tool_call("c1", "f", {"x": 1})], author="planner")
    await session.append(answer, event("tool", [tool_result_part("c1", "broken", is_error=True)]), user("Well?"))
    lines = cast("list[Any]", await store.load({"project_key": key, "session_id": session_id}))
    assert [line["type"] for line in lines] == ["user", "assistant", "user", "user"]
    assert [line["parentUuid"] for line in lines[1:]] == [line["uuid"] for line in lines[:-1]]
    assert lines[1]["message"]["content"][1] == {"type": "tool_use", "id": "c1", "name": "f", "input": {"x": 1}}
    assert lines == await store.load({"project_key": key, "session_id": session_id}), "ids are the same at every read"
    messages = await get_session_messages_from_store(store, session_id, directory="/work")
    assert len(messages) == 4


def test_subpath_is_the_branch_of_other_frameworks() -> None:
    assert transcript.branch_of("subagents/agent-1") == "subagents.agent-1"
    assert transcript.subpath_of("planner.critic") == "planner/critic"
