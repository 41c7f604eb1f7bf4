"""Missing and repeated call ids, and malformed usage, in the formats of all providers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from threadkeep.chat import Aggregator, ChatResponse, ToolCall
from threadkeep.chat.providers.formats import anthropic_answers, gemini_answers, openai_answers
from threadkeep.chat.providers.formats.sse import Event

from ..fakes import loopback_anthropic, loopback_gemini
from ..fakes.loopback import chunk, completion


def streamed(format_: Any, items: Iterable[Any]) -> ChatResponse:
    chunks, whole = format_.Chunks(), Aggregator()
    for item in items:
        event = Event(item.partition("data: ")[2] if isinstance(item, str) else json.dumps(item))
        for piece in chunks.add(event):
            whole.add_response(piece)
    for piece in chunks.finish():
        whole.add_response(piece)
    return whole.chat_response()


def openai(ids: list[str], about: str, streams: bool) -> ChatResponse:
    calls = [{"id": each, "type": "function", "function": {"name": "f", "arguments": "{}"}} for each in ids]
    if not streams:
        return openai_answers.answer({**completion(calls=calls), "id": about})
    deltas = [chunk({"tool_calls": [{**each, "index": at}]}) for at, each in enumerate(calls)]
    return streamed(openai_answers, [{**each, "id": about} for each in (*deltas, chunk({}, reason="stop"))])


def anthropic(ids: list[str], about: str, streams: bool) -> ChatResponse:
    uses = [loopback_anthropic.tool_use(each, "f", {}) for each in ids]
    whole = {**loopback_anthropic.message(*uses), "id": about}
    if not streams:
        return anthropic_answers.answer(whole)
    return streamed(anthropic_answers, loopback_anthropic.streamed(whole))


def gemini(ids: list[str], about: str, streams: bool) -> ChatResponse:
    parts = [{"functionCall": {"id": each, "name": "f", "args": {}}} for each in ids]
    whole = {**loopback_gemini.content(*parts), "responseId": about}
    if not streams:
        return gemini_answers.answer(whole)
    return streamed(gemini_answers, [whole])


FORMS = pytest.mark.parametrize("said", [openai, anthropic, gemini])
WAYS = pytest.mark.parametrize("streams", [False, True])


@FORMS
@WAYS
def test_calls_of_one_answer_get_unique_ids(said: Any, streams: bool) -> None:
    found = [each.id for each in said(["a", "a", "", "b", ""], "c1", streams).tool_calls]
    assert found == ["a", "a-1", "c1-2", "b", "c1-4"]


@FORMS
@WAYS
def test_calls_of_answers_without_id_get_unique_ids(said: Any, streams: bool) -> None:
    """Results refer to calls by id, so ids must be unique within a conversation."""
    first, second = ({each.id for each in said(["", ""], "", streams).tool_calls} for _ in range(2))
    assert len(first | second) == 4


def test_calls_without_index_and_id_are_separated_by_name() -> None:
    calls = [{"function": {"name": name, "arguments": arguments}} for name, arguments in (("f", '{"a":1}'), ("g", '{"b":2}'))]
    one_by_one = [chunk({"tool_calls": [each]}) for each in calls]
    for deltas in (one_by_one, [chunk({"tool_calls": calls})]):
        found = streamed(openai_answers, [*deltas, chunk({}, reason="tool_calls")])
        assert found.tool_calls == (ToolCall("c1-0", "f", '{"a":1}'), ToolCall("c1-1", "g", '{"b":2}'))


@pytest.mark.parametrize("account", [None, [], "many", {"input_tokens": "many", "promptTokenCount": None}])
def test_malformed_usage_keeps_the_answer(account: Any) -> None:
    claude, gem = loopback_anthropic.message("Hello"), loopback_gemini.content("Hello") | {"usageMetadata": account}
    events = [json.loads(each.partition("data: ")[2]) for each in loopback_anthropic.streamed(claude)]
    events[0]["message"]["usage"] = events[-2]["usage"] = account
    for found in (
        openai_answers.answer(completion("Hello") | {"usage": account}),
        anthropic_answers.answer(claude | {"usage": account}),
        streamed(anthropic_answers, events),
        gemini_answers.answer(gem),
        streamed(gemini_answers, [gem]),
    ):
        assert found.text == "Hello"
        assert found.usage.total_tokens == 0
