"""Runs the tools that a model called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self, runtime_checkable

from ...errors import ToolCallLimitExceeded, ToolFailed, UnknownTool
from ...telemetry.choice import Telemetry, TracerProvider
from ...tools._running_aio import gather, run_tool
from ...tools.executions import ToolExecution, error_result, result_of
from ...tools.limits import ToolCallLimits
from ...tools.tool import Tool, ToolContext, ToolDefinition
from ...types.messages import Message, ToolCall, ToolResult, tool
from ...types.options import ChatOptions, ToolOptions
from ...types.requests import Prompt
from ...types.responses import ChatResponse


@runtime_checkable
class AsyncToolManager(Protocol):
    """Runs the tools of a tool loop."""

    def definitions(self, options: ChatOptions | None) -> tuple[ToolDefinition, ...]:
        """Returns the definitions of the options' tools."""

    async def execute(self, prompt: Prompt, response: ChatResponse) -> ToolExecution:
        """Runs the calls of the response. `prompt`: the whole turn so far, and the options of the model call.

        Raises ValueError for a response without calls, UnknownTool, ToolCallLimitExceeded, ToolFailed.
        """


class AsyncToolCallingManager:
    """Runs tools one after the other, or those of a round at the same time. Immutable: one object serves many requests.

    `resolver`: returns a tool that the options do not list, by name. `errors_to_model`: the model receives the text of a
    tool's exception; False raises ToolFailed. `concurrent`: the calls of one round run at the same time, at most
    `max_concurrency`; results keep the order of the calls, and a failed call does not stop the others. `tool_timeout`: seconds
    of a call of a tool without its own `timeout`, None for no limit. `record_content`: record arguments and results in spans.

    Canceling `execute` cancels coroutine functions. Plain functions run in threads that cannot be stopped; their results are
    dropped.
    """

    def __init__(
        self,
        *,
        limits: ToolCallLimits | None = None,
        resolver: Callable[[str], Tool | None] | None = None,
        errors_to_model: bool = True,
        concurrent: bool = False,
        max_concurrency: int = 16,
        tool_timeout: float | None = None,
        tracer_provider: TracerProvider | None = None,
        record_content: bool = False,
    ) -> None:
        """Raises ValueError for a timeout or concurrency that is not positive."""
        if tool_timeout is not None and tool_timeout <= 0:
            raise ValueError(f"tool_timeout: above 0 or None, not {tool_timeout}")
        if max_concurrency < 1:
            raise ValueError(f"max_concurrency: at least 1, not {max_concurrency}")
        self._settings: dict[str, Any] = {
            "limits": limits,
            "resolver": resolver,
            "errors_to_model": errors_to_model,
            "concurrent": concurrent,
            "max_concurrency": max_concurrency,
            "tool_timeout": tool_timeout,
            "tracer_provider": tracer_provider,
            "record_content": record_content,
        }
        self._limits = limits or ToolCallLimits()
        self._resolver = resolver
        self._errors_to_model = errors_to_model
        self._at_most = max_concurrency if concurrent else 1
        self._timeout = tool_timeout
        self._telemetry = Telemetry(tracer_provider, record_content=record_content)

    @property
    def limits(self) -> ToolCallLimits:
        return self._limits

    def changed(self, **settings: Any) -> Self:
        """Returns a copy with other constructor arguments. Raises TypeError for an unknown one."""
        return type(self)(**{**self._settings, **settings})

    def definitions(self, options: ChatOptions | None) -> tuple[ToolDefinition, ...]:
        """Returns the definitions of the options' tools."""
        return tuple(each.definition for each in _tools(options))

    async def execute(self, prompt: Prompt, response: ChatResponse) -> ToolExecution:
        """Runs the calls of the first generation that has any.

        If a limit is exceeded, the calls before it run, and the error's `partial` contains their results; so do successful
        calls when a tool fails. Unknown tools are detected before any tool runs. Raises ValueError for a response without
        calls.
        """
        message = next((each.message for each in response.generations if each.message.tool_calls), None)
        if message is None:
            raise ValueError("response: it has no tool calls")
        calls = message.tool_calls
        tools = self._resolved(prompt.options, calls)
        breaches = self._limits.breaches(prompt.messages, calls)
        first = next((breach for breach in breaches if breach), "") if self._limits.on_breach == "raise" else ""
        history = (*prompt.messages, message)
        running = calls[: breaches.index(first)] if first else calls
        outcomes = await self._outcomes(prompt.options, history, list(zip(running, tools, breaches, strict=False)))
        results = [outcome for outcome in outcomes if isinstance(outcome, ToolResult)]
        partial = tool(*results) if results else None
        for outcome in outcomes:
            if isinstance(outcome, ToolFailed):
                outcome.partial = partial
                raise outcome
        if first:
            raise ToolCallLimitExceeded(first, partial)
        return_direct = all(each.return_direct for each in tools) and not any(breaches)
        return ToolExecution((*history, tool(*results)), return_direct)

    def _resolved(self, options: ChatOptions | None, calls: Sequence[ToolCall]) -> list[Tool]:
        listed = {each.name: each for each in _tools(options)}
        found = []
        for call in calls:
            known = listed.get(call.name) or (self._resolver(call.name) if self._resolver else None)
            if known is None:
                raise UnknownTool(call.name, tuple(listed))
            found.append(known)
        return found

    async def _outcomes(
        self, options: ChatOptions | None, history: tuple[Message, ...], work: Sequence[tuple[ToolCall, Tool, str]]
    ) -> list[ToolResult | ToolFailed]:
        values = options.tool_context if isinstance(options, ToolOptions) else {}

        def job(call: ToolCall, called: Tool, breach: str) -> Callable[[], Any]:
            context = ToolContext(values, history, call.id)
            return lambda: self._outcome(call, called, context, breach)

        jobs = [job(*each) for each in work]
        if self._at_most > 1 and len(jobs) > 1:
            return list(await gather(jobs, self._at_most))
        outcomes: list[ToolResult | ToolFailed] = []
        for each in jobs:
            outcomes.append(await each())
            if isinstance(outcomes[-1], ToolFailed):
                break
        return outcomes

    async def _outcome(self, call: ToolCall, called: Tool, context: ToolContext, breach: str) -> ToolResult | ToolFailed:
        """Returns the result of one call, in a span, also if its tool raises."""
        if breach:
            return error_result(call, breach)
        timeout = called.timeout if called.timeout is not None else self._timeout
        with self._telemetry.tool_span(call, called) as span:
            try:
                result = result_of(call, await run_tool(called.run, call.arguments.strip() or "{}", context, timeout))
            except Exception as error:
                text = str(error) or type(error).__name__
                result = error_result(call, text)
                span.answered(result, error)
                if self._errors_to_model:
                    return result
                failure = ToolFailed(call.name, text)
                failure.__cause__ = error
                return failure
            span.answered(result)
            return result


def _tools(options: ChatOptions | None) -> tuple[Tool, ...]:
    return options.tools if isinstance(options, ToolOptions) else ()
