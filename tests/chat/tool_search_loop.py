"""Helpers for tests of the tool search loop, in the form of the kit under test."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from threadkeep.chat import (
    ChatClientRequest,
    Message,
    Prompt,
    Tool,
    ToolCall,
    ToolDefinition,
    ToolOptions,
    assistant,
    context_keys,
    user,
)

from .async_and_sync import Kit, Way, text_of
from .tool_loop import RecordingTools

NAMES = ["weather", "currency", "flights", "hotels", "trains"]
SEARCH = "search_tools"


def recording(kit: Kit) -> Any:
    """Returns a keyword index that records its calls and runs `before_drop` during each drop."""
    base = kit.KeywordToolIndex

    class Async(base):  # type: ignore[misc, valid-type]
        async def put(self, key: str, tools: Sequence[ToolDefinition]) -> None:
            noted.append(("put", tuple(each.name for each in tools)))
            await super().put(key, tools)

        async def find(self, key: str, query: str, limit: int) -> tuple[str, ...]:
            noted.append(("find", query, limit))
            return await super().find(key, query, limit)

        async def drop(self, key: str) -> None:
            noted.append(("drop",))
            if (meanwhile := self.before_drop()) is not None:
                await meanwhile
            await super().drop(key)

    class Sync(base):  # type: ignore[misc, valid-type]
        def put(self, key: str, tools: Sequence[ToolDefinition]) -> None:
            noted.append(("put", tuple(each.name for each in tools)))
            super().put(key, tools)

        def find(self, key: str, query: str, limit: int) -> tuple[str, ...]:
            noted.append(("find", query, limit))
            return super().find(key, query, limit)

        def drop(self, key: str) -> None:
            noted.append(("drop",))
            self.before_drop()
            super().drop(key)

    noted: list[tuple[Any, ...]] = []
    index = (Async if kit.is_async else Sync)()
    index.noted = noted
    index.before_drop = lambda: None
    return index


def tools(*names: str, runs: RecordingTools | None = None) -> tuple[Tool, ...]:
    made = runs or RecordingTools()
    return tuple(made.tool(name) for name in names or NAMES)


def request(*messages: Message, given: Iterable[Tool] | None = None, session: Any = "s1", **options: Any) -> ChatClientRequest:
    held = tools() if given is None else tuple(given)
    return ChatClientRequest(messages or (user("hi"),), ToolOptions(tools=held, **options), {context_keys.SESSION: session})


def searches(*queries: str, most: int | None = None) -> Message:
    """Returns an answer with one search call per query."""
    arguments = [{"query": query} | ({"max_results": most} if most else {}) for query in queries]
    return assistant(tool_calls=[ToolCall(f"s{at}", SEARCH, json.dumps(each)) for at, each in enumerate(arguments)])


def shown(prompt: Prompt) -> list[str]:
    assert isinstance(prompt.options, ToolOptions)
    return [each.name for each in prompt.options.tools]


class SearchLoop:
    """A tool search loop around a scripted model."""

    def __init__(self, kit: Kit, way: Way, *replies: Any, inner: Sequence[Any] = (), **settings: Any) -> None:
        self.way = way
        self.model = kit.ScriptedModel(replies)
        self.index = recording(kit)
        self.advisor = kit.ToolSearchAdvisor(**{"index": self.index} | settings)
        self.chain = kit.AdvisorChain([self.advisor, *inner], self.model)

    async def ask(self, request: ChatClientRequest) -> str:
        return text_of(await self.way.ask(self.chain, request))

    @property
    def shown(self) -> list[list[str]]:
        """The tools that the model saw in each call."""
        return [shown(prompt) for prompt in self.model.prompts]

    def noted(self, what: str) -> list[tuple[Any, ...]]:
        return [each for each in self.index.noted if each[0] == what]
