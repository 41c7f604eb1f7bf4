"""What a search for tools tells the model, and how it is read again from the conversation."""

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
"""Is added to the system message; `{name}` is the search tool's."""
DISCOVERED = "threadkeep.discovered_tools"
"""In the context of a request and its responses: the names that searches of this turn have found, in a tuple."""


@dataclass(frozen=True, slots=True)
class DisclosedTools:
    """Of the tools of a request the search tool, those of `always`, and those that searches have found: all of them, or if not
    `accumulate` those of the last searches."""

    search_tool: str
    always: frozenset[str] = frozenset()
    accumulate: bool = True

    def narrowed(self, request: ChatClientRequest) -> ChatClientRequest:
        """The request with these tools only. One without the search tool is left as it is."""
        options = request.options
        tools = {each.name: each for each in options.tools} if isinstance(options, ToolOptions) else {}
        if not isinstance(options, ToolOptions) or self.search_tool not in tools:
            return request
        found = found_names(request.messages, self.search_tool, all_of_them=self.accumulate)
        if self.accumulate or not found:  # a memory may have left out the results
            found = tuple(dict.fromkeys((*request.context.get(DISCOVERED, ()), *found)))
        always = [name for name in tools if name in self.always or name == options.tool_choice]
        # What was found last stands last: a provider's cache knows the tools before it.
        names = dict.fromkeys((self.search_tool, *always, *found))
        narrowed = options.changed(tools=tuple(tools[name] for name in names if name in tools))
        return request.with_options(narrowed).with_context({DISCOVERED: found})


def session_key(session: Any, user_id: str | None = None) -> str:
    """A session's name among all: a Session or SessionRef has its app and user in it, an id is one of the user's."""
    session = getattr(session, "ref", session)
    parts = [getattr(session, part, "") for part in ("app", "user_id", "session_id")]
    return json.dumps(["", user_id or "", session] if isinstance(session, str) else parts)


def search_output(found: Sequence[ToolDefinition]) -> ToolOutput:
    """The answer of the search tool."""
    said: dict[str, Any] = {"tools": [{"name": each.name, "description": each.description} for each in found]}
    if not found:
        said["hint"] = "No tool fits. Say it in other words, or with fewer."
    return ToolOutput(structured_json=json.dumps(said, ensure_ascii=False))


def found_names(messages: Iterable[Message], search_tool: str, *, all_of_them: bool) -> tuple[str, ...]:
    """The names that searches in these messages have found, each once, the earliest first; else those of the last message that
    holds results of searches: all that were made at once."""
    found: list[str] = []
    for message in messages:
        searches = [each for each in message.tool_results if each.name == search_tool and not each.is_error]
        if searches and not all_of_them:
            found.clear()
        for each in searches:
            found += _names(each)
    return tuple(dict.fromkeys(found))


def guided(messages: Sequence[Message], guidance: str) -> tuple[Message, ...]:
    """With the guidance at the end of the first system message, or in one of its own; once, however often this is done."""
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
