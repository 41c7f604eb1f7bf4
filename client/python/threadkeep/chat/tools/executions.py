"""Results of one round of tools, and responses that end a turn without another model call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..types.messages import Data, Media, Message, Part, Text, ToolCall, ToolResult, assistant, tool
from ..types.requests import ChatClientResponse
from ..types.responses import RETURN_DIRECT, TOOL_CALL_LIMIT_EXCEEDED, TOOL_ITERATIONS_EXCEEDED, ChatResponse, Generation
from ..types.texts import make_encodable
from .tool import ToolOutput

TOOL_ID = "toolId"
TOOL_NAME = "toolName"
"""Metadata of a generation that is a tool's result: the id of the call and the tool's name."""
PARTIAL_RESULTS = "partialResults"
"""Metadata of a turn that ended inside of a round: a tuple of the ToolResults so far."""


@dataclass(frozen=True, slots=True)
class ToolExecution:
    """`history`: the messages of the request, the model's message with its calls, and one TOOL message with all results in the
    order of the calls. `return_direct`: the results are the answer; the model does not see them."""

    history: tuple[Message, ...]
    return_direct: bool = False

    @property
    def results(self) -> tuple[ToolResult, ...]:
        return self.history[-1].tool_results


def result_of(call: ToolCall, output: object) -> ToolResult:
    """Returns the result of a call. None becomes the empty text; texts are made storable (`texts.make_encodable`).

    Raises TypeError for another type.
    """
    if output is None or isinstance(output, str):
        return ToolResult(call.id, call.name, (Text(make_encodable(output or "")),))
    if not isinstance(output, ToolOutput):
        raise TypeError(f"a tool returns a text, a ToolOutput or None, not a {type(output).__name__}")
    if not isinstance(output.structured_json, str):
        raise TypeError(f"structured_json of a ToolOutput is JSON as text, not a {type(output.structured_json).__name__}")
    return ToolResult(
        call.id, call.name, tuple(map(_part, output.parts)), make_encodable(output.structured_json), output.is_error
    )


def error_result(call: ToolCall, text: str) -> ToolResult:
    """Returns a result that reports a failed call to the model."""
    return ToolResult(call.id, call.name, (Text(make_encodable(text)),), is_error=True)


def _part(part: object) -> Text | Media | Data:
    """Returns a part that an event can store."""
    match part:
        case Text(text=str()):
            return Text(make_encodable(part.text))
        case Data(json=str()):
            return Data(make_encodable(part.type), make_encodable(part.json))
        case Media():
            return replace(part, name=make_encodable(part.name), uri=None if part.uri is None else make_encodable(part.uri))
    raise TypeError(f"the parts of a ToolOutput are Text, Media and Data with their texts, not {type(part).__name__}")


def complete_results(calls: Sequence[ToolCall], partial: Message | None, why: str) -> Message:
    """Returns one TOOL message with a result for every call: those of `partial`, and an error for calls that did not run."""
    left = list(partial.tool_results if partial else ())
    results = []
    for call in calls:
        done = next((result for result in left if result.call_id == call.id and result.name == call.name), None)
        if done is not None:
            left.remove(done)
        results.append(done or error_result(call, f"not run: {why}"))
    return tool(*results)


def direct_answer(answer: ChatClientResponse, execution: ToolExecution) -> ChatClientResponse:
    """Returns the results as the answer, one generation each."""
    return _end_response(answer, *(_generation(result) for result in execution.results))


def limit_exceeded(answer: ChatClientResponse, breach: str, partial: Message | None) -> ChatClientResponse:
    """Returns the answer of a turn with too many calls: the reason, and the results so far as metadata."""
    about = {PARTIAL_RESULTS: partial.tool_results if partial else ()}
    return _end_response(answer, Generation(assistant(breach), TOOL_CALL_LIMIT_EXCEEDED, about))


def iterations_exceeded(answer: ChatClientResponse, most: int) -> ChatClientResponse:
    """Returns the answer of a turn in which the model still calls tools after `most` answers."""
    text = f"the turn was ended: after {most} answers the model still called tools"
    return _end_response(answer, Generation(assistant(text), TOOL_ITERATIONS_EXCEEDED))


def _generation(result: ToolResult) -> Generation:
    parts: list[Part] = [Text(result.structured_json)] if result.structured_json else list(result.parts)
    return Generation(assistant(parts), RETURN_DIRECT, {TOOL_ID: result.call_id, TOOL_NAME: result.name})


def _end_response(answer: ChatClientResponse, *generations: Generation) -> ChatClientResponse:
    return answer.with_response(replace(answer.response or ChatResponse(), generations=generations))
