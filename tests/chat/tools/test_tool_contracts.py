"""The tool loop with the model adapters over HTTP: calls and results in the format of each vendor."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass
from typing import Any

import pytest

from threadkeep.chat import ModelFailed, Tool, ToolCallLimits, function_tool
from threadkeep.chat.types.responses import RETURN_DIRECT, TOOL_CALL_LIMIT_EXCEEDED

from ...support.models.model_endpoint import Behaviour
from ..async_and_sync import Kit, Way, response_of, text_of
from ..fakes import loopback as openai
from ..fakes import loopback_anthropic as anthropic
from ..fakes import loopback_gemini as gemini
from ..fakes.loopback import Loopback, events, loopback, refuses, replies
from ..fakes.vendors import ANTHROPIC, GEMINI, OPENAI, Vendor

Call = tuple[str, str, dict[str, Any]]
ROUND: list[Call] = [("a", "weather", {"city": "Oslo"}), ("b", "weather", {"city": "Bergen"}), ("c", "clock", {})]


@dataclass(frozen=True)
class Speaker:
    """The answers of an endpoint in a vendor's format, whole or streamed."""

    vendor: Vendor
    calls: Callable[[Sequence[Call]], tuple[Any, list[Any]]]

    def answer_calling(self, way: Way, calls: Sequence[Call]) -> Behaviour:
        whole, pieces = self.calls(calls)
        return events(pieces, done=self.vendor.done, cut=7) if way.streams else replies(whole)

    def answer_saying(self, way: Way, text: str) -> Behaviour:
        return events(self.vendor.events(text), done=self.vendor.done) if way.streams else replies(self.vendor.whole(text))


def _openai(calls: Sequence[Call]) -> tuple[Any, list[Any]]:
    made = [openai.call(call_id, name, json.dumps(arguments)) for call_id, name, arguments in calls]
    ending = [openai.chunk({}, reason="tool_calls"), openai.chunk(usage=openai.USAGE)]
    return openai.completion(calls=made), [*openai.calls_in_deltas(made), *ending]


def _anthropic(calls: Sequence[Call]) -> tuple[Any, list[Any]]:
    whole = anthropic.message(*(anthropic.tool_use(*each) for each in calls), reason="tool_use")
    return whole, anthropic.streamed(whole)


def _gemini(calls: Sequence[Call]) -> tuple[Any, list[Any]]:
    parts = [gemini.function_call(name, arguments, call_id=call_id) for call_id, name, arguments in calls]
    return gemini.content(*parts), gemini.streamed(*parts)


SPEAKERS = (Speaker(OPENAI, _openai), Speaker(ANTHROPIC, _anthropic), Speaker(GEMINI, _gemini))


