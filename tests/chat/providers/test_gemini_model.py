"""The adapter for Gemini's generateContent against a fake endpoint on loopback: both forms, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from threadkeep.chat import (
    ChatOptions,
    Data,
    Media,
    Message,
    ModelFailed,
    Prompt,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolOptions,
    ToolResult,
    assistant,
    system,
    tool,
    user,
)

from ..async_and_sync import Kit, Way
from ..fakes.loopback import KEY, Loopback, events, loopback, replies
from ..fakes.loopback_gemini import ABOUT, USAGE, content, function_call, streamed
from ..fakes.models import HELLO, WEATHER, answer_of, conversation, merged


@pytest.fixture
async def endpoint() -> AsyncIterator[Loopback]:
    async with loopback("gemini") as model:
        yield model


@pytest.fixture
async def model(endpoint: Loopback, kit: Kit) -> AsyncIterator[Any]:
    opened = kit.GeminiModel("small", base_url=endpoint.url, api_key=KEY)
    yield opened
    await kit.of(opened.close)


def answer_saying(way: Way, *parts: Any, reason: str = "STOP") -> Any:
    return events(streamed(*parts, reason=reason), done=False) if way.streams else replies(content(*parts, reason=reason))


async def test_answer_has_text_metadata_and_usage(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(answer_saying(way, "Hello there"))
    found = merged(await answer_of(way, model, HELLO))
    assert (found.text, found.finish_reason, found.id, found.model) == ("Hello there", "STOP", "g1", "small-2026")
    usage = found.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (50, 12, 62)
    assert (usage.cache_read_tokens, usage.reasoning_tokens) == (20, 3)
    assert usage.native == USAGE


async def test_stream_reports_usage_once_in_the_last_chunk(endpoint: Loopback, model: Any, kit: Kit) -> None:
    endpoint.does(events(streamed("Hello there"), done=False))
    chunks = await kit.all(model.stream(HELLO))
    assert [each.text for each in chunks] == ["He", "llo there", ""]
    assert [each.usage.total_tokens for each in chunks] == [0, 0, 62]
    assert [each.finish_reason for each in chunks] == ["", "", "STOP"]


async def test_thoughts_text_and_parallel_calls_are_parsed(endpoint: Loopback, model: Any, way: Way) -> None:
    first = function_call("weather", {"city": "Ålesund"}, signature="c2ln")
    endpoint.does(
        answer_saying(way, {"text": "Hmm.", "thought": True}, "I look it up.", first, function_call("now", {}, call_id="own"))
    )
    found = merged(await answer_of(way, model, HELLO))
    assert found.message is not None
    assert found.message.parts == (
        Reasoning("Hmm."),
        Text("I look it up."),
        Reasoning("", b"sig"),
        ToolCall("g1-0", "weather", '{"city":"Ålesund"}'),
        ToolCall("own", "now", "{}"),
    )
    assert found.message.metadata == {"reasoning_of": "gemini"}


async def test_answer_content_is_sent_back_unchanged(endpoint: Loopback, model: Any, way: Way) -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1 + 1"}}
    picture = {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}
    call = function_call("weather", {"city": "Oslo"}, call_id="a", signature="/+8=")
    endpoint.does(
        answer_saying(
            way, {"text": "Hmm.", "thought": True}, "It rains.", code, picture, call, {"text": "", "thoughtSignature": "AA=="}
        )
    )
    said = merged(await answer_of(way, model, HELLO)).message
    assert said is not None
    assert [part for part in said.parts if isinstance(part, Data | Media)] == [
        Data("gemini", '{"executableCode":{"language":"PYTHON","code":"1 + 1"}}'),
        Media("image/png", data=b"\x89PNG"),
    ]
    await answer_of(way, model, Prompt((user("Hi"), said)))
    assert endpoint.body["contents"][1] == {
        "role": "model",
        "parts": [{"text": "It rains."}, code, picture, call, {"text": "", "thoughtSignature": "AA=="}],
    }


@pytest.mark.parametrize(("reason", "refused"), [("MAX_TOKENS", False), ("SAFETY", True), ("MALFORMED_FUNCTION_CALL", False)])
async def test_finish_reason_is_kept_and_marks_refusals(
    endpoint: Loopback, model: Any, way: Way, reason: str, refused: bool
) -> None:
    endpoint.does(answer_saying(way, "Well", reason=reason))
    found = merged(await answer_of(way, model, HELLO))
    assert (found.text, found.finish_reason) == ("Well", reason)
    assert found.generations[0].metadata.get("refusal", False) is refused


async def test_blocked_prompt_is_a_refusal(endpoint: Loopback, model: Any, way: Way) -> None:
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": USAGE, **ABOUT}
    endpoint.does(events([blocked], done=False) if way.streams else replies(blocked))
    found = merged(await answer_of(way, model, HELLO))
    assert (found.text, found.finish_reason) == ("", "PROHIBITED_CONTENT")
    assert found.generations[0].metadata["refusal"] is True


async def test_answer_without_candidate_has_no_generation(endpoint: Loopback, model: Any, kit: Kit) -> None:
    endpoint.does(replies({"candidates": [], "usageMetadata": USAGE}))
    found = await kit.of(model.call, HELLO)
    assert found.generations == ()
    assert found.usage.total_tokens == 62


CONTENTS = [
    {
        "role": "user",
        "parts": [{"text": "Where is this?"}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}],
    },
    {
        "role": "model",
        "parts": [
            {"text": "I look it up.", "thoughtSignature": "YzJsbg=="},
            {"functionCall": {"id": "a", "name": "weather", "args": {"city": "Oslo"}}},
            {"functionCall": {"id": "b", "name": "weather", "args": {"INVALID_JSON": "{broken"}}},
        ],
    },
    {
        "role": "user",
        "parts": [
            {"functionResponse": {"id": "a", "name": "weather", "response": {"output": "Rain"}}},
            {"functionResponse": {"id": "b", "name": "weather", "response": {"error": "no such city"}}},
        ],
    },
]
"""The conversation in Gemini's format."""


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
        extra={"generationConfig": {"temperature": 0.7, "thinkingConfig": {"includeThoughts": True}}, "labels": {"a": "b"}},
    )
    await answer_of(way, model, Prompt(conversation(), options))
    assert endpoint.body == {
        "systemInstruction": {"parts": [{"text": "Be short."}]},
        "contents": CONTENTS,
        "generationConfig": {
            "temperature": 0.7,
            "topP": 0.9,
            "maxOutputTokens": 100,
            "stopSequences": ["END"],
            "seed": 7,
            "thinkingConfig": {"includeThoughts": True},
        },
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "weather",
                        "description": "Returns the weather.",
                        "parametersJsonSchema": {
                            "type": "object",
                            "properties": {"city": {"type": "string"}},
                            "required": ["city"],
                        },
                    }
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["weather"]}},
        "labels": {"a": "b"},
    }
    method = "streamGenerateContent?alt=sse" if way.streams else "generateContent"
    assert endpoint.requests[-1].path == f"/v1beta/models/small:{method}"
    assert endpoint.requests[-1].headers["x-goog-api-key"] == KEY


