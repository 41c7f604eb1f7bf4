"""Runs of agents with the session: kinds of runs, what a run leaves, and a server that dies in the middle of one."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, cast

import pytest
from agents import RunContextWrapper, Runner, RunState, SessionSettings, Tool, Usage, function_tool
from agents.memory import SQLiteSession
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails

from tests.integrations.suites.conftest import Server
from tests.integrations.suites.openai_agents.scripted import QUIET, agent
from tests.integrations.suites.openai_agents.test_session import contents
from threadkeep import AsyncClient, ThreadkeepError
from threadkeep.integrations.openai_agents import ThreadkeepSession

TYPES = ["message", "function_call", "function_call_output", "message"]


@function_tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


def types(items: list[Any]) -> list[str]:
    return [item.get("type", "message") for item in items]


def weather_script() -> tuple[Any, Any]:
    return [function_call("weather", {"city": "Oslo"}, call_id="c1")], [assistant_message("It is sunny.")]


async def test_run_continues_the_conversation(client: AsyncClient) -> None:
    session = ThreadkeepSession(client, "s1")
    first = agent(*weather_script(), tools=[weather])
    assert (await Runner.run(first, "Oslo?", session=session, run_config=QUIET)).final_output == "It is sunny."
    assert types(await session.get_items()) == TYPES
    second = agent([assistant_message("Bye.")])
    await Runner.run(second, "Thanks", session=ThreadkeepSession(client, "s1"), run_config=QUIET)
    call = cast("ScriptedModel", second.model).last_call
    assert call is not None
    assert types(call.input) == [*TYPES, "message"]
    assert len(await session.get_items()) == 6


async def test_run_leaves_what_the_sdks_own_session_has(client: AsyncClient) -> None:
    own, ours = SQLiteSession("s1"), ThreadkeepSession(client, "s1")
    for session in (own, ours):
        await Runner.run(agent(*weather_script(), tools=[weather]), "Oslo?", session=session, run_config=QUIET)
    assert await ours.get_items() == await own.get_items()


async def test_streamed_run_stores_the_same_items(client: AsyncClient) -> None:
    session = ThreadkeepSession(client, "s1")
    streamed = Runner.run_streamed(agent(*weather_script(), tools=[weather]), "Oslo?", session=session, run_config=QUIET)
    assert [event async for event in streamed.stream_events()]
    assert streamed.final_output == "It is sunny."
    assert types(await session.get_items()) == TYPES


def test_synchronous_runs_share_a_session(address: str) -> None:
    client = AsyncClient(address, app="sync-runs", user_id="ada")
    session = ThreadkeepSession(client, "s1")
    for answer in ("Hello!", "Again!"):
        assert (
            Runner.run_sync(agent([assistant_message(answer)]), "Hi", session=session, run_config=QUIET).final_output == answer
        )
    loop = asyncio.get_event_loop_policy().get_event_loop()
    items = loop.run_until_complete(session.get_items())
    loop.run_until_complete(session.clear_session())
    loop.run_until_complete(client.close())
    assert contents(items)[0::2] == ["Hi", "Hi"]


async def test_limit_of_run_config_is_used(client: AsyncClient) -> None:
    session = ThreadkeepSession(client, "s1", session_settings=SessionSettings(limit=100))
    for n in range(3):
        talker = agent([assistant_message(f"answer {n}")])
        await Runner.run(
            talker, f"question {n}", session=session, run_config=replace(QUIET, session_settings=SessionSettings(limit=1))
        )
    call = cast("ScriptedModel", talker.model).last_call
    assert call is not None
    assert len(call.input) == 2


async def test_runner_passes_the_run_which_names_and_counts_it(client: AsyncClient) -> None:
    usage = Usage(
        requests=1,
        input_tokens=10,
        output_tokens=5,
        total_tokens=15,
        input_tokens_details=InputTokensDetails.model_validate({"cached_tokens": 3, "cache_write_tokens": 0}),
        output_tokens_details=OutputTokensDetails(reasoning_tokens=2),
    )
    call, answer = weather_script()
    session = ThreadkeepSession(client, "s1")
    for _ in range(2):
        script = (ModelStep(output=call, usage=usage), ModelStep(output=answer, usage=usage))
        await Runner.run(agent(*script, tools=[weather]), "Oslo?", session=session, run_config=QUIET)
    stored = [each async for each in client.events("s1")]
    runs = [each.pb.invocation_id for each in stored]
    assert len(set(runs)) == 2
    assert "" not in runs
    assert runs[:4] == [runs[0]] * 4
    total = (await client.get_session("s1")).usage
    assert (total.input_tokens, total.output_tokens, total.total_tokens) == (40, 20, 60)
    assert (total.cached_tokens, total.reasoning_tokens) == (12, 8)
    by_run = {entry.invocation_id: entry.usage.total_tokens async for entry in client.usage("s1")}
    assert by_run == dict.fromkeys(runs, 30)


async def test_wrapper_is_an_argument_of_all_four_methods(client: AsyncClient) -> None:
    session, run = ThreadkeepSession(client, "s1"), RunContextWrapper(None)
    await session.add_items([{"role": "user", "content": "Hi"}], wrapper=run)
    assert len(await session.get_items(wrapper=run)) == 1
    assert await session.pop_item(wrapper=run) is not None
    await session.clear_session(wrapper=run)


async def test_interrupted_run_resumes_after_approval(client: AsyncClient) -> None:
    @function_tool(needs_approval=True)
    def book(city: str) -> str:
        """Books a trip."""
        return f"booked {city}"

    session = ThreadkeepSession(client, "s1")
    booking = agent([function_call("book", {"city": "Rome"}, call_id="c1")], [assistant_message("Done.")], tools=[book])
    waiting = await Runner.run(booking, "Rome!", session=session, run_config=QUIET)
    state = waiting.to_state()
    state.approve(waiting.interruptions[0])
    restored = await RunState.from_json(booking, state.to_json())
    ended = await Runner.run(booking, restored, session=ThreadkeepSession(client, "s1"), run_config=QUIET)
    assert ended.final_output == "Done."
    assert types(await session.get_items()) == TYPES


async def test_turn_of_a_run_is_a_point_to_fork_from(client: AsyncClient) -> None:
    session = ThreadkeepSession(client, "s1")
    for n in (1, 2):
        await Runner.run(agent([assistant_message(f"answer {n}")]), f"question {n}", session=session, run_config=QUIET)
    turns = [each async for each in client.events("s1") if each.text.startswith("question")]
    await client.fork("s1", "s2", at_seq=turns[1].seq - 1)
    assert contents(await ThreadkeepSession(client, "s2").get_items())[0] == "question 1"
    assert len(await ThreadkeepSession(client, "s2").get_items()) == 2
    assert len(await session.get_items()) == 4


def failing(server: Server, *, back: bool) -> Tool:
    """A tool during which the server is killed, and comes back at once or not."""

    @function_tool
    def weather(city: str) -> str:
        """The weather in a city."""
        server.kill()
        if back:
            server.start()
        return f"sunny in {city}"

    return weather


@pytest.mark.parametrize("streamed", [False, True])
async def test_server_killed_in_a_run_and_started_again_run_goes_on(killable: Server, streamed: bool) -> None:
    async with AsyncClient(killable.address, app="kill", user_id="ada") as client:
        session = ThreadkeepSession(client, "s1")
        scripted = agent(*weather_script(), tools=[failing(killable, back=True)])
        if streamed:
            run = Runner.run_streamed(scripted, "Oslo?", session=session, run_config=QUIET)
            assert [event async for event in run.stream_events()]
        else:
            await Runner.run(scripted, "Oslo?", session=session, run_config=QUIET)
        assert types(await session.get_items()) == TYPES


async def test_server_killed_in_a_run_and_started_later_run_resumes(killable: Server) -> None:
    async with AsyncClient(killable.address, app="kill", user_id="ada", timeout=3) as client:
        session = ThreadkeepSession(client, "s1")
        dying = agent(*weather_script(), tools=[failing(killable, back=False)])
        with pytest.raises(ThreadkeepError):
            await Runner.run(dying, "Oslo?", session=session, run_config=QUIET)
    killable.start()
    async with AsyncClient(killable.address, app="kill", user_id="ada") as client:
        session = ThreadkeepSession(client, "s1")
        assert contents(await session.get_items())[0] == "Oslo?"
        ended = await Runner.run(agent(*weather_script(), tools=[weather]), [], session=session, run_config=QUIET)
        assert ended.final_output == "It is sunny."
        assert types(await session.get_items()) == TYPES
