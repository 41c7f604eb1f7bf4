"""Results of a tool search: their text for the model, and reading them from the conversation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..tools.tool import ToolDefinition, ToolOutput
from ..types.messages import Message, Role, Text, ToolResult, parts_of, system
from ..types.options import ToolOptions
from ..types.requests import ChatClientRequest

GUIDANCE = (
    "You have more tools than you are shown. When none of those that you see does what is needed, call `{name}` and say in a "
    "few words what the tool should do. What it finds can be called from your next step on. Search before you say that "
    "something cannot be done."
)
"""Text that is added to the system message; `{name}` is the search tool's name."""
DISCOVERED = "threadkeep.discovered_tools"
"""Context key of requests and responses: a tuple of the names that searches of this turn found."""


@dataclass(frozen=True, slots=True)
class DisclosedTools:
    """The visible tools of a request: the search tool, those of `always`, and found ones: all, or without `accumulate` those
    of the last searches."""

    search_tool: str
    always: frozenset[str] = frozenset()
    accumulate: bool = True

    def narrowed(self, request: ChatClientRequest) -> ChatClientRequest:
        """Returns the request with the visible tools only; unchanged without the search tool."""
        options = request.options
        tools = {each.name: each for each in options.tools} if isinstance(options, ToolOptions) else {}
        if not isinstance(options, ToolOptions) or self.search_tool not in tools:
            return request
        found = found_names(request.messages, self.search_tool, all_of_them=self.accumulate)
        if self.accumulate or not found:  # a memory may omit the results
            found = tuple(dict.fromkeys((*request.context.get(DISCOVERED, ()), *found)))
        always = [name for name in tools if name in self.always or name == options.tool_choice]
        # New tools come last: a provider's cache covers the tools before them.
        names = dict.fromkeys((self.search_tool, *always, *found))
        narrowed = options.changed(tools=tuple(tools[name] for name in names if name in tools))
        return request.with_options(narrowed).with_context({DISCOVERED: found})


def session_key(session: Any, user_id: str | None = None) -> str:
    """Returns a unique key of a session: a Session or SessionRef has its own app and user, an id belongs to the given user."""
    session = getattr(session, "ref", session)
    parts = [getattr(session, part, "") for part in ("app", "user_id", "session_id")]
    return json.dumps(["", user_id or "", session] if isinstance(session, str) else parts)


def search_output(found: Sequence[ToolDefinition]) -> ToolOutput:
    """Returns the output of the search tool."""
    said: dict[str, Any] = {"tools": [{"name": each.name, "description": each.description} for each in found]}
    if not found:
        said["hint"] = "No tool fits. Say it in other words, or with fewer."
    return ToolOutput(structured_json=json.dumps(said, ensure_ascii=False))


def found_names(messages: Iterable[Message], search_tool: str, *, all_of_them: bool) -> tuple[str, ...]:
    """Returns the names that searches in these messages found, each once, oldest first; or those of the last message with
    search results."""
    found: list[str] = []
    for message in messages:
        searches = [each for each in message.tool_results if each.name == search_tool and not each.is_error]
        if searches and not all_of_them:
            found.clear()
        for each in searches:
            found += _names(each)
    return tuple(dict.fromkeys(found))


def guided(messages: Sequence[Message], guidance: str) -> tuple[Message, ...]:
    """Returns the messages with the guidance at the end of the first system message, or in a new one; added only once."""
    at = next((place for place, each in enumerate(messages) if each.role is Role.SYSTEM), None)
    if at is None:
        return (system(guidance), *messages)
    first = messages[at]
    if guidance in first.text:
        return tuple(messages)
    parts = (*first.parts, *parts_of(f"\n\n{guidance}" if first.text else guidance))
    return (
        *messages[:at],
        Message(Role.SYSTEM, parts, first.metadata, first.id, first.author, first.branch),
        *messages[at + 1 :],
    )


def _names(result: ToolResult) -> Iterator[str]:
    texts = [result.structured_json, *(part.text for part in result.parts if isinstance(part, Text))]
    for text in filter(None, texts):
        try:
            said = json.loads(text)
        except ValueError:
            continue
        listed = said.get("tools") if isinstance(said, Mapping) else None
        for each in listed if isinstance(listed, list) else ():
            if isinstance(each, Mapping) and isinstance(each.get("name"), str):
                yield each["name"]