async def test_messages_of_one_role_are_merged_and_empty_parts_dropped(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(answer_saying(way, "Fine"))
    calls = (ToolCall("a", "look"), ToolCall("b", "count"))
    messages = (
        system("One."),
        user("Hi"),
        user(""),
        user("there"),
        system("Two."),
        assistant([Reasoning("unsigned")], tool_calls=calls),
        tool(
            ToolResult("a", parts=(Media("image/png", uri="https://e.org/a.png"),)),
            ToolResult("b", structured_json='{"count": 2}'),
        ),
    )
    await answer_of(way, model, Prompt(messages))
    assert endpoint.body["systemInstruction"] == {"parts": [{"text": "One."}, {"text": "Two."}]}
    assert [each["role"] for each in endpoint.body["contents"]] == ["user", "model", "user"]
    assert endpoint.body["contents"][0]["parts"] == [{"text": "Hi"}, {"text": "there"}]
    assert endpoint.body["contents"][1]["parts"][0] == {"functionCall": {"id": "a", "name": "look", "args": {}}}
    assert endpoint.body["contents"][2]["parts"] == [
        {"functionResponse": {"id": "a", "name": "look", "response": {"output": ""}}},
        {"fileData": {"mimeType": "image/png", "fileUri": "https://e.org/a.png"}},
        {"functionResponse": {"id": "b", "name": "count", "response": {"count": 2}}},
    ]
    assert "generationConfig" not in endpoint.body


async def test_reasoning_signed_by_another_provider_is_not_sent(endpoint: Loopback, model: Any, way: Way) -> None:
    endpoint.does(answer_saying(way, "Fine"))
    said = Message(Role.ASSISTANT, (Reasoning("Hmm.", b"sig"), Text("Hello")), {"reasoning_of": "anthropic"})
    await answer_of(way, model, Prompt((user("Hi"), said, user("And?"))))
    assert endpoint.body["contents"][1] == {"role": "model", "parts": [{"text": "Hello"}]}


@pytest.mark.parametrize(("choice", "mode"), [("auto", "AUTO"), ("none", "NONE"), ("required", "ANY")])
async def test_tool_choice_is_translated(endpoint: Loopback, model: Any, kit: Kit, choice: str, mode: str) -> None:
    endpoint.does(replies(content("Fine")))
    await kit.of(model.call, Prompt(HELLO.messages, ToolOptions(tools=(WEATHER,), tool_choice=choice)))
    assert endpoint.body["toolConfig"] == {"functionCallingConfig": {"mode": mode}}


async def test_retry_delay_in_error_body_is_reported(endpoint: Loopback, kit: Kit, way: Way) -> None:
    model = kit.GeminiModel("small", base_url=endpoint.url, api_key=KEY, max_retries=0)
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "31.5s"}
    error = {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": [{"@type": "other"}, info]}
    endpoint.does(replies({"error": error}, status=429))
    with pytest.raises(ModelFailed, match="quota") as raised:
        await answer_of(way, model, HELLO)
    assert (raised.value.retry, raised.value.retry_after) == (True, 31.5)
    await kit.of(model.close)


async def test_request_options_override_model_options(endpoint: Loopback, kit: Kit, way: Way) -> None:
    model = kit.GeminiModel("small", base_url=endpoint.url, options=ChatOptions(temperature=0.1, max_tokens=9))
    endpoint.does(answer_saying(way, "Fine"))
    await answer_of(way, model, Prompt(HELLO.messages, ChatOptions(model="tunedModels/mine", temperature=0.9)))
    assert endpoint.body["generationConfig"] == {"temperature": 0.9, "maxOutputTokens": 9}
    assert endpoint.requests[-1].path.startswith("/v1beta/tunedModels/mine:")
    await kit.of(model.close)


async def test_environment_key_is_not_sent_to_custom_base_url(
    endpoint: Loopback, kit: Kit, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    model = kit.GeminiModel("small", base_url=endpoint.url)
    endpoint.does(answer_saying(way, "Fine"))
    await answer_of(way, model, HELLO)
    assert KEY not in json.dumps(endpoint.requests[-1].headers)
    await kit.of(model.close)


def test_model_without_key_raises_value_error(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="GEMINI_API_KEY"):
        kit.GeminiModel("small")


async def test_given_client_is_used_and_left_open(endpoint: Loopback, kit: Kit, way: Way) -> None:
    library: Any = (httpx2.AsyncClient if kit.is_async else httpx2.Client)(headers={"x-team": "blue"})
    endpoint.does(answer_saying(way, "Fine"))
    model = kit.GeminiModel("small", base_url=endpoint.url, client=library)
    await answer_of(way, model, HELLO)
    await kit.of(model.close)
    assert endpoint.requests[-1].headers["x-team"] == "blue"
    assert not library.is_closed
    await kit.of(library.aclose if kit.is_async else library.close)
