"""Agents whose model says what a script says, and what the compaction endpoint of the provider answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

from agents import Agent, RunConfig, Tool
from agents.testing import ScriptedModel
from agents.testing.model import ModelScriptItem
from openai import AsyncOpenAI

QUIET = RunConfig(tracing_disabled=True)
"""No run reports to the provider."""


def agent(*script: ModelScriptItem, tools: list[Tool] | None = None) -> Agent[None]:
    """An agent whose model's answers are the script's."""
    return Agent[None](name="scripted", model=ScriptedModel(script), tools=tools or [])


class Compactor:
    """The client of a provider that compacts every input into `output`, after `meanwhile`."""

    def __init__(self, *output: dict[str, Any], meanwhile: Callable[[], Awaitable[object]] | None = None) -> None:
        self.responses = self
        self.output = list(output)
        self.usage = None
        self.inputs: list[Any] = []
        self._meanwhile = meanwhile

    async def compact(self, **request: Any) -> Compactor:
        """What `client.responses.compact` does."""
        self.inputs.append(request["input"])
        if self._meanwhile is not None:
            await self._meanwhile()
        return self

    @property
    def client(self) -> AsyncOpenAI:
        """This one, by the type that the framework names."""
        return cast("AsyncOpenAI", self)
