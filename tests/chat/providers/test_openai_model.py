"""The adapter for OpenAI's chat completions against a fake endpoint on loopback: both forms, whole and streamed."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from threadkeep.chat import (
    ChatOptions,
    Media,
    Prompt,
    Reasoning,
    Text,
    ToolCall,
    ToolOptions,
    ToolResult,
    UnsupportedContent,
    assistant,
    tool,
    user,
)

from ..async_and_sync import Kit, Way
from ..fakes.loopback import KEY, Loopback, call, calls_in_deltas, chunk, completion, events, loopback, replies
from ..fakes.models import HELLO, WEATHER, answer_of, conversation, merged

CALLS = [call("a", "weather", '{"city": "Oslo"}'), call("b", "weather", '{"city": "Bergen"}')]


@pytest.fixture
async def endpoint() -> AsyncIterator[Loopback]:
    async with loopback() as model:
        yield model


@pytest.fixture
async def model(endpoint: Loopback, kit: Kit) -> AsyncIterator[Any]:
    opened = kit.OpenAIModel("small", base_url=endpoint.url, api_key=KEY)
    yield opened
    await kit.of(opened.close)


def answer_saying(way: Way, text: str, *, reason: str = "stop", usage: Any = None) -> Any:
    """Returns the answer, whole or streamed."""
    if not way.streams:
        return replies(completion(text, reason=reason))
    words = [chunk({"content": word}) for word in text.split(" ")]
    return events([chunk({"role": "assistant", "content": ""}), *words, chunk({}, reason=reason), chunk(usage=usage)])


async def test_answer_has_text_metadata_and_usage(endpoint: Loopback, model: Any, way: Way) -> None:
    whole = completion("Hello there")
    endpoint.does(
        events(
            [chunk({"content": "Hello"}), chunk({"content": " there"}), chunk({}, reason="stop"), chunk(usage=whole["usage"])]
        )
        if way.streams
        else replies(whole)
    )
    found = merged(await answer_of(way, model, HELLO))
    assert (found.text, found.finish_reason, found.id, found.model) == ("Hello there", "stop", "c1", "small-2026")
    usage = found.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (50, 12, 62)
    assert (usage.cache_read_tokens, usage.reasoning_tokens) == (20, 3)
    assert usage.native == whole["usage"]


async def test_stream_yields_text_as_it_arrives(endpoint: Loopback, model: Any, kit: Kit) -> None:
    endpoint.does(events([chunk({"content": "One "}), chunk({"content": "two"}), chunk({}, reason="stop")], cut=7))
    chunks = await kit.all(model.stream(HELLO))
    assert [each.text for each in chunks] == ["One ", "two", ""]
    assert [each.finish_reason for each in chunks] == ["", "", "stop"]


@pytest.mark.parametrize("cut", [1, 2, 5, 64])
async def test_parallel_calls_are_assembled_at_any_chunk_size(endpoint: Loopback, model: Any, kit: Kit, cut: int) -> None:
    endpoint.does(events([*calls_in_deltas(CALLS, cut), chunk({}, reason="tool_calls")], cut=cut * 3))
    chunks = await kit.all(model.stream(HELLO))
    assert [each.tool_calls for each in chunks if each.tool_calls] == [
        (ToolCall("a", "weather", '{"city": "Oslo"}'), ToolCall("b", "weather", '{"city": "Bergen"}'))
    ]
    assert chunks[-1].finish_reason == "tool_calls"


@pytest.mark.parametrize("arguments", ["", "{", '{"city": "Os', "not JSON", '["a list"]'])
async def test_invalid_json_arguments_are_kept(endpoint: Loopback, model: Any, way: Way, arguments: str) -> None:
    calls = [call("a", "weather", arguments)]
    endpoint.does(
        events([*calls_in_deltas(calls), chunk({}, reason="tool_calls")]) if way.streams else replies(completion(calls=calls))
    )
    assert merged(await answer_of(way, model, HELLO)).tool_calls == (ToolCall("a", "weather", arguments),)


async def test_calls_without_id_get_unique_ids(endpoint: Loopback, model: Any, way: Way) -> None:
    calls = [{"type": "function", "function": {"name": "weather", "arguments": "{}"}}] * 2
    deltas = [chunk({"tool_calls": [{**each, "index": at}]}) for at, each in enumerate(calls)]
    endpoint.does(events([*deltas, chunk({}, reason="stop")]) if way.streams else replies(completion(calls=calls)))
    assert [each.id for each in merged(await answer_of(way, model, HELLO)).tool_calls] == ["c1-0", "c1-1"]


async def test_calls_with_same_index_are_separated_by_id(endpoint: Loopback, model: Any, kit: Kit) -> None:
    deltas = [chunk({"tool_calls": [{**each, "index": 0}]}) for each in CALLS]
    endpoint.does(events([*deltas, chunk({}, reason="stop")]))
    assert [each.id for each in merged(await kit.all(model.stream(HELLO))).tool_calls] == ["a", "b"]


async def test_reasoning_precedes_the_text(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(
        events(
            [chunk({"reasoning_content": "Hm"}), chunk({"reasoning_content": "m."}), chunk({"content": "Yes"}, reason="stop")]
        )
        if way.streams
        else replies(completion("Yes", reasoning="Hmm."))
    )
    found = merged(await answer_of(way, model, HELLO))
    assert found.message is not None
    assert found.message.parts == (Reasoning("Hmm."), Text("Yes"))


async def test_refusal_is_marked_text(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(
        events([chunk({"refusal": "I will"}), chunk({"refusal": " not."}), chunk({}, reason="stop")])
        if way.streams
        else replies(completion(refusal="I will not."))
    )
    found = merged(await answer_of(way, model, HELLO))
    assert (found.text, found.generations[0].metadata["refusal"]) == ("I will not.", True)


@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_truncated_answer_keeps_its_finish_reason(endpoint: Loopback, model: Any, way: Way, reason: str) -> None:
    endpoint.does(answer_saying(way, "Well", reason=reason))
    found = merged(await answer_of(way, model, HELLO))
    assert (found.text, found.finish_reason) == ("Well", reason)


async def test_answer_without_choice_has_no_generation(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(events([chunk(usage={"prompt_tokens": 5})]) if way.streams else replies(completion() | {"choices": []}))
    found = merged(await answer_of(way, model, HELLO))
    assert found.generations == ()
    assert found.usage.input_tokens > 0


MESSAGES = [
    {"role": "system", "content": "Be short."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "Where is this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw==", "detail": "low"}},
        ],
    },
    {
        "role": "assistant",
        "content": "I look it up.",
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}},
            {"id": "b", "type": "function", "function": {"name": "weather", "arguments": "{broken"}},
        ],
    },
    {"role": "tool", "tool_call_id": "a", "content": "Rain"},
    {"role": "tool", "tool_call_id": "b", "content": "no such city"},
]
"""The conversation in OpenAI's format."""


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
        extra={"user": "u1", "temperature": 0.7},
    )
    await answer_of(way, model, Prompt(conversation(), options))
    streamed = {"stream_options": {"include_usage": True}} if way.streams else {}
    assert (
        endpoint.body
        == {
            "model": "small",
            "messages": MESSAGES,
            "temperature": 0.7,
            "top_p": 0.9,
            "max_tokens": 100,
            "stop": ["END"],
            "seed": 7,
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "weather",
                        "description": "Returns the weather.",
                        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
                        "strict": True,
                    },
                }
            ],
            "tool_choice": {"type": "function", "function": {"name": "weather"}},
            "parallel_tool_calls": False,
            "user": "u1",
            "stream": way.streams,
        }
        | streamed
    )
    assert endpoint.requests[-1].path == "/v1/chat/completions"
    assert endpoint.requests[-1].headers["authorization"] == f"Bearer {KEY}"


