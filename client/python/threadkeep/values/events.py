"""Events as the client returns them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ..v1.event_pb2 import SessionEvent
from ..v1.message_pb2 import ChatMessage, ToolCallPart, ToolResultPart
from ..v1.message_pb2 import Role as StoredRole
from .role import Role
from .wrapper import Wrapper

_ROLES = {StoredRole.Value(f"ROLE_{role.name}"): role for role in Role}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call. `arguments` is the JSON text that the model wrote, verbatim."""

    id: str
    name: str
    arguments: str = ""
    kind: str = "function"

    @property
    def args(self) -> dict[str, Any]:
        """The arguments as a dict, empty without any. Raises ValueError unless they are a JSON object."""
        try:
            parsed = json.loads(self.arguments) if self.arguments.strip() else {}
        except ValueError as error:
            raise ValueError(f"the arguments of the tool call {self.id!r} are not JSON: {error}") from None
        if not isinstance(parsed, dict):
            raise ValueError(f"the arguments of the tool call {self.id!r} are not a JSON object: {self.arguments[:60]}")
        return parsed


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of the tool call `call_id`. `text`: its text parts joined by a line feed, or its JSON."""

    call_id: str
    name: str
    text: str
    is_error: bool = False


class Event(Wrapper[SessionEvent]):
    """An event. Fields of SessionEvent, such as `message` and `author`, are attributes too; see `pb`."""

    __slots__ = ()

    @property
    def id(self) -> str:
        """The event's id."""
        return self.pb.event_id

    @property
    def event_id(self) -> str:
        """The event's id."""
        return self.pb.event_id

    @property
    def seq(self) -> int:
        """The place of the event in its log, from 1; 0 before it is stored."""
        return self.pb.seq

    @property
    def role(self) -> Role:
        """The role of the message; USER for a role that this version does not know."""
        return _ROLES.get(self.pb.message.role, Role.USER)

    @property
    def text(self) -> str:
        """The text parts joined by a line feed; empty without any."""
        return "\n".join(part.text for part in self.pb.message.parts if part.HasField("text"))

    @property
    def time(self) -> datetime | None:
        """The event time, else the time at which the server stored it, in UTC and microseconds. None if it has neither."""
        for field in ("event_time", "record_time"):
            if self.pb.HasField(field):
                found: datetime = getattr(self.pb, field).ToDatetime(UTC)
                return found
        return None

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the message, in order."""
        return tuple(_call(part.tool_call) for part in self.pb.message.parts if part.HasField("tool_call"))

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The tool results of the message, in order."""
        return tuple(_result(part.tool_result) for part in self.pb.message.parts if part.HasField("tool_result"))

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata, parsed by every access; `metadata_json` has it verbatim."""
        parsed: dict[str, Any] = json.loads(self.pb.metadata_json) if self.pb.metadata_json else {}
        return parsed

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON-compatible values, without empty ones. `time` is in ISO 8601. Media comes without its data."""
        time = self.time
        values: dict[str, Any] = {
            "id": self.id,
            "seq": self.seq,
            "role": str(self.role),
            "text": self.text,
            "time": time.isoformat() if time else None,
            "author": self.pb.author,
            "author_role": self.pb.author_role,
            "branch": self.pb.branch,
            "reasoning": "".join(part.reasoning.text for part in self.pb.message.parts if part.HasField("reasoning")),
            "tool_calls": [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in self.tool_calls],
            "tool_results": [
                {"call_id": each.call_id, "name": each.name, "text": each.text, "is_error": each.is_error}
                for each in self.tool_results
            ],
            "media": list(_media(self.pb.message)),
            "metadata": self.metadata,
            "synthetic": self.pb.synthetic,
            "archived": self.pb.archived,
        }
        return {name: value for name, value in values.items() if value or name in ("role", "text")}

    def __repr__(self) -> str:
        calls = f", tool_calls={list(self.tool_calls)}" if self.tool_calls else ""
        results = f", tool_results={list(self.tool_results)}" if self.tool_results else ""
        return f"Event(seq={self.seq}, role={str(self.role)!r}, text={self.text!r}{calls}{results})"


def _call(call: ToolCallPart) -> ToolCall:
    return ToolCall(call.id, call.name, call.arguments_json, call.kind)


def _result(result: ToolResultPart) -> ToolResult:
    text = result.structured_json or "\n".join(part.text for part in result.parts if part.HasField("text"))
    return ToolResult(result.call_id, result.name, text, result.is_error)


def _media(message: ChatMessage) -> Iterator[dict[str, Any]]:
    """The media of a message, without data."""
    for media in (part.media for part in message.parts if part.HasField("media")):
        about = {"mime_type": media.mime_type, "name": media.name, "uri": media.uri, "file_id": media.file_id}
        yield {name: value for name, value in about.items() if value} | ({"bytes": len(media.data)} if media.data else {})
