"""The tool calls and tool results among OpenAI's Responses items, as parts of events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...v1.message_pb2 import ROLE_ASSISTANT, ROLE_TOOL, MediaPart, Part, Role, ToolCallPart, ToolResultPart
from ..data_urls import fill
from ..openai import clean, json_text
from .content import parts_of, text_of

Item = Mapping[str, Any]


def tool_parts(kind: str, item: Item) -> tuple[Role.ValueType, list[Part]] | None:
    """The role and the parts of an item that calls a tool, has its result, or both; None for another item.

    A tool that the provider runs is one item with the call and its result, and so is the event.
    """
    if call := _CALLS.get(kind):
        return ROLE_ASSISTANT, [_call(kind, item, *call(item))]
    if result := _RESULTS.get(kind):
        found = ToolResultPart(call_id=_id_of(item), name=text_of(item.get("name")))
        result(found, item)
        return ROLE_TOOL, [Part(tool_result=found)]
    if hosted := _HOSTED.get(kind):
        found = ToolResultPart(call_id=_id_of(item), is_error=item.get("status") == "failed")
        name, arguments = hosted(found, item)
        found.name = name
        if not found.parts and not found.structured_json:  # the pair is complete for readers that require it
            found.structured_json = json_text({"status": item.get("status")})
        return ROLE_ASSISTANT, [_call(kind, item, name, arguments), Part(tool_result=found)]
    return None


def _id_of(item: Item) -> str:
    """The id of a call. Hosted calls, and results of the local shell, have only that of the item."""
    return text_of(item.get("call_id")) or text_of(item.get("id"))


def _call(kind: str, item: Item, name: str, arguments: str) -> Part:
    return Part(tool_call=ToolCallPart(id=_id_of(item), name=name, kind=_KINDS.get(kind, kind), arguments_json=arguments))


def _json_of(value: object) -> str:
    """Arguments as the model wrote them, or as JSON."""
    return text_of(value) if isinstance(value, str) else json_text(value)


def _named(argument: str) -> Callable[[Item], tuple[str, str]]:
    """The call of a tool that has a name."""
    return lambda item: (text_of(item.get("name")), _json_of(item.get(argument)))


def _built_in(name: str, *arguments: str) -> Callable[[Item], tuple[str, str]]:
    """The call of a tool of the provider's, with the first of these members as its arguments."""
    return lambda item: (name, next((_json_of(item[each]) for each in arguments if item.get(each) is not None), ""))


_KINDS = {"function_call": "function", "custom_tool_call": "custom"}
_CALLS: dict[str, Callable[[Item], tuple[str, str]]] = {
    "function_call": _named("arguments"),
    "custom_tool_call": _named("input"),
    "computer_call": _built_in("computer", "actions", "action"),
    "local_shell_call": _built_in("local_shell", "action"),
    "shell_call": _built_in("shell", "action"),
    "apply_patch_call": _built_in("apply_patch", "operation"),
    "tool_search_call": _built_in("tool_search", "arguments"),
    "program": _built_in("program", "code"),
}


def _output(found: ToolResultPart, item: Item) -> None:
    output = item.get("output")
    found.parts.extend(parts_of([output] if isinstance(output, Mapping) else output))
    found.is_error = item.get("status") == "failed"


def _shell_output(found: ToolResultPart, item: Item) -> None:
    """What the commands printed. A command that failed or took too long makes the result an error."""
    output = item.get("output")
    chunks = [each for each in output if isinstance(each, Mapping)] if isinstance(output, list) else []
    for chunk in chunks:
        found.parts.extend(Part(text=text) for stream in ("stdout", "stderr") if (text := text_of(chunk.get(stream))))
    found.structured_json = json_text(output)
    found.is_error = any(_failed(chunk.get("outcome")) for chunk in chunks)


def _failed(outcome: object) -> bool:
    return isinstance(outcome, Mapping) and (outcome.get("type") == "timeout" or outcome.get("exit_code", 0) != 0)


def _tools_found(found: ToolResultPart, item: Item) -> None:
    found.structured_json = json_text(item.get("tools"))


def _program_result(found: ToolResultPart, item: Item) -> None:
    found.parts.extend(parts_of(item.get("result")))


_RESULTS: dict[str, Callable[[ToolResultPart, Item], None]] = {
    "function_call_output": _output,
    "custom_tool_call_output": _output,
    "computer_call_output": _output,
    "local_shell_call_output": _output,
    "apply_patch_call_output": _output,
    "shell_call_output": _shell_output,
    "tool_search_output": _tools_found,
    "program_output": _program_result,
}


def _file_search(found: ToolResultPart, item: Item) -> tuple[str, str]:
    if item.get("results") is not None:
        found.structured_json = json_text(item["results"])
    return "file_search", json_text({"queries": item.get("queries")})


def _web_search(found: ToolResultPart, item: Item) -> tuple[str, str]:
    return "web_search", json_text(item.get("action"))


def _code_interpreter(found: ToolResultPart, item: Item) -> tuple[str, str]:
    found.parts.extend(_interpreted(item.get("outputs")))
    return "code_interpreter", json_text({"code": item.get("code")})


def _interpreted(outputs: object) -> Iterator[Part]:
    for output in outputs if isinstance(outputs, list) else ():
        if isinstance(output, Mapping) and output.get("type") == "image":
            yield Part(media=MediaPart(mime_type="image/*", uri=text_of(output.get("url"))))
        elif isinstance(output, Mapping):
            yield Part(text=text_of(output.get("logs")))


def _image_generation(found: ToolResultPart, item: Item) -> tuple[str, str]:
    media = MediaPart(mime_type=f"image/{text_of(item.get('output_format')) or 'png'}")
    if isinstance(item.get("result"), str) and fill(media, item["result"]):
        found.parts.append(Part(media=media))
    elif item.get("error") is not None:
        found.structured_json, found.is_error = json_text(item["error"]), True
    return "image_generation", json_text({"prompt": item.get("revised_prompt")})


def _mcp_call(found: ToolResultPart, item: Item) -> tuple[str, str]:
    if item.get("error") is not None:
        found.parts.append(Part(text=clean(_json_of(item["error"]))))
        found.is_error = True
    else:
        found.parts.extend(parts_of(item.get("output")))
    return text_of(item.get("name")), _json_of(item.get("arguments"))


_HOSTED: dict[str, Callable[[ToolResultPart, Item], tuple[str, str]]] = {
    "file_search_call": _file_search,
    "web_search_call": _web_search,
    "code_interpreter_call": _code_interpreter,
    "image_generation_call": _image_generation,
    "mcp_call": _mcp_call,
}
