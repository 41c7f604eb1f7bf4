"""A server that fails while an agent works: restarted at once, or unavailable for longer than the agent waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.support.models.model_endpoint import served
from tests.support.servers.server_process import ServerProcess, fork_server
from threadkeep.chat import Tool, ToolDefinition
from threadkeep.chat.memory.events import from_event
from threadkeep.errors import ThreadkeepError, Unavailable

from ..async_and_sync import Kit, Way, text_of
from ..conversations import lines
from ..reasoning import Thinking, Thought, turn_of


def think(request: dict[str, Any]) -> Thought:
    """Calls the tool once, then answers with its result."""
    last = turn_of(request)[-1]
    return f"It is {last['content']}." if last["role"] == "tool" else [("look", {})]


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(fork_server(), tmp_path_factory.mktemp("mortal")) as server:
        yield server


@pytest.fixture
def process(mortal: ServerProcess) -> ServerProcess:
    """Returns the running server; starts it if the previous test killed it."""
    return mortal if mortal._pid else mortal.start()


@pytest.fixture
def session() -> str:
    return f"s-{uuid4().hex[:12]}"


@pytest.fixture
async def sdk(kit: Kit, process: ServerProcess) -> AsyncIterator[Any]:
    client = kit.Client(process.address, app="shop", user_id="alice", timeout=60)
    yield client
    await kit.of(client.close)


@pytest.fixture
async def model(kit: Kit) -> AsyncIterator[Any]:
    async with served(Thinking(think)) as endpoint:
        opened = kit.OpenAIModel("small", base_url=endpoint.url)
        yield opened
        await kit.of(opened.close)


class Looks:
    """A tool that calls these functions at its first run."""

    def __init__(self, *happens: Any) -> None:
        self.runs = 0
        self._happens = happens

    def tool(self) -> Tool:
        def run(arguments: str, context: Any) -> str:
            self.runs += 1
            for each in self._happens if self.runs == 1 else ():
                each()
            return "there"

        return Tool(ToolDefinition("look"), run)


async def reconnected(kit: Kit, sdk: Any) -> None:
    """Waits until the client has reconnected: it tries again after growing pauses, a call only for a second or two."""
    deadline = time.monotonic() + 60
    while True:
        try:
            await kit.of(sdk.info)
        except Unavailable:
            assert time.monotonic() < deadline, "the client does not reconnect"
        else:
            return


async def log_of(kit: Kit, sdk: Any, session: str) -> list[str]:
    short = lines(from_event(event) for event in await kit.all(sdk.events(session)))
    return [each.split(" [")[0].split(": call-")[0] for each in short]


TURN = ["user: Where is it?", "assistant:", "tool", "assistant: It is there."]


async def test_server_restart_during_a_turn_does_not_interrupt_it(
    kit: Kit, way: Way, sdk: Any, model: Any, process: ServerProcess, session: str
) -> None:
    look_tool = Looks(process.kill, process.start)
    client = kit.ChatClient(model, tools=[look_tool.tool()], advisors=[kit.SessionMemoryAdvisor(sdk)])
    assert text_of(await way.ask(client.prompt("Where is it?").session(session))) == "It is there."
    assert (look_tool.runs, await log_of(kit, sdk, session)) == (1, TURN)


async def test_turn_with_unstored_results_resumes_and_repeats_its_tool(
    kit: Kit, way: Way, sdk: Any, model: Any, process: ServerProcess, session: str
) -> None:
    look_tool = Looks(process.kill)
    client = kit.ChatClient(model, tools=[look_tool.tool()], advisors=[kit.SessionMemoryAdvisor(sdk)])
    with pytest.raises(ThreadkeepError):
        await way.ask(client.prompt("Where is it?").session(session))
    await asyncio.to_thread(process.start)
    await reconnected(kit, sdk)
    assert await log_of(kit, sdk, session) == TURN[:2]
    assert (await kit.of(client.prompt().session(session).resume)).text == "It is there."
    assert (look_tool.runs, await log_of(kit, sdk, session)) == (2, TURN)


async def test_turn_without_server_fails_before_any_tool_runs(
    kit: Kit, way: Way, sdk: Any, model: Any, process: ServerProcess, session: str
) -> None:
    """A turn that cannot be stored is not sent to the model."""
    process.kill()
    look_tool = Looks()
    client = kit.ChatClient(model, tools=[look_tool.tool()], advisors=[kit.SessionMemoryAdvisor(sdk)])
    with pytest.raises(ThreadkeepError):
        await way.ask(client.prompt("Where is it?").session(session))
    assert look_tool.runs == 0
