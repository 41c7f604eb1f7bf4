"""The whole kit between a model endpoint over HTTP and a server: the stored log stays whole in every failure."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass, replace
from typing import Any

import pytest

from threadkeep import compaction
from threadkeep.chat import (
    ChatClientRequest,
    ChatOptions,
    ModelFailed,
    ModelTimeout,
    Role,
    ToolCallLimits,
    context_keys,
    function_tool,
)
from threadkeep.v1.event_pb2 import SessionEvent

from ...support.models.model_endpoint import Behaviour, hangs
from ...support.runs.thoroughness import with_long
from ..async_and_sync import Way, text_of
from ..conversations import Talk
from ..fakes.loopback import (
    KEY,
    USAGE,
    Loopback,
    call,
    calls_in_deltas,
    chunk,
    completion,
    cut_short,
    events,
    loopback,
    refuses,
    replies,
)

OSLO, BERGEN = call("a", "weather", '{"city": "Oslo"}'), call("b", "weather", '{"city": "Bergen"}')
QUESTION, CALLED = "user: How is it?", "assistant: [weather a] [weather b]"
FOUND = "tool: a=rain in Oslo b=rain in Bergen"


@pytest.fixture
async def endpoint() -> AsyncIterator[Loopback]:
    async with loopback() as served:
        yield served


@dataclass(frozen=True)
class Agent:
    """An agent whose model is behind HTTP and whose sessions are in a server. `seen` has the arguments of its tool."""

    talk: Talk
    endpoint: Loopback
    model: Any
    seen: list[str]

    def client(self, *, memory: Any = None, **settings: Any) -> Any:
        def weather(city: str) -> str:
            """Returns the weather."""
            self.seen.append(city)
            if city == "Atlantis":
                raise LookupError("it is under water")
            return f"rain in {city}"

        advisors = [memory or self.talk.memory(), *settings.pop("advisors", ())]
        tools = [function_tool(weather, return_direct=settings.pop("return_direct", False))]
        return self.talk.kit.ChatClient(self.model, tools=tools, advisors=advisors, **settings)

    async def ask(self, said: str = "How is it?", *, client: Any = None, **options: Any) -> str:
        prompt = (client or self.client()).prompt(said).session(self.talk.session).options(**options)
        return text_of(await self.talk.way.ask(prompt))

    async def resume(self) -> str:
        prompt = self.client().prompt().session(self.talk.session)
        if self.talk.way.streams:
            return text_of(await self.talk.kit.all(prompt.resume_stream()))
        return str((await self.talk.kit.of(prompt.resume)).text)

    def received(self, at: int = -1) -> list[tuple[str, Any]]:
        """Returns the messages that the endpoint received: role, and text or arguments of calls."""
        return [_short(message) for message in self.endpoint.requests[at].json["messages"]]


def _short(message: dict[str, Any]) -> tuple[str, Any]:
    calls = message.get("tool_calls")
    return message["role"], [each["function"]["arguments"] for each in calls] if calls else message["content"]


@pytest.fixture
async def agent(talk: Talk, endpoint: Loopback) -> AsyncIterator[Agent]:
    model = talk.kit.OpenAIModel("small", base_url=endpoint.url, api_key=KEY, max_retries=0)
    yield Agent(talk, endpoint, model, [])
    await talk.kit.of(model.close)


def answer_calling(way: Way, *calls: dict[str, Any], cut: int = 5) -> Behaviour:
    if not way.streams:
        return replies(completion(calls=calls))
    return events([*calls_in_deltas(calls), chunk({}, reason="tool_calls"), chunk(usage=USAGE)], cut=cut)


def answer_saying(way: Way, text: str) -> Behaviour:
    if not way.streams:
        return replies(completion(text))
    return events([*(chunk({"content": each}) for each in text), chunk({}, reason="stop"), chunk(usage=USAGE)], cut=9)


@pytest.mark.parametrize("concurrent", [False, True])
async def test_calls_in_pieces_are_run_stored_and_sent_again(agent: Agent, concurrent: bool) -> None:
    talk, way = agent.talk, agent.talk.way
    loop = talk.kit.ToolCallingAdvisor(concurrent=concurrent)
    agent.endpoint.does(
        answer_calling(way, OSLO, BERGEN, cut=1), answer_saying(way, "Take an umbrella."), answer_saying(way, "Yes.")
    )
    assert await agent.ask(client=agent.client(advisors=[loop])) == "Take an umbrella."
    assert sorted(agent.seen) == ["Bergen", "Oslo"]
    turn = [QUESTION, CALLED, FOUND, "assistant: Take an umbrella."]
    assert await talk.log() == turn
    assert await agent.ask("Really?") == "Yes."
    assert await talk.log() == [*turn, "user: Really?", "assistant: Yes."]
    assert agent.received() == [
        ("user", "How is it?"),
        ("assistant", ['{"city": "Oslo"}', '{"city": "Bergen"}']),
        ("tool", "rain in Oslo"),
        ("tool", "rain in Bergen"),
        ("assistant", "Take an umbrella."),
        ("user", "Really?"),
    ]
    stored = await talk.events()
    assert [event.usage.total_tokens for event in stored] == [0, 62, 0, 62, 0, 62], "each answer has its own usage"
    assert stored[1].usage.cached_tokens == 20


@pytest.mark.parametrize("arguments", ['{"city": "Os', "", "[1, 2]", '{"town": "Oslo"}'])
async def test_invalid_arguments_are_reported_to_the_model_and_stored_unchanged(agent: Agent, arguments: str) -> None:
    way = agent.talk.way
    agent.endpoint.does(
        answer_calling(way, call("x", "weather", arguments)),
        answer_calling(way, OSLO),
        answer_saying(way, "Rain."),
        answer_saying(way, "Yes."),
    )
    assert await agent.ask() == "Rain."
    assert agent.seen == ["Oslo"]
    stored = await agent.talk.events()
    assert [stored[1].message.parts[0].tool_call.arguments_json, _result(stored[2]).is_error] == [arguments, True]
    assert "The arguments of weather are not valid" in _result(stored[2]).parts[0].text
    assert (await agent.talk.log())[3:] == ["assistant: [weather a]", "tool: a=rain in Oslo", "assistant: Rain."]
    assert await agent.ask("Really?") == "Yes."
    assert [content for role, content in agent.received() if role == "assistant"] == [
        [arguments or "{}"],
        ['{"city": "Oslo"}'],
        "Rain.",
    ]


def _result(event: SessionEvent) -> Any:
    return event.message.parts[0].tool_result


async def test_failed_tool_does_not_affect_other_calls_of_the_round(agent: Agent) -> None:
    way = agent.talk.way
    sunken = call("z", "weather", '{"city": "Atlantis"}')
    agent.endpoint.does(answer_calling(way, sunken, OSLO), answer_saying(way, "Rain in Oslo."))
    assert await agent.ask() == "Rain in Oslo."
    assert (await agent.talk.log())[2] == "tool: z=it is under water a=rain in Oslo"
    results = [part.tool_result for part in (await agent.talk.events())[2].message.parts]
    assert [result.is_error for result in results] == [True, False]


async def test_retried_requests_are_stored_once(agent: Agent) -> None:
    talk, way = agent.talk, agent.talk.way
    at_once = {"retry-after-ms": "1"}
    agent.endpoint.does(
        refuses(429, headers=at_once),
        answer_calling(way, OSLO, BERGEN),
        refuses(500),
        refuses(503, headers=at_once),
        answer_saying(way, "Rain."),
    )
    model = talk.kit.OpenAIModel("small", base_url=agent.endpoint.url, api_key=KEY)
    assert await agent.ask(client=agent.client().mutate(model=model)) == "Rain."
    await talk.kit.of(model.close)
    assert len(agent.endpoint.requests) == 5
    assert await talk.log() == [QUESTION, CALLED, FOUND, "assistant: Rain."]
    assert agent.seen == ["Oslo", "Bergen"]


HALF = [chunk({"content": each}) for each in ("Take ", "an umb")]
HALF_A_CALL = calls_in_deltas([OSLO, BERGEN])[:4]
Failure = Callable[[Way], Behaviour]
FAILURES: dict[str, Failure] = {
    "refused": lambda way: refuses(400, "too long"),
    "overloaded": lambda way: refuses(503, "sorry"),
    "cut": lambda way: events(HALF, done=False, then="cut") if way.streams else cut_short(completion("Take an umbrella.")),
    "cut in a call": lambda way: (
        events(HALF_A_CALL, done=False, then="cut") if way.streams else cut_short(completion(calls=[OSLO, BERGEN]))
    ),
    "ends too soon": lambda way: events(HALF, done=False) if way.streams else replies(""),
    "malformed": lambda way: events([*HALF, 'data: {"choices": [\n\n']) if way.streams else replies('{"choices": ['),
    "no answer in it": lambda way: events([*HALF, "data: [1]\n\n"]) if way.streams else replies({"choices": "none"}),
    "an error in it": lambda way: (
        events([*HALF, {"error": {"type": "server_error", "message": "sorry"}}])
        if way.streams
        else replies({"error": {"type": "server_error", "message": "sorry"}})
    ),
}


# How a first answer fails is how a later one does; the long form has both of each.
AT_FIRST = ("refused", "cut")
FAILED = with_long(
    [*((failure, 1) for failure in FAILURES), *((failure, 0) for failure in AT_FIRST)],
    *((failure, 0) for failure in FAILURES if failure not in AT_FIRST),
)


@pytest.mark.parametrize(("failure", "rounds"), FAILED)
async def test_turn_with_failed_model_keeps_whole_log_and_resumes(agent: Agent, failure: str, rounds: int) -> None:
    way = agent.talk.way
    agent.endpoint.does(*[answer_calling(way, OSLO, BERGEN)] * rounds, FAILURES[failure](way))
    with pytest.raises(ModelFailed) as failed:
        await agent.ask()
    assert not isinstance(failed.value, ModelTimeout)
    assert len(agent.endpoint.requests) == rounds + 1
    await _is_whole_and_resumed(agent, rounds)


@pytest.mark.parametrize("rounds", [0, 1])
async def test_turn_with_model_timeout_keeps_whole_log_and_resumes(agent: Agent, rounds: int) -> None:
    way = agent.talk.way
    stalls = events(HALF, done=False, then="hang") if way.streams else hangs
    agent.endpoint.does(*[answer_calling(way, OSLO, BERGEN)] * rounds, stalls)

    def hurried(request: ChatClientRequest) -> ChatClientRequest | None:
        # Only in the round that stalls: the rounds before it may be slow on a busy machine.
        if sum(message.role is Role.TOOL for message in request.messages) < rounds:
            return None
        return request.with_options(replace(request.options or ChatOptions(), timeout=0.5))

    inner = agent.talk.kit.advisor(order=context_keys.SESSION_MEMORY_ORDER + 1, before=hurried)
    with pytest.raises(ModelTimeout):
        await agent.ask(client=agent.client(advisors=[inner]))
    await _is_whole_and_resumed(agent, rounds)


async def _is_whole_and_resumed(agent: Agent, rounds: int) -> None:
    """Asserts that nothing of the failed answer is stored, the resumed request is the same, and no tool runs twice."""
    way, before = agent.talk.way, [QUESTION, CALLED, FOUND][: 1 + 2 * rounds]
    assert await agent.talk.log() == before
    sent = agent.endpoint.requests[rounds:]  # nothing if a busy machine did not send the request before its timeout
    agent.endpoint.does(*[answer_calling(way, OSLO, BERGEN)] * (1 - rounds), answer_saying(way, "Take an umbrella."))
    first = len(agent.endpoint.requests)
    assert await agent.resume() == "Take an umbrella."
    assert all(agent.endpoint.requests[first].json["messages"] == each.json["messages"] for each in sent)
    assert await agent.talk.log() == [QUESTION, CALLED, FOUND, "assistant: Take an umbrella."]
    assert agent.seen == ["Oslo", "Bergen"]
    assert await agent.resume() == "Take an umbrella.", "the stored answer is returned without a request"
    assert len(await agent.talk.log()) == 4


async def test_new_message_after_failed_model_continues_the_session(agent: Agent) -> None:
    way = agent.talk.way
    agent.endpoint.does(answer_calling(way, OSLO, BERGEN), refuses(503))
    with pytest.raises(ModelFailed):
        await agent.ask()
    agent.endpoint.does(answer_saying(way, "Rain."))
    assert await agent.ask("Well?") == "Rain."
    assert [role for role, _ in agent.received()] == ["user", "assistant", "tool", "tool", "user"]
    assert await agent.talk.log() == [QUESTION, CALLED, FOUND, "user: Well?", "assistant: Rain."]


@pytest.mark.parametrize("way", ["stream"], indirect=True)
async def test_closed_stream_ends_the_request_and_can_be_resumed(agent: Agent) -> None:
    talk = agent.talk
    agent.endpoint.does(answer_calling(talk.way, OSLO, BERGEN), events(HALF, done=False, then="hang"))
    stream = agent.client().prompt("How is it?").session(talk.session).stream()

    def read() -> str:
        with closing(stream) as chunks:
            return next(str(each.text) for each in chunks if each.text)

    if talk.kit.is_async:
        async with aclosing(stream) as chunks:
            first = await anext(each.text async for each in chunks if each.text)
    else:
        first = await talk.kit.of(read)
    assert first == "Take "
    await agent.endpoint.gone.wait()
    await _is_whole_and_resumed(agent, 1)


@pytest.mark.parametrize("end", ["direct", "limit", "rounds"])
async def test_turn_that_ends_early_stores_every_result(agent: Agent, end: str) -> None:
    talk, way = agent.talk, agent.talk.way
    loop: dict[str, Any] = {"max_iterations": 1} if end == "rounds" else {}
    if end == "limit":
        loop["manager"] = talk.kit.ToolCallingManager(limits=ToolCallLimits(per_tool=1))
    client = agent.client(advisors=[talk.kit.ToolCallingAdvisor(**loop)], return_direct=end == "direct")
    agent.endpoint.does(answer_calling(way, OSLO, BERGEN), answer_saying(way, "Yes."))
    await agent.ask(client=client)
    assert len(agent.endpoint.requests) == 1
    log = await talk.log()
    assert log[:2] == [QUESTION, CALLED]
    assert [result.call_id for result in _results((await talk.events())[2])] == ["a", "b"]
    assert [each.partition(":")[0] for each in log[3:]] == ["assistant"] * (2 if end == "direct" else 1)
    assert len(agent.seen) == {"direct": 2, "limit": 1, "rounds": 0}[end]
    assert await agent.ask("Really?") == "Yes."
    roles = [role for role, _ in agent.received()]
    assert roles[:4] == ["user", "assistant", "tool", "tool"], "vendors require a result for every call"


def _results(event: SessionEvent) -> Sequence[Any]:
    return [part.tool_result for part in event.message.parts]


async def test_long_conversation_is_summarized_by_the_same_endpoint(agent: Agent) -> None:
    talk, way = agent.talk, agent.talk.way
    memory = talk.memory(
        trigger=compaction.turns_over(2), strategy=compaction.recursive_summary(2, overlap=1), summarizer=agent.model
    )
    client = agent.client(memory=memory)
    for said in ("one", "two"):
        agent.endpoint.does(answer_calling(way, OSLO, BERGEN), answer_saying(way, f"To {said}."))
        await agent.ask(said, client=client)
    agent.endpoint.does(answer_saying(way, "To three."), replies(completion("They spoke of rain.")))
    assert await agent.ask("three", client=client) == "To three."
    assert len(await talk.kit.all(talk.sdk.compactions(talk.session))) == 1
    agent.endpoint.does(refuses(400, "never again"))
    with pytest.raises(ModelFailed):
        await agent.ask("four", client=client)
    sent = json.dumps(agent.received())
    assert "They spoke of rain." in sent
    assert "To one." not in sent
    assert [each for each in await talk.log() if each.startswith("user: ") and "summar" not in each.lower()] == [
        "user: one",
        "user: two",
        "user: three",
        "user: four",
    ], "compaction deletes nothing"


async def test_request_options_reach_the_endpoint_and_key_stays_out_of_the_log(agent: Agent) -> None:
    agent.endpoint.does(answer_saying(agent.talk.way, "Rain."))
    client = agent.client(system="Be brief.", options=ChatOptions(temperature=0.5, max_tokens=9))
    await agent.ask(client=client, temperature=0.25)
    body = agent.endpoint.body
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("small", 0.25, 9)
    assert body["tools"][0]["function"]["name"] == "weather"
    assert agent.received() == [("system", "Be brief."), ("user", "How is it?")]
    assert not any(KEY.encode() in event.SerializeToString() for event in await agent.talk.events())
    assert await agent.talk.log() == [QUESTION, "assistant: Rain."], "instructions of the program are not stored"


async def test_one_client_serves_concurrent_sessions(agent: Agent) -> None:
    """Answers and stored events belong to the session of their request."""
    talk, endpoint = agent.talk, agent.endpoint

    def thinks(writer: asyncio.StreamWriter) -> Awaitable[None]:  # reads the body before the next request
        messages = endpoint.body["messages"]
        city = messages[0]["content"].rpartition(" ")[2]
        found = messages[-1]["role"] == "tool"
        answer = answer_saying(talk.way, f"{messages[-1]['content']}.") if found else answer_calling(talk.way, _call_for(city))
        return answer(writer)

    endpoint.does(thinks)
    client = agent.client()

    async def one(number: int) -> str:
        return text_of(await talk.way.ask(client.prompt(f"How is City{number}").session(f"{talk.session}-{number}")))

    numbers = range(20)
    assert await asyncio.gather(*map(one, numbers)) == [f"rain in City{number}." for number in numbers]
    for number in numbers:
        turn = [f"user: How is City{number}", f"assistant: [weather City{number}]"]
        found = [f"tool: City{number}=rain in City{number}", f"assistant: rain in City{number}."]
        assert await talk.log(f"{talk.session}-{number}") == [*turn, *found]


def _call_for(city: str) -> dict[str, Any]:
    return call(city, "weather", json.dumps({"city": city}))