async def test_reasoning_is_sent_back_in_the_configured_field(endpoint: Loopback, kit: Kit, way: Way) -> None:
    model = kit.OpenAIModel("small", base_url=endpoint.url, reasoning_field="reasoning_content", stream_usage=False)
    endpoint.does(answer_saying(way, "Fine"))
    await answer_of(way, model, Prompt((user("Hi"), assistant([Reasoning("Hmm."), "Hello"]), user("And?"))))
    assert endpoint.body["messages"][1] == {"role": "assistant", "content": "Hello", "reasoning_content": "Hmm."}
    assert "stream_options" not in endpoint.body
    await kit.of(model.close)


async def test_unsupported_media_is_rejected_before_the_request(endpoint: Loopback, model: Any, way: Way) -> None:
    film = user([Media("video/mp4", uri="https://example.org/a.mp4")])
    with pytest.raises(UnsupportedContent, match="video/mp4"):
        await answer_of(way, model, Prompt((film,)))
    assert endpoint.requests == []


async def test_request_options_override_model_options(endpoint: Loopback, kit: Kit, way: Way) -> None:
    model = kit.OpenAIModel("small", base_url=endpoint.url, options=ChatOptions(temperature=0.1, max_tokens=9))
    endpoint.does(answer_saying(way, "Fine"))
    await answer_of(way, model, Prompt(HELLO.messages, ChatOptions(model="large", temperature=0.9)))
    assert (endpoint.body["model"], endpoint.body["temperature"], endpoint.body["max_tokens"]) == ("large", 0.9, 9)
    await kit.of(model.close)


