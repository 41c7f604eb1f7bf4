"""Agents and workflows of the framework, with a model that follows a script, and servers that are killed meanwhile."""

from __future__ import annotations

import asyncio
from typing import Never

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    CheckpointStorage,
    Executor,
    Message,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
    tool,
)

from tests.integrations.suites.conftest import Server
from threadkeep import AsyncClient
from threadkeep.errors import Unavailable
from threadkeep.integrations.agent_framework import (
    ThreadkeepCheckpointStorage,
    ThreadkeepHistoryProvider,
    ThreadkeepSessionStore,
)

from .scripted import Scripted, call, said

TURN = [("user", "Weather in Oslo?"), ("assistant", "weather"), ("tool", "3 °C"), ("assistant", "It has 3 °C.")]


def weather(city: str) -> str:
    """The weather of a city."""
    return "3 °C" if city == "Oslo" else "unknown"


def agent(model: Scripted, client: AsyncClient, *, each_call: bool = False, tools: object = weather) -> Agent:
    return Agent(
        client=model,
        name="forecaster",
        instructions="Be brief.",
        tools=[tools],
        context_providers=[ThreadkeepHistoryProvider(client)],
        require_per_service_call_history_persistence=each_call,
    )


@pytest.mark.parametrize("each_call", [False, True])
@pytest.mark.parametrize("stream", [False, True])
async def test_run_stores_the_turn_and_the_next_run_reads_it(client: AsyncClient, stream: bool, each_call: bool) -> None:
    model = Scripted(call("weather", city="Oslo"), "It has 3 °C.", "It was Oslo.", message_ids=True)
    forecaster = agent(model, client, each_call=each_call)
    for question in ("Weather in Oslo?", "Which city was it?"):
        session = AgentSession(session_id="s")  # another process has no state of the first
        if stream:
            async for _ in forecaster.run(question, stream=True, session=session):
                pass
        else:
            await forecaster.run(question, session=session)
    history = await ThreadkeepHistoryProvider(client).get_messages("s")
    assert said(history) == [*TURN, ("user", "Which city was it?"), ("assistant", "It was Oslo.")]
    assert said(model.requests[-1])[-5:] == [*TURN, ("user", "Which city was it?")]
    assert [event.author async for event in client.events("s")][1] in ("forecaster", "")


async def test_session_store_and_history_share_a_session(client: AsyncClient) -> None:
    store, forecaster = ThreadkeepSessionStore(client), agent(Scripted("Hi.", "Again."), client)
    session = forecaster.create_session(session_id="s")
    session.state["visits"] = 1
    await forecaster.run("Hello.", session=session)
    await store.set("s", session)
    restored = await store.get("s")
    assert restored is not None
    assert restored.state["visits"] == 1
    await forecaster.run("Me again.", session=restored)
    assert len(await ThreadkeepHistoryProvider(client).get_messages("s")) == 4


async def test_runs_of_one_session_at_the_same_time_are_both_stored(client: AsyncClient) -> None:
    runs = [agent(Scripted(f"a{n}"), client).run(f"q{n}", session=AgentSession(session_id="s")) for n in range(8)]
    await asyncio.gather(*runs)
    read = said(await ThreadkeepHistoryProvider(client).get_messages("s"))
    assert sorted(text for _, text in read) == [f"a{n}" for n in range(8)] + [f"q{n}" for n in range(8)]


@pytest.mark.parametrize("each_call", [False, True])
async def test_server_killed_and_restarted_in_a_run_loses_and_repeats_nothing(killable: Server, each_call: bool) -> None:
    @tool(approval_mode="never_require")
    def weather(city: str) -> str:
        """The weather of a city, while the server dies."""
        killable.kill()
        killable.start()
        return "3 °C"

    async with AsyncClient(killable.address, app="kill", user_id="ada") as client:
        model = Scripted(call("weather", city="Oslo"), "It has 3 °C.")
        forecaster = agent(model, client, each_call=each_call, tools=weather)
        await forecaster.run("Weather in Oslo?", session=AgentSession(session_id="s"))
        assert said(await ThreadkeepHistoryProvider(client).get_messages("s")) == TURN