@pytest.fixture(params=SPEAKERS, ids=lambda each: each.vendor.name)
def speaker(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
async def endpoint(speaker: Speaker) -> AsyncIterator[Loopback]:
    async with loopback(speaker.vendor.name) as served:
        yield served


@pytest.fixture
async def model(kit: Kit, speaker: Speaker, endpoint: Loopback) -> AsyncIterator[Any]:
    opened = speaker.vendor.model(kit, endpoint, max_retries=0)
    yield opened
    await kit.of(opened.close)


class Town:
    """Two tools, and the arguments of their calls."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def tools(self, **settings: Any) -> tuple[Tool, Tool]:
        def weather(city: str) -> str:
            """Returns the weather."""
            self.seen.append(city)
            return f"rain in {city}"

        def clock() -> str:
            """Returns the time."""
            self.seen.append("clock")
            return "ten past nine"

        return function_tool(weather, **settings), function_tool(clock, **settings)


@pytest.mark.parametrize("concurrent", [False, True])
async def test_calls_are_run_and_results_are_sent_to_the_vendor(
    kit: Kit, way: Way, speaker: Speaker, endpoint: Loopback, model: Any, concurrent: bool
) -> None:
    town = Town()
    endpoint.does(speaker.answer_calling(way, ROUND), speaker.answer_saying(way, "Take an umbrella."))
    client = kit.ChatClient(model, tools=town.tools(), advisors=[kit.ToolCallingAdvisor(concurrent=concurrent)])
    answers = await way.ask(client.prompt("How is it?"))
    assert text_of(answers) == "Take an umbrella."
    assert not any(answer.tool_calls for answer in answers)
    assert sorted(town.seen) == ["Bergen", "Oslo", "clock"]
    sent = json.dumps(endpoint.body)
    assert sent.index("rain in Oslo") < sent.index("rain in Bergen") < sent.index("ten past nine")
    assert len(endpoint.requests) == 2


async def test_usage_of_all_requests_is_summed(kit: Kit, way: Way, speaker: Speaker, endpoint: Loopback, model: Any) -> None:
    town = Town()
    endpoint.does(speaker.answer_calling(way, ROUND[2:]), speaker.answer_calling(way, ROUND[2:]))
    once = await way.ask(kit.ChatClient(model, tools=town.tools(return_direct=True)).prompt("What time is it?"))
    endpoint.does(speaker.answer_calling(way, ROUND[2:]), speaker.answer_calling(way, ROUND[:1]))
    mixed = (town.tools(return_direct=True)[0], town.tools()[1])
    twice = await way.ask(kit.ChatClient(model, tools=mixed).prompt("And how is it?"))
    assert once[-1].usage.total_tokens > 0
    assert twice[-1].usage == once[-1].usage + once[-1].usage


async def test_return_direct_results_become_the_answer(
    kit: Kit, way: Way, speaker: Speaker, endpoint: Loopback, model: Any
) -> None:
    endpoint.does(speaker.answer_calling(way, ROUND))
    answers = await way.ask(kit.ChatClient(model, tools=Town().tools(return_direct=True)).prompt("How is it?"))
    end = response_of(answers)
    assert [each.message.text for each in end.generations] == ["rain in Oslo", "rain in Bergen", "ten past nine"]
    assert {each.finish_reason for each in end.generations} == {RETURN_DIRECT}
    assert len(endpoint.requests) == 1


async def test_call_limit_ends_the_turn(kit: Kit, way: Way, speaker: Speaker, endpoint: Loopback, model: Any) -> None:
    town = Town()
    endpoint.does(speaker.answer_calling(way, ROUND[:1]))
    manager = kit.ToolCallingManager(limits=ToolCallLimits(per_tool=2))
    answers = await way.ask(kit.ChatClient(model, tools=town.tools(), tool_manager=manager).prompt("How is it?"))
    assert response_of(answers).finish_reason == TOOL_CALL_LIMIT_EXCEEDED
    assert (town.seen, len(endpoint.requests)) == (["Oslo", "Oslo"], 3)


async def test_invalid_arguments_are_reported_to_the_model(
    kit: Kit, way: Way, speaker: Speaker, endpoint: Loopback, model: Any
) -> None:
    town = Town()
    endpoint.does(speaker.answer_calling(way, [("a", "weather", {"town": "Oslo"})]), speaker.answer_saying(way, "Sorry."))
    assert text_of(await way.ask(kit.ChatClient(model, tools=town.tools()).prompt("How is it?"))) == "Sorry."
    assert town.seen == []
    assert "city" in json.dumps(endpoint.body)


async def test_endpoint_failure_between_rounds_raises_model_failed(
    kit: Kit, way: Way, speaker: Speaker, endpoint: Loopback, model: Any
) -> None:
    town = Town()
    endpoint.does(speaker.answer_calling(way, ROUND[2:]), refuses(503, "overloaded, sorry"))
    with pytest.raises(ModelFailed) as failed:
        await way.ask(kit.ChatClient(model, tools=town.tools()).prompt("How is it?"))
    assert (failed.value.status, failed.value.retry, town.seen) == (503, True, ["clock"])


async def test_closed_stream_ends_the_request_and_runs_no_tool(
    kit: Kit, speaker: Speaker, endpoint: Loopback, model: Any
) -> None:
    town = Town()
    endpoint.does(events(speaker.vendor.events("Let me see")[:-1], done=False, then="hang"))
    stream = kit.ChatClient(model, tools=town.tools()).prompt("How is it?").stream()

    def read() -> str:
        with closing(stream) as chunks:
            return next(chunk.text for chunk in chunks if chunk.text)

    first = ""
    if kit.is_async:
        async with aclosing(stream) as chunks:
            async for chunk in chunks:
                first = chunk.text
                if first:
                    break
    else:
        first = await kit.of(read)
    assert "Let me see".startswith(first)
    await kit.of(endpoint.gone.wait)
    assert (town.seen, len(endpoint.requests)) == ([], 1)
