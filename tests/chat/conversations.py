"""Fixtures for conversations whose sessions are in a real server, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from tests.api.search.searching import ENGINES, serving
from threadkeep.chat import ChatClientRequest, Message, Role, Tool, ToolDefinition, ToolOptions, context_keys, user
from threadkeep.chat.memory.events import from_event
from threadkeep.chat.types.requests import ChatClientResponse
from threadkeep_server.app.server import Running

from .async_and_sync import Kit, Way


@pytest.fixture(scope="module", params=ENGINES)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Starts one server per module; tests use different session ids."""
    with serving(request.param, request, tmp_path_factory.mktemp("data"), http_address="") as opened:
        yield opened


@pytest.fixture
async def sdk(kit: Kit, server: Running) -> AsyncIterator[Any]:
    """Opens an SDK client of this form, for user alice in app shop."""
    client = kit.Client(f"127.0.0.1:{server.grpc_port}", app="shop", user_id="alice")
    yield client
    await kit.of(client.close)


@pytest.fixture
def talk(kit: Kit, way: Way, sdk: Any) -> Talk:
    return Talk(kit, way, sdk, f"s-{uuid4().hex[:12]}")


@dataclass(frozen=True)
class Talk:
    """A conversation in a new session."""

    kit: Kit
    way: Way
    sdk: Any
    session: str

    def memory(self, **settings: Any) -> Any:
        return self.kit.SessionMemoryAdvisor(self.sdk, **settings)

    async def ask(
        self, model: Any, advisor: Any, *said: str | Message, advisors: Iterable[Any] = (), **settings: Any
    ) -> list[ChatClientResponse]:
        """Sends one request through the advisors to the model and returns the answers."""
        chain = self.kit.AdvisorChain([advisor, *advisors], model)
        return await self.way.ask(chain, self.request(*said, **settings))

    async def ask_with_tools(
        self,
        model: Any,
        advisor: Any,
        *said: str | Message,
        tools: Iterable[Tool],
        loop: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> list[ChatClientResponse]:
        """Does the same in a tool loop that leaves the history to the memory."""
        settings = {"internal_history": False} | dict(loop or {})
        advisors = [self.kit.ToolCallingAdvisor(**settings), *more.pop("advisors", ())]
        return await self.ask(model, advisor, *said, advisors=advisors, options=ToolOptions(tools=tuple(tools)), **more)

    def request(
        self, *said: str | Message, options: Any = None, session: Any = None, context: Mapping[str, Any] | None = None
    ) -> ChatClientRequest:
        messages = [user(each) if isinstance(each, str) else each for each in said]
        about = {context_keys.SESSION: session or self.session, **(context or {})}
        return ChatClientRequest(tuple(messages), options, about)

    async def append(self, *events: Any, **settings: Any) -> Any:
        return await self.kit.of(self.sdk.append, self.session, *events, create_if_missing=True, **settings)

    async def events(self, session: str | None = None) -> list[Any]:
        """Returns the event log."""
        return await self.kit.all(self.sdk.events(session or self.session))

    async def log(self, session: str | None = None) -> list[str]:
        return lines(from_event(event) for event in await self.events(session))


def lines(messages: Iterable[Message]) -> list[str]:
    """Returns messages as short strings for comparison: `user: hi`, `assistant: hello [look c1]`, `tool: c1=found`."""
    return [_short(message) for message in messages]


def _short(message: Message) -> str:
    calls = "".join(f" [{call.name} {call.id}]" for call in message.tool_calls)
    results = " ".join(f"{result.call_id}={result.text}" for result in message.tool_results)
    return f"{message.role}: {message.text}{results}{calls}".replace(":  [", ": [")


def prompt_of(model: Any, at: int = -1) -> list[str]:
    """Returns the messages that a scripted model received, as short strings."""
    return lines(model.prompts[at].messages)


def look_tool(answer: str = "found", name: str = "look", **settings: Any) -> Tool:
    """Returns a tool with a fixed result."""
    return Tool(ToolDefinition(name), lambda arguments, context: answer, **settings)


class CountingClient:
    """Wraps an SDK client and counts the calls of its methods."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if callable(found):
            self.calls[name] += 1
        return found


def roles(messages: Iterable[Message]) -> list[Role]:
    return [message.role for message in messages]