async def test_run_that_could_not_be_stored_is_stored_once_when_it_is_repeated(killable: Server) -> None:
    async with AsyncClient(killable.address, app="kill", user_id="ada", timeout=10) as client:

        def dying() -> str:
            killable.kill()
            return "Hello Ada."

        forecaster = agent(Scripted(dying, "Hello Ada."), client)
        with pytest.raises(Unavailable):
            await forecaster.run("Hello.", session=AgentSession(session_id="s"))
        killable.start()
        await forecaster.run("Hello.", session=AgentSession(session_id="s"))
        assert said(await ThreadkeepHistoryProvider(client).get_messages("s")) == [
            ("user", "Hello."),
            ("assistant", "Hello Ada."),
        ]


async def test_save_that_was_stored_without_an_answer_is_not_stored_twice(client: AsyncClient) -> None:
    history = ThreadkeepHistoryProvider(client)
    turn = [Message("user", ["hi"]), Message("assistant", ["hello"])]
    append = client.append

    async def unanswered(*args: object, **kwargs: object) -> None:
        await append(*args, **kwargs)  # type: ignore[arg-type]
        raise Unavailable("the connection broke after the commit")

    client.append = unanswered  # type: ignore[method-assign, assignment]
    with pytest.raises(Unavailable):
        await history.save_messages("s", turn)
    client.append = append  # type: ignore[method-assign]
    await history.save_messages("s", turn)
    assert len(await history.get_messages("s")) == 2


class Count(Executor):
    """Adds a letter and passes the text on; `ran` counts its runs."""

    def __init__(self, letter: str) -> None:
        super().__init__(id=letter)
        self.letter, self.ran = letter, 0
        self.first: list[Server] = []

    @handler
    async def add(self, text: str, ctx: WorkflowContext[str, str]) -> None:
        self.ran += 1
        if self.first:
            self.first.pop().kill()
            raise RuntimeError("the process dies with the server")
        await ctx.send_message(text + self.letter)


class Last(Executor):
    """Yields the text."""

    @handler
    async def end(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.yield_output(text)


def flow(storage: CheckpointStorage) -> tuple[Workflow, list[Count]]:
    steps = [Count(letter) for letter in "abc"]
    builder = WorkflowBuilder(name="letters", start_executor=steps[0], checkpoint_storage=storage)
    for one, other in zip(steps, [*steps[1:], Last(id="last")], strict=True):
        builder.add_edge(one, other)
    return builder.build(), steps


async def test_workflow_stores_a_chain_of_checkpoints(client: AsyncClient) -> None:
    storage = ThreadkeepCheckpointStorage(client)
    workflow, _ = flow(storage)
    assert (await workflow.run("-")).get_outputs() == ["-abc"]
    stored = await storage.list_checkpoints(workflow_name="letters")
    assert len(stored) >= 4
    chain = [each.previous_checkpoint_id for each in stored]
    assert chain == [None, *(each.checkpoint_id for each in stored[:-1])]
    assert await storage.get_latest(workflow_name="letters") == stored[-1]


async def test_workflow_resumes_after_the_server_was_killed_and_repeats_no_step(killable: Server) -> None:
    async with AsyncClient(killable.address, app="kill", user_id="ada", timeout=10) as client:
        storage = ThreadkeepCheckpointStorage(client)
        workflow, steps = flow(storage)
        steps[1].first.append(killable)
        with pytest.raises(RuntimeError, match="dies"):
            await workflow.run("-")
        killable.start()
        latest = await storage.get_latest(workflow_name="letters")
        assert latest is not None
        resumed, again = flow(storage)  # another process
        result = await resumed.run(checkpoint_id=latest.checkpoint_id)
        assert result.get_outputs() == ["-abc"]
        assert [step.ran for step in again] == [0, 1, 1], "the first step had its checkpoint"
        ids = await storage.list_checkpoint_ids(workflow_name="letters")
        assert len(ids) == len(set(ids))


async def test_workflow_completes_when_the_server_is_killed_and_restarted_meanwhile(killable: Server) -> None:
    async with AsyncClient(killable.address, app="kill", user_id="ada") as client:
        storage = ThreadkeepCheckpointStorage(client)

        class Restart(Count):
            @handler
            async def add(self, text: str, ctx: WorkflowContext[str, str]) -> None:
                killable.kill()
                killable.start()
                await ctx.send_message(text + self.letter)

        one, last = Restart("x"), Last(id="last")
        workflow = WorkflowBuilder(name="restart", start_executor=one, checkpoint_storage=storage).add_edge(one, last).build()
        assert (await workflow.run("-")).get_outputs() == ["-x"]
        stored = await storage.list_checkpoints(workflow_name="restart")
        assert [each.previous_checkpoint_id for each in stored] == [None, *(each.checkpoint_id for each in stored[:-1])]
