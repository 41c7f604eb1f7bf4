"""The session memory advisor around a model: what it reads and stores, and the owner of the session."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import threadkeep
from threadkeep import Authors, MemoryProvider, SessionRef
from threadkeep.chat import (
    ChatResponse,
    Generation,
    Media,
    MissingSession,
    Role,
    Text,
    ToolCall,
    Usage,
    WrongUser,
    accept_all,
    assistant,
    by_role,
    contains_text,
    context_keys,
    skip_empty,
    system,
)

from ..async_and_sync import text_of
from ..conversations import CountingClient, Talk, lines, look_tool, prompt_of

CALL = ToolCall("c1", "look", "{}")


async def test_question_and_answer_are_stored(talk: Talk) -> None:
    model = talk.kit.ScriptedModel([lambda prompt: "hello there"])
    assert text_of(await talk.ask(model, talk.memory(), "hi")) == "hello there"
    assert await talk.log() == ["user: hi", "assistant: hello there"]


async def test_question_is_stored_before_the_model_call(talk: Talk) -> None:
    failing = talk.kit.ScriptedModel([RuntimeError("no model")])
    with pytest.raises(RuntimeError, match="no model"):
        await talk.ask(failing, talk.memory(), "hi")
    assert await talk.log() == ["user: hi"]


async def test_history_precedes_the_new_message(talk: Talk) -> None:
    model, memory = talk.kit.ScriptedModel(["one", "two"]), talk.memory()
    await talk.ask(model, memory, "first")
    await talk.ask(model, memory, "second")
    assert prompt_of(model, 0) == ["user: first"]
    assert prompt_of(model, 1) == ["user: first", "assistant: one", "user: second"]
    assert len(await talk.events()) == 4


async def test_request_without_session_raises_missing_session_with_hint(talk: Talk) -> None:
    for nothing in ({context_keys.SESSION: ""}, {context_keys.SESSION: None}):
        with pytest.raises(MissingSession, match=r"threadkeep\.session") as caught:
            await talk.ask(talk.kit.ScriptedModel(), talk.memory(), "hi", context=nothing)
        assert '.session("...")' in str(caught.value)


async def test_instructions_come_first_and_stored_before_new(talk: Talk) -> None:
    await talk.append(threadkeep.system("Be brief."), threadkeep.user("hi"), threadkeep.assistant("hello"))
    model = talk.kit.ScriptedModel(["fine", "fine"])
    await talk.ask(model, talk.memory(), "how are you?", system("Be kind."))
    assert prompt_of(model) == ["system: Be brief.", "system: Be kind.", "user: hi", "assistant: hello", "user: how are you?"]
    await talk.ask(model, talk.memory(), system("Be brief."), "and now?")
    assert [each for each in prompt_of(model) if each.startswith("system")] == ["system: Be brief."], (
        "equal instructions are sent once"
    )
    assert (await talk.log()).count("system: Be brief.") == 1, "instructions of a request are not stored"


async def test_request_for_session_of_another_user_raises_wrong_user(talk: Talk) -> None:
    model, memory = talk.kit.ScriptedModel(["1", "2"]), talk.memory()
    await talk.ask(model, memory, "hi", context={context_keys.USER: "alice"})
    await talk.ask(model, memory, "hi again")
    assert len(await talk.events()) == 4
    with pytest.raises(WrongUser, match="'bob'"):
        await talk.ask(model, memory, "hi", context={context_keys.USER: "bob"})
    ref = SessionRef(app="shop", user_id="alice", session_id=talk.session)
    with pytest.raises(WrongUser, match="'bob'"):
        await talk.ask(model, memory, "hi", session=ref, context={context_keys.USER: "bob"})
    assert len(await talk.events()) == 4


async def test_equal_session_ids_of_two_users_are_separate_without_owner_check(talk: Talk) -> None:
    model, memory = talk.kit.ScriptedModel(["1", "2"]), talk.memory(check_owner=False)
    await talk.ask(model, memory, "hi")
    await talk.ask(model, memory, "hi, too", context={context_keys.USER: "bob"})
    assert await talk.log() == ["user: hi", "assistant: 1"]
    bobs = SessionRef(app="shop", user_id="bob", session_id=talk.session)
    assert [event.message.parts[0].text for event in await talk.kit.all(talk.sdk.events(bobs))] == ["hi, too", "2"]


async def test_sibling_branches_do_not_see_each_other(talk: Talk) -> None:
    model = talk.kit.ScriptedModel(["root", "found", "written", "done"])
    await talk.ask(model, talk.memory(author="chief"), "go")
    await talk.ask(model, talk.memory(author="researcher", branch="chief.researcher"), "research")
    await talk.ask(model, talk.memory(author="writer", branch="chief.writer"), "write")
    assert prompt_of(model, 2) == ["user: go", "assistant: root", "user: write"]
    stamped = [(event.author, event.branch) for event in await talk.events()]
    assert stamped == [("chief", "")] * 2 + [("researcher", "chief.researcher")] * 2 + [("writer", "chief.writer")] * 2
    await talk.ask(model, talk.memory(author="researcher", branch="chief.researcher"), "more")
    assert prompt_of(model) == ["user: go", "assistant: root", "user: research", "assistant: found", "user: more"]


async def test_memory_setting_of_request_overrides_the_advisor(talk: Talk) -> None:
    for turn in range(3):
        await talk.append(threadkeep.user(f"q{turn}"), threadkeep.assistant(f"a{turn}"))
    model, memory = talk.kit.ScriptedModel(["x"] * 4), talk.memory(memory=MemoryProvider.limited_window().max_turns(2))
    await talk.ask(model, memory, "new", context={context_keys.MEMORY: MemoryProvider.limited_window().read_last(2)})
    assert prompt_of(model) == ["user: q2", "assistant: a2", "user: new"]
    await talk.ask(model, memory, "new", context={context_keys.MEMORY: threadkeep.ContextSpec(last_n=2)})
    assert prompt_of(model) == ["user: new", "assistant: x", "user: new"]
    await talk.ask(model, memory, "new", context={context_keys.MEMORY: None})
    assert len(prompt_of(model)) == 5, "None selects the advisor's own setting"
    with pytest.raises(TypeError, match=r"threadkeep\.memory"):
        await talk.ask(model, memory, "new", context={context_keys.MEMORY: 7})


async def test_memory_modes_control_reads_and_writes(talk: Talk) -> None:
    await talk.append(threadkeep.user("q"), threadkeep.assistant("a"))
    model, window = talk.kit.ScriptedModel(["x"] * 3), MemoryProvider.limited_window()
    for mode, seen, stored in (
        (MemoryProvider.none(), ["user: new"], 2),
        (window.read_only(), ["user: q", "assistant: a", "user: new"], 2),
        (window.write_only(), ["user: new"], 4),
    ):
        await talk.ask(model, talk.memory(memory=mode), "new")
        assert prompt_of(model) == seen
        assert len(await talk.events()) == stored


async def test_memory_filter_excludes_authors(talk: Talk) -> None:
    theirs = threadkeep.assistant("theirs", author="them")
    await talk.append(threadkeep.user("q"), threadkeep.assistant("mine", author="me"), theirs)
    model = talk.kit.ScriptedModel(["x"])
    seen = MemoryProvider.limited_window().filtered(Authors.exclude(["them"]))
    await talk.ask(model, talk.memory(memory=seen), "new")
    assert prompt_of(model) == ["user: q", "assistant: mine", "user: new"]


@pytest.mark.parametrize("nothing", [assistant(""), assistant("  \n"), assistant()])
async def test_empty_answer_is_not_stored(talk: Talk, nothing: Any) -> None:
    await talk.ask(talk.kit.ScriptedModel([nothing]), talk.memory(), "hi")
    assert await talk.log() == ["user: hi"]


@pytest.mark.parametrize(
    ("parts", "kinds"),
    [
        ((Text("hello"),), ["text"]),
        ((CALL,), ["tool_call"]),
        ((Media("image/png", data=b"x"),), ["media"]),
        ((Media("image/png", uri="x:y"), CALL), ["media", "tool_call"]),
    ],
)
async def test_answer_with_content_is_stored(talk: Talk, parts: Any, kinds: list[str]) -> None:
    await talk.ask(talk.kit.ScriptedModel([assistant(parts)]), talk.memory(), "hi")
    _, stored = await talk.events()
    assert [part.WhichOneof("content") for part in stored.message.parts] == kinds


async def test_empty_generation_is_neither_stored_nor_resent(talk: Talk) -> None:
    both = ChatResponse((Generation(assistant(tool_calls=[CALL]), "tool_calls"), Generation(assistant(""), "stop")))
    model = talk.kit.ScriptedModel([both, "done", "again"])
    await talk.ask_with_tools(model, talk.memory(), "hi", tools=[look_tool()])
    turn = ["user: hi", "assistant: [look c1]", "tool: c1=found"]
    assert prompt_of(model) == turn
    assert await talk.log() == [*turn, "assistant: done"]
    await talk.ask(model, talk.memory(), "more")
    assert prompt_of(model) == [*turn, "assistant: done", "user: more"]


async def test_messages_excluded_from_storage_are_still_sent(talk: Talk) -> None:
    model = talk.kit.ScriptedModel([assistant(tool_calls=[CALL]), "done"])
    memory = talk.memory(message_filter=by_role(Role.TOOL, Role.SYSTEM))
    await talk.ask_with_tools(model, memory, "hi", tools=[look_tool()])
    assert prompt_of(model, 0) == ["user: hi"]
    assert prompt_of(model, 1) == ["user: hi", "assistant: [look c1]", "tool: c1=found"]
    assert await talk.log() == []


@pytest.mark.parametrize("way", ["call"], indirect=True)  # a stream is one generation
async def test_message_filter_applies_to_each_generation(talk: Talk) -> None:
    both = ChatResponse((Generation(assistant("my SECRET")), Generation(assistant("plain"))))
    memory = talk.memory(message_filter=~contains_text("secret"))
    await talk.ask(talk.kit.ScriptedModel([both]), memory, "hi")
    assert await talk.log() == ["user: hi", "assistant: plain"]


async def test_message_filter_applies_to_each_answer(talk: Talk) -> None:
    model, memory = talk.kit.ScriptedModel(["my SECRET", "plain"]), talk.memory(message_filter=~contains_text("secret"))
    await talk.ask(model, memory, "hi")
    await talk.ask(model, memory, "and?")
    assert await talk.log() == ["user: hi", "user: and?", "assistant: plain"]


async def test_combined_message_filters_apply_to_stored_messages(talk: Talk) -> None:
    memory = talk.memory(message_filter=skip_empty & by_role(Role.USER, Role.ASSISTANT))
    await talk.ask(talk.kit.ScriptedModel([assistant(" ")]), memory, "hi")
    assert await talk.log() == ["user: hi"]
    await talk.ask(talk.kit.ScriptedModel([assistant(" ")]), talk.memory(message_filter=accept_all), "again")
    assert await talk.log() == ["user: hi", "user: again", "assistant:  "]


async def test_custom_event_ids_deduplicate_appends(talk: Talk) -> None:
    fixed = talk.memory(request_ids=lambda message, context: "question", response_ids=lambda message, context: "answer")
    for _ in range(2):
        await talk.ask(talk.kit.ScriptedModel(["hello"]), fixed, "hi")
    assert [event.event_id for event in await talk.events()] == ["question", "answer"]
    for _ in range(2):
        await talk.ask(talk.kit.ScriptedModel(["hello"]), talk.memory(), "hi")
    assert len(await talk.events()) == 6


async def test_invalid_memory_settings_are_rejected(talk: Talk) -> None:
    trigger, strategy = threadkeep.compaction.turns_over(2), threadkeep.compaction.turn_window(1)
    for wrong in ({"message_filter": None}, {"request_ids": None}, {"response_ids": "x"}, {"memory": "all"}):
        with pytest.raises(TypeError, match=next(iter(wrong))):
            talk.memory(**wrong)
    for alone in ({"trigger": trigger}, {"strategy": strategy}, {"summarizer": talk.kit.ScriptedModel()}):
        with pytest.raises(ValueError, match=r"trigger and (a )?strategy"):
            talk.memory(**alone)


async def test_history_repeated_by_the_request_is_sent_once(talk: Talk) -> None:
    model, memory = talk.kit.ScriptedModel(["one", "two", "three"]), talk.memory()
    await talk.ask(model, memory, "first")
    await talk.ask(model, memory, "first", assistant("one"), "second")
    assert prompt_of(model) == ["user: first", "assistant: one", "user: second"]
    narrow = talk.memory(memory=MemoryProvider.limited_window().max_turns(1))
    await talk.ask(model, narrow, "first", assistant("one"), "second", assistant("two"), "third")
    assert prompt_of(model) == ["user: first", "assistant: one", "user: second", "assistant: two", "user: third"]
    assert await talk.log() == [*prompt_of(model), "assistant: three"], "only the last exchange is new"


async def test_repeated_question_is_stored_twice_and_sent_once(talk: Talk) -> None:
    model = talk.kit.ScriptedModel([RuntimeError("no model"), "hello"])
    with pytest.raises(RuntimeError, match="no model"):
        await talk.ask(model, talk.memory(), "hi")
    await talk.ask(model, talk.memory(), "hi")
    assert prompt_of(model) == ["user: hi"]
    assert await talk.log() == ["user: hi", "user: hi", "assistant: hello"]


async def test_only_the_last_user_message_of_a_request_is_stored(talk: Talk) -> None:
    model = talk.kit.ScriptedModel(["x", "y"])
    await talk.ask(model, talk.memory(), "an example", assistant("its answer"), "the question")
    assert prompt_of(model) == ["user: an example", "assistant: its answer", "user: the question"]
    assert await talk.log() == ["user: the question", "assistant: x"]
    await talk.ask(model, talk.memory(), system("Greet."))
    assert await talk.log() == ["user: the question", "assistant: x", "assistant: y"], "the request had no user message"


async def test_usage_run_id_and_author_role_are_stored(talk: Talk) -> None:
    answer = ChatResponse((Generation(assistant("x"), "stop"),), Usage(7, 3, 10, cache_read_tokens=4, reasoning_tokens=1))
    memory = talk.memory(author="chief", author_role="boss")
    await talk.ask(talk.kit.ScriptedModel([answer]), memory, "hi", context={context_keys.RUN: "run-1"})
    question, stored = await talk.events()
    assert (question.author_role, question.invocation_id, question.HasField("usage")) == ("boss", "run-1", False)
    assert (stored.usage.input_tokens, stored.usage.output_tokens, stored.usage.cached_tokens) == (7, 3, 4)
    session = await talk.kit.of(talk.sdk.get_session, talk.session)
    assert (session.usage.total_tokens, session.usage.reasoning_tokens) == (10, 1)


async def test_turn_makes_one_read_and_two_appends(talk: Talk) -> None:
    counted = CountingClient(talk.sdk)
    memory = talk.kit.SessionMemoryAdvisor(counted)
    await talk.ask(talk.kit.ScriptedModel(["x"]), memory, "hi")
    assert counted.calls == {"get_context": 1, "append": 2}


async def test_create_setting_controls_creation_of_missing_session(talk: Talk) -> None:
    model = talk.kit.ScriptedModel(["x"])
    with pytest.raises(threadkeep.errors.SessionNotFound):
        await talk.ask(model, talk.memory(create=False), "hi")
    assert model.prompts == []
    await talk.ask(model, talk.memory(create={"labels": {"team": "blue"}}), "hi")
    assert (await talk.kit.of(talk.sdk.get_session, talk.session)).labels == {"team": "blue"}


async def test_concurrent_first_turns_share_one_new_session(talk: Talk) -> None:
    model, memory = talk.kit.ScriptedModel(["x"] * 6), talk.memory()
    await asyncio.gather(*(talk.ask(model, memory, f"q{n}") for n in range(6)))
    log = await talk.log()
    assert sorted(log) == sorted([f"user: q{n}" for n in range(6)] + ["assistant: x"] * 6)


async def test_session_without_user_belongs_to_the_default_user(talk: Talk, server: Any) -> None:
    nobody = talk.kit.Client(f"127.0.0.1:{server.grpc_port}")
    memory, model = talk.kit.SessionMemoryAdvisor(nobody), talk.kit.ScriptedModel(["x", "y"])
    await talk.ask(model, memory, "hi")
    await talk.ask(model, memory, "and")
    assert prompt_of(model) == ["user: hi", "assistant: x", "user: and"]
    assert (await talk.kit.of(nobody.get_session, talk.session)).ref.user_id == "default-user"
    await talk.kit.of(nobody.close)


async def test_memory_outside_loop_stores_only_question_and_answer(talk: Talk) -> None:
    model = talk.kit.ScriptedModel([assistant(tool_calls=[CALL]), "done"])
    memory = talk.memory(order=context_keys.CHAT_MEMORY_ORDER)
    answers = await talk.ask_with_tools(model, memory, "hi", tools=[look_tool()], loop={"internal_history": True})
    assert text_of(answers) == "done"
    assert prompt_of(model) == ["user: hi", "assistant: [look c1]", "tool: c1=found"]
    assert await talk.log() == ["user: hi", "assistant: done"]


@pytest.mark.parametrize("way", ["stream"], indirect=True)
async def test_answer_is_stored_before_the_last_chunk_of_a_stream(talk: Talk) -> None:
    """The text before the last chunk is not held back."""
    chain = talk.kit.AdvisorChain([talk.memory()], talk.kit.ScriptedModel(["one two"]))

    def stored() -> bool:
        with threadkeep.Client(talk.sdk.address, app="shop", user_id="alice") as other:
            return len(list(other.events(talk.session))) == 2

    stream = chain.next_stream(talk.request("hi"))
    if talk.kit.is_async:
        seen = [(chunk.text, await asyncio.to_thread(stored)) async for chunk in stream]
    else:
        seen = await asyncio.to_thread(lambda: [(chunk.text, stored()) for chunk in stream])
    assert seen == [("one ", False), ("two", False), ("", True)]


async def test_response_context_has_no_memory_internals(talk: Talk) -> None:
    given = {"mine": 1}
    [*_, last] = await talk.ask(talk.kit.ScriptedModel(["x"]), talk.memory(), "hi", context=given)
    assert dict(last.context) == {context_keys.SESSION: talk.session, "mine": 1}
    assert lines([last.message] if last.message else []) in (["assistant: x"], ["assistant: "])


@pytest.mark.parametrize("way", ["stream"], indirect=True)
async def test_answer_of_closed_stream_is_not_stored(talk: Talk) -> None:
    """The question is stored, and the turn can be resumed."""
    chain = talk.kit.AdvisorChain([talk.memory()], talk.kit.ScriptedModel(["one two three"]))
    stream = chain.next_stream(talk.request("hi"))
    if talk.kit.is_async:
        assert (await anext(stream)).text == "one "
        await stream.aclose()
    else:
        assert (await asyncio.to_thread(next, stream)).text == "one "
        await asyncio.to_thread(stream.close)
    assert await talk.log() == ["user: hi"]
