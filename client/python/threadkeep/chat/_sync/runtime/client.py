# Generated from _async by `make sync-client`. Do not edit.
"""The chat client: the entry point of an agent's program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

from ...runtime.arguments import check_form, known_name, mapping_of, options_of, tools_of
from ...runtime.request_builder import RequestBuilder
from ...telemetry.choice import MeterProvider, Telemetry, TracerProvider
from ...tools.tool import Tool
from ...types.messages import Content, Message
from ...types.options import ChatOptions, ToolOptions
from ..providers.model import ChatModel
from ..tools.tool_manager import ToolManager
from .chain import Advisor
from .prompt import CLIENT, Agent, PromptSpec, advisors_of
from .registration import registration


class ChatClient:
    """Sends requests to a model through advisors, with tools. Immutable: share it between requests.

    `system`: instructions. `tools`: Tools and Python functions that the model may call. `advisors`: in any order; each has an
    `order`. `options`: override the model's defaults. `tool_context`: values for tools, `params`: values for advisors; the
    model sees neither.

    A ToolCallingAdvisor with `tool_manager` is added to each request that has no tool advisor, unless `auto_tool_calling` or
    the request parameter context_keys.AUTO_TOOLS is False; tool calls are then part of the answer. The advisor keeps no
    history of its own if a memory advisor is inside of it.

    Requests, model calls and tool runs are spans, and model calls are measured. `name`: the agent in spans. `tracer_provider`,
    `meter_provider`: default OpenTelemetry's global ones. `record_content`: record messages in spans. Without OpenTelemetry
    (the extra `threadkeep[telemetry]`) nothing is recorded, and a provider or `record_content` raises ImportError.

    Raises TypeError or InvalidTool for invalid arguments, including synchronous advisors and models, and InvalidChain for two
    tool advisors.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        system: str = "",
        tools: Iterable[Tool | Callable[..., Any]] = (),
        advisors: Sequence[Advisor] = (),
        options: ChatOptions | None = None,
        tool_context: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        auto_tool_calling: bool = True,
        tool_manager: ToolManager | None = None,
        name: str = "",
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        record_content: bool = False,
    ) -> None:
        check_form(model, ChatModel, CLIENT, ("call", "stream"))
        checked_advisors, functions = advisors_of(advisors), tools_of(tools, CLIENT)
        advisor_values, tool_values = mapping_of("params", params), mapping_of("tool_context", tool_context)
        loop = registration(auto_tool_calling, tool_manager, tracer_provider, record_content)
        telemetry = Telemetry(tracer_provider, meter_provider=meter_provider, record_content=record_content)
        agent = Agent(name, model, loop, telemetry, checked_advisors, loop.complete(checked_advisors))
        builder = RequestBuilder().with_system(system, {}).with_options(options_of(options, {}, CLIENT))
        builder = builder.with_options(ToolOptions(tools=functions, tool_context=tool_values)).with_context(advisor_values)
        self._model = model
        self._begin = PromptSpec(agent, builder, checked_advisors)
        self._settings: dict[str, Any] = {
            "model": model,
            "system": system,
            "tools": functions,
            "advisors": checked_advisors,
            "options": options,
            "tool_context": tool_values,
            "params": advisor_values,
            "auto_tool_calling": auto_tool_calling,
            "tool_manager": tool_manager,
            "name": name,
            "tracer_provider": tracer_provider,
            "meter_provider": meter_provider,
            "record_content": record_content,
        }

    @property
    def model(self) -> ChatModel:
        return self._model

    def prompt(self, content: Content | Message | None = None) -> PromptSpec:
        """Starts a request, with the user's text, a message, or nothing. PromptSpec has the further steps."""
        if content is None:
            return self._begin
        return self._begin.messages(content) if isinstance(content, Message) else self._begin.user(content)

    def mutate(self, **changes: Any) -> Self:
        """Returns a client with these constructor arguments changed. Raises TypeError for an unknown one."""
        for name in changes:
            known_name(name, self._settings, "setting of a client")
        return type(self)(**{**self._settings, **changes})
