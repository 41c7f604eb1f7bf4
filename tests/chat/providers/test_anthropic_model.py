"""The adapter for Anthropic's messages against a fake endpoint on loopback: both forms, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from threadkeep.chat import (
    ChatOptions,
    Data,
    Media,
    Message,
    Prompt,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolOptions,
    ToolResult,
    UnsupportedContent,
    assistant,
    system,
    tool,
    user,
)

from ..async_and_sync import Kit, Way
from ..fakes.loopback import KEY, Loopback, events, loopback, replies
from ..fakes.loopback_anthropic import USAGE, message, streamed, tool_use
from ..fakes.models import HELLO, WEATHER, answer_of, conversation, merged

THINKING = {"type": "thinking", "thinking": "Oslo, perhaps.", "signature": "c2ln+/=="}
REDACTED = {"type": "redacted_thinking", "data": "ZW5j"}


@pytest.fixture
async def endpoint() -> AsyncIterator[Loopback]:
    async with loopback("anthropic") as model:
        yield model


@pytest.fixture
async def model(endpoint: Loopback, kit: Kit) -> AsyncIterator[Any]:
    opened = kit.AnthropicModel("small", base_url=endpoint.url, api_key=KEY)
    yield opened
    await kit.of(opened.close)


def answer_saying(way: Way, *content: Any, cut: int = 4, **about: Any) -> Any:
    whole = message(*content, **about)
    return events(streamed(whole, cut=cut), done=False) if way.streams else replies(whole)


async def test_answer_has_text_metadata_and_usage(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(answer_saying(way, "Hello there"))
    found = merged(await answer_of(way, model, HELLO))
    assert (found.text, found.finish_reason, found.id, found.model) == ("Hello there", "end_turn", "m1", "small-2026")
    usage = found.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (55, 12, 67)
    assert (usage.cache_read_tokens, usage.cache_write_tokens, usage.reasoning_tokens) == (20, 5, 3)
    assert usage.native == USAGE


async def test_stream_reports_usage_once_in_the_last_chunk(endpoint: Loopback, model: Any, kit: Kit) -> None:
    endpoint.does(events(streamed(message("Hello there")), done=False))
    chunks = await kit.all(model.stream(HELLO))
    assert [each.text for each in chunks] == ["Hell", "o th", "ere", ""]
    assert [each.usage.total_tokens for each in chunks] == [0, 0, 0, 67]


@pytest.mark.parametrize("cut", [1, 3, 100])
async def test_thinking_text_and_parallel_calls_are_parsed_at_any_chunk_size(
    endpoint: Loopback, model: Any, way: Way, cut: int
) -> None:
    calls = [tool_use("a", "weather", {"city": "Ålesund"}), tool_use("b", "now", {})]
    endpoint.does(answer_saying(way, THINKING, REDACTED, "I look it up.", *calls, reason="tool_use", cut=cut))
    chunks = await answer_of(way, model, HELLO)
    found = merged(chunks)
    assert found.message is not None
    assert found.message.parts[:3] == (
        Reasoning("Oslo, perhaps.", b"c2ln+/=="),
        Reasoning(encrypted=b"ZW5j"),
        Text("I look it up."),
    )
    assert [(each.id, each.name, json.loads(each.arguments)) for each in found.tool_calls] == [
        ("a", "weather", {"city": "Ålesund"}),
        ("b", "now", {}),
    ]
    assert all(len(each.tool_calls) <= 1 for each in chunks) or not way.streams
    assert found.finish_reason == "tool_use"
    assert found.message.metadata == {"reasoning_of": "anthropic"}


async def test_answer_content_is_sent_back_unchanged(endpoint: Loopback, model: Any, way: Way) -> None:
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "Oslo"}}
    found_there = {
        "type": "web_search_tool_result",
        "tool_use_id": "s",
        "content": [{"type": "web_search_result", "title": "O"}],
    }
    content = [THINKING, REDACTED, search, found_there, "It rains.", tool_use("a", "weather", {"city": "Oslo"})]
    endpoint.does(answer_saying(way, *content, reason="tool_use"))
    said = merged(await answer_of(way, model, HELLO)).message
    assert said is not None
    assert [part.type for part in said.parts if isinstance(part, Data)] == ["anthropic", "anthropic"]
    await answer_of(way, model, Prompt((user("Hi"), said, tool(ToolResult("a", "weather", (Text("Rain"),))))))
    assert endpoint.body["messages"][1]["content"] == [
        *content[:4],
        {"type": "text", "text": "It rains."},
        tool_use("a", "weather", {"city": "Oslo"}),
    ]


async def test_invalid_json_arguments_are_kept_and_sent_back_wrapped(endpoint: Loopback, model: Any, kit: Kit) -> None:
    endpoint.does(events(streamed(message(tool_use("a", "weather", '{"city": "Os'), reason="max_tokens")), done=False))
    found = merged(await kit.all(model.stream(HELLO)))
    assert found.tool_calls == (ToolCall("a", "weather", '{"city": "Os'),)
    assert found.message is not None
    await kit.all(model.stream(Prompt((user("Hi"), found.message))))
    assert endpoint.body["messages"][1]["content"][0]["input"] == {"INVALID_JSON": '{"city": "Os'}


@pytest.mark.parametrize(("reason", "refused"), [("max_tokens", False), ("refusal", True), ("pause_turn", False)])
async def test_stop_reason_is_the_finish_reason_and_marks_refusals(
    endpoint: Loopback, model: Any, way: Way, reason: str, refused: bool
) -> None:
    endpoint.does(answer_saying(way, "Well", reason=reason))
    found = merged(await answer_of(way, model, HELLO))
    assert (found.text, found.finish_reason) == ("Well", reason)
    assert found.generations[0].metadata.get("refusal", False) is refused


async def test_answer_without_content_has_no_parts(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(answer_saying(way))
    found = merged(await answer_of(way, model, HELLO))
    assert found.message is not None
    assert (found.message.parts, found.finish_reason) == ((), "end_turn")


async def test_request_body_of_a_whole_conversation(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(answer_saying(way, "Fine"))
    options = ToolOptions(
        temperature=0.5,
        top_p=0.9,
        max_tokens=100,
        stop=("END",),
        seed=7,
        tools=(WEATHER,),
        tool_choice="weather",
        parallel_tool_calls=False,
        extra={"metadata": {"user_id": "u1"}, "temperature": 0.7},
    )
    await answer_of(way, model, Prompt(conversation(), options))
    picture = {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}
    assert endpoint.body == {
        "model": "small",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "Be short."}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Where is this?"}, {"type": "image", "source": picture}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Oslo, perhaps.", "signature": "c2ln"},
                    {"type": "text", "text": "I look it up."},
                    {"type": "tool_use", "id": "a", "name": "weather", "input": {"city": "Oslo"}},
                    {"type": "tool_use", "id": "b", "name": "weather", "input": {"INVALID_JSON": "{broken"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "Rain"}]},
                    {
                        "type": "tool_result",
                        "tool_use_id": "b",
                        "content": [{"type": "text", "text": "no such city"}],
                        "is_error": True,
                    },
                ],
            },
        ],
        "temperature": 0.7,
        "top_p": 0.9,
        "stop_sequences": ["END"],
        "tools": [
            {
                "name": "weather",
                "description": "Returns the weather.",
                "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
                "strict": True,
            }
        ],
        "tool_choice": {"type": "tool", "name": "weather", "disable_parallel_tool_use": True},
        "metadata": {"user_id": "u1"},
        "stream": way.streams,
    }
    assert endpoint.requests[-1].path == "/v1/messages"
    assert endpoint.requests[-1].headers["authorization"] == f"Bearer {KEY}"


async def test_messages_of_one_role_are_merged_and_empty_parts_dropped(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(answer_saying(way, "Fine"))
    messages = (
        system("One."),
        user("Hi"),
        user(""),
        user("there"),
        assistant([Reasoning("unsigned"), " "]),
        system(" "),
        system("Two."),
        tool(ToolResult("call:1", "now")),
    )
    await answer_of(way, model, Prompt(messages))
    assert endpoint.body["system"] == [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]
    hello = [{"type": "text", "text": "Hi"}, {"type": "text", "text": "there"}]
    assert endpoint.body["messages"] == [
        {"role": "user", "content": [*hello, {"type": "tool_result", "tool_use_id": "call_1"}]}
    ]
    assert endpoint.body["max_tokens"] == 4096


async def test_reasoning_signed_by_another_provider_is_not_sent(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(answer_saying(way, "Fine"))
    said = Message(Role.ASSISTANT, (Reasoning("Hmm.", b"sig"), Text("Hello")), {"reasoning_of": "gemini"})
    await answer_of(way, model, Prompt((user("Hi"), said, user("And?"))))
    assert endpoint.body["messages"][1] == {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]}


@pytest.mark.parametrize(
    ("choice", "parallel", "sent"),
    [
        (None, None, None),
        ("auto", None, {"type": "auto"}),
        ("none", False, {"type": "none"}),
        ("required", True, {"type": "any", "disable_parallel_tool_use": False}),
        (None, False, {"type": "auto", "disable_parallel_tool_use": True}),
    ],
)
async def test_tool_choice_and_parallel_calls_are_translated(
    endpoint: Loopback, model: Any, kit: Kit, choice: str | None, parallel: bool | None, sent: Any
) -> None:
    endpoint.does(replies(message("Fine")))
    options = ToolOptions(tools=(WEATHER,), tool_choice=choice, parallel_tool_calls=parallel)
    await kit.of(model.call, Prompt(HELLO.messages, options))
    assert endpoint.body.get("tool_choice") == sent


@pytest.mark.parametrize(
    ("media", "sent"),
    [
        (
            Media("image/png", uri="https://e.org/a.png"),
            {"type": "image", "source": {"type": "url", "url": "https://e.org/a.png"}},
        ),
        (Media("image/png", file_id="f1"), {"type": "image", "source": {"type": "file", "file_id": "f1"}}),
        (
            Media("application/pdf", data=b"%PDF", name="a.pdf"),
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
                "title": "a.pdf",
            },
        ),
        (
            Media("text/plain", data="Grüße".encode()),
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Grüße"}},
        ),
    ],
)
async def test_media_are_sent_in_messages_and_tool_results(
    endpoint: Loopback, model: Any, kit: Kit, media: Media, sent: Any
) -> None:
    endpoint.does(replies(message("Fine")))
    called = assistant(tool_calls=[ToolCall("a", "look", "")])
    await kit.of(model.call, Prompt((user([media]), called, tool(ToolResult("a", "look", (Text("See"), media))))))
    first, second, third = (each["content"] for each in endpoint.body["messages"])
    assert first == [sent]
    assert second == [tool_use("a", "look", {})]
    assert third == [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "See"}, sent]}]


async def test_unsupported_media_is_rejected_before_the_request(endpoint: Loopback, model: Any, way: Way) -> None:
    with pytest.raises(UnsupportedContent, match="audio/wav"):
        await answer_of(way, model, Prompt((user([Media("audio/wav", data=b"RIFF")]),)))
    assert endpoint.requests == []


async def test_request_options_override_model_options(endpoint: Loopback, kit: Kit, way: Way) -> None:
    model = kit.AnthropicModel("small", base_url=endpoint.url, options=ChatOptions(temperature=0.1, max_tokens=9))
    endpoint.does(answer_saying(way, "Fine"))
    await answer_of(way, model, Prompt(HELLO.messages, ChatOptions(model="large", temperature=0.9)))
    assert (endpoint.body["model"], endpoint.body["temperature"], endpoint.body["max_tokens"]) == ("large", 0.9, 9)
    await kit.of(model.close)


async def test_environment_key_is_not_sent_to_custom_base_url(
    endpoint: Loopback, kit: Kit, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", KEY)
    model = kit.AnthropicModel("small", base_url=endpoint.url)
    endpoint.does(answer_saying(way, "Fine"))
    await answer_of(way, model, HELLO)
    assert KEY not in json.dumps(endpoint.requests[-1].headers)
    await kit.of(model.close)


def test_model_without_key_raises_value_error(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="ANTHROPIC_API_KEY"):
        kit.AnthropicModel("small")


async def test_given_client_is_used_and_left_open(endpoint: Loopback, kit: Kit, way: Way) -> None:
    import anthropic

    library = (anthropic.AsyncAnthropic if kit.is_async else anthropic.Anthropic)(
        base_url=endpoint.url, api_key=KEY, default_headers={"x-team": "blue"}
    )
    endpoint.does(answer_saying(way, "Fine"))
    model = kit.AnthropicModel("small", client=library)
    await answer_of(way, model, HELLO)
    await kit.of(model.close)
    assert endpoint.requests[-1].headers["x-team"] == "blue"
    assert not library.is_closed()
    await kit.of(library.close)