async def test_environment_key_is_not_sent_to_custom_base_url(
    endpoint: Loopback, kit: Kit, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = kit.OpenAIModel("small", base_url=endpoint.url)
    endpoint.does(answer_saying(way, "Fine"))
    await answer_of(way, model, HELLO)
    assert KEY not in json.dumps(endpoint.requests[-1].headers)
    await kit.of(model.close)


async def test_given_client_is_used_and_left_open(endpoint: Loopback, kit: Kit, way: Way) -> None:
    import openai

    library = (openai.AsyncOpenAI if kit.is_async else openai.OpenAI)(
        base_url=endpoint.url, api_key=KEY, default_headers={"x-team": "blue"}
    )
    endpoint.does(answer_saying(way, "Fine"))
    model = kit.OpenAIModel("small", client=library)
    await answer_of(way, model, HELLO)
    await kit.of(model.close)
    assert endpoint.requests[-1].headers["x-team"] == "blue"
    assert not library.is_closed()
    await kit.of(library.close)


@pytest.mark.parametrize(
    ("media", "sent"),
    [
        (Media("image/png", uri="https://e.org/a.png"), {"type": "image_url", "image_url": {"url": "https://e.org/a.png"}}),
        (Media("audio/wav", data=b"RIFF"), {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}),
        (
            Media("application/pdf", data=b"%PDF", name="a.pdf"),
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}},
        ),
        (Media("application/pdf", file_id="f1"), {"type": "file", "file": {"file_id": "f1"}}),
    ],
)
async def test_media_are_sent_in_messages_and_tool_results(
    endpoint: Loopback, model: Any, kit: Kit, media: Media, sent: Any
) -> None:
    endpoint.does(replies(completion("Fine")))
    called = assistant(tool_calls=[ToolCall("a", "look"), ToolCall("b", "go", "north", kind="custom")])
    results = tool(ToolResult("a", "look", (Text("See"), media)), ToolResult("b", "go", structured_json='{"at": 1}'))
    await kit.of(model.call, Prompt((user([media]), called, results)))
    first, second, *answers, shown = endpoint.body["messages"]
    assert first == {"role": "user", "content": [sent]}
    assert second["content"] is None
    assert second["tool_calls"] == [
        call("a", "look", "{}"),
        {"id": "b", "type": "custom", "custom": {"name": "go", "input": "north"}},
    ]
    assert [(each["tool_call_id"], each["content"]) for each in answers] == [("a", "See"), ("b", '{"at": 1}')]
    assert shown == {
        "role": "user",
        "content": [{"type": "text", "text": "What the call a returned in addition to its text:"}, sent],
    }


async def test_request_to_openai_itself_uses_max_completion_tokens(kit: Kit) -> None:
    model = kit.OpenAIModel("small", api_key=KEY, base_url="https://api.openai.com/v1")
    body = model._body(Prompt(HELLO.messages, ChatOptions(model="small", max_tokens=9)), stream=False)
    assert (body.get("max_completion_tokens"), body.get("max_tokens")) == (9, None)
    await kit.of(model.close)


async def test_ten_thousand_messages_cost_little_cpu_time(endpoint: Loopback, model: Any, way: Way) -> None:
    """OpenAI's library inspects each message, which took seconds for this many."""
    endpoint.does(answer_saying(way, "Fine"))
    messages = tuple(user(str(number)) if number % 2 == 0 else assistant(str(number)) for number in range(10_001))
    began = time.process_time()
    await answer_of(way, model, Prompt(messages))
    assert time.process_time() - began < 0.7
    assert [each["content"] for each in endpoint.body["messages"][-2:]] == ["9999", "10000"]
