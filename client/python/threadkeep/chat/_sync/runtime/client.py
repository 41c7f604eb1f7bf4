# Generated from _async by `make sync-client`. Do not edit.
"""The client of a model: what an agent's program talks to."""

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
    """Asks a model, through advisors, with tools, for all requests alike. Immutable: share it between requests.

    `system`: instructions. `tools`: Tools and Python functions that the model may call. `advisors`: in any order; each has its
    place. `options`: over the model's defaults. `tool_context`: values for tools, `params`: values for advisors; the model sees
    neither.

    A ToolCallingAdvisor is added to each request that has no tool advisor, with `tool_manager` if there is one, unless
    `auto_tool_calling` or the request's parameter context_keys.AUTO_TOOLS is False; then tool calls are part of the
    answer. Its own history is off when a memory advisor stands inside it.

    Requests, model calls and tools are spans, and model calls are measured: `name` is the agent's in them, `tracer_provider`
    and `meter_provider` are OpenTelemetry's global ones by default, `record_content` puts what is said into the spans.
    Without OpenTelemetry (the extra `threadkeep[telemetry]`) nothing is recorded, and a provider or `record_content` raises
    ImportError.

    Raises TypeError or InvalidTool for what it cannot use, among that what belongs to a synchronous client, and InvalidChain
    for two tool advisors.
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
        given, functions = advisors_of(advisors), tools_of(tools, CLIENT)
        told, shown = mapping_of("params", params), mapping_of("tool_context", tool_context)
        loop = registration(auto_tool_calling, tool_manager, tracer_provider, record_content)
        telemetry = Telemetry(tracer_provider, meter_provider=meter_provider, record_content=record_content)
        agent = Agent(name, model, loop, telemetry, given, loop.complete(given))
        builder = RequestBuilder().with_system(system, {}).with_options(options_of(options, {}, CLIENT))
        builder = builder.with_options(ToolOptions(tools=functions, tool_context=shown)).with_context(told)
        self._model = model
        self._begin = PromptSpec(agent, builder, given)
        self._settings: dict[str, Any] = {
            "model": model,
            "system": system,
            "tools": functions,
            "advisors": given,
            "options": options,
            "tool_context": shown,
            "params": told,
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

    def prompt(self, said: Content | Message | None = None) -> PromptSpec:
        """A request: what the user says, a message, or nothing yet. See PromptSpec for what else may be said of it."""
        if said is None:
            return self._begin
        return self._begin.messages(said) if isinstance(said, Message) else self._begin.user(said)

    def mutate(self, **changes: Any) -> Self:
        """A client that differs in these arguments of its constructor. Raises TypeError for an unknown one."""
        for name in changes:
            known_name(name, self._settings, "setting of a client")
        return type(self)(**{**self._settings, **changes})
