"""Lines of Claude Code's transcripts, which its agent SDK stores: to events, and from events.

One line is one event. Lines of users and of the model have typed parts; others (titles, modes, attachments) are kept in the
event's native content alone, since no other framework has an equal of them.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from ..v1.event_pb2 import NativeContent, SessionEvent
from ..v1.message_pb2 import ROLE_ASSISTANT, ROLE_TOOL, ROLE_USER, ChatMessage, DataPart, Part, Role
from ..v1.session_pb2 import TokenUsage
from .anthropic import PROVIDER, part_of, request_of
from .fields import FieldError, time_of
from .openai import clean, json_text, verbatim

NATIVE = "claude.transcript.line/1"
COMPACTION = "claude.compact"
"""The source of the summary that Claude Code writes when it compacts a conversation."""

Line = dict[str, Any]
_ID_BYTES = 255
_CHAINED = frozenset(("user", "assistant", "system", "attachment", "progress"))
"""Types of lines that a later one names as its parent."""
_REASONED = json.dumps({"reasoning_of": PROVIDER}, separators=(",", ":"))


def event_of(line: Mapping[str, Any], event_id: str, *, branch: str = "", counted: bool = True) -> SessionEvent:
    """The event of one line. `counted`: with the usage of the model's answer, which each line of one answer repeats."""
    message = line.get("message")
    spoken = message if isinstance(message, Mapping) and line.get("type") in ("user", "assistant") else {}
    parts = list(_parts(spoken.get("content")))
    compacted = line.get("isCompactSummary") is True
    return SessionEvent(
        event_id=event_id,
        branch=branch,
        author=_text(line, "agentId")[:255],
        invocation_id=_text(line, "promptId")[:255],
        event_time=_time(line.get("timestamp")),
        message=ChatMessage(role=_role(line, parts), parts=parts),
        native=NativeContent(format=NATIVE, content=verbatim(line)),
        usage=_usage(spoken.get("usage")) if counted else None,
        metadata_json=_REASONED if any(part.HasField("reasoning") for part in parts) else "",
        synthetic=compacted,
        compaction_source=COMPACTION if compacted else "",
    )


def _role(line: Mapping[str, Any], parts: Iterable[Part]) -> Role.ValueType:
    if any(part.HasField("tool_result") for part in parts):
        return ROLE_TOOL
    return ROLE_USER if line.get("type") == "user" else ROLE_ASSISTANT


def _parts(content: object) -> Iterator[Part]:
    """The parts of a content. A block of an odd shape is data: no line is refused."""
    if isinstance(content, str):
        yield Part(text=clean(content))
    for block in content if isinstance(content, list) else ():
        try:
            yield part_of(block, "block")
        except FieldError:
            yield Part(data=DataPart(type=PROVIDER, json=json_text(block)))


def _text(line: Mapping[str, Any], name: str) -> str:
    value = line.get(name)
    return clean(value) if isinstance(value, str) and value.isprintable() else ""


def _time(value: object) -> Timestamp | None:
    found, said = Timestamp(), time_of(value)
    if said is None:
        return None
    try:
        found.FromDatetime(said)
    except (ValueError, OverflowError):
        return None
    return found


def _usage(usage: object) -> TokenUsage | None:
    """The tokens of an answer. What the provider read from its cache or wrote to it counts as input."""
    if not isinstance(usage, Mapping):
        return None

    def count(name: str) -> int:
        value = usage.get(name)
        return value if isinstance(value, int) and 0 <= value < 2**40 else 0

    cached, said = count("cache_read_input_tokens"), count("output_tokens")
    read = count("input_tokens") + cached + count("cache_creation_input_tokens")
    return TokenUsage(input_tokens=read, output_tokens=said, total_tokens=read + said, cached_tokens=cached)


def lines_of(events: Iterable[SessionEvent], session_id: str) -> list[Line]:
    """The lines of events. Those of other frameworks are rendered, each with the line before it as its parent, so that Claude
    Code shows them and continues from them; their ids are the same at every read."""
    found: list[Line] = []
    parent: str | None = None
    for event in events:
        native = _native(event)
        for line in _rendered(event, session_id, parent) if native is None else [native]:
            found.append(line)
            if line.get("type") in _CHAINED and isinstance(line.get("uuid"), str):
                parent = line["uuid"]
    return found


def _native(event: SessionEvent) -> Line | None:
    if event.native.format != NATIVE:
        return None
    try:
        line = json.loads(event.native.content)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None


def _rendered(event: SessionEvent, session_id: str, parent: str | None) -> Iterator[Line]:
    request = request_of([event])
    said: list[Line] = [{"type": message["role"], "message": _message(message, event)} for message in request["messages"]]
    if "system" in request:
        said.append({"type": "system", "subtype": "informational", "level": "info", "content": request["system"]})
    for n, line in enumerate(said):
        own = _uuid(event.event_id, n)
        yield {
            "parentUuid": parent,
            "isSidechain": bool(event.branch),
            "userType": "external",
            "sessionId": session_id,
            **line,
            "uuid": own,
            "timestamp": _iso(event),
        }
        parent = own


def _message(message: Mapping[str, Any], event: SessionEvent) -> Line:
    """A message as the provider's API returns it: the model's has an id and a usage."""
    if message["role"] == "user":
        return dict(message)
    used = {"input_tokens": event.usage.input_tokens, "output_tokens": event.usage.output_tokens}
    ending = {"stop_reason": None, "stop_sequence": None, "usage": used}
    return {"id": f"msg_{event.event_id}", "type": "message", "model": event.author or "unknown", **message, **ending}


def _uuid(event_id: str, n: int) -> str:
    """The id of a line: the event's, if it is a UUID, or one that is made of it."""
    try:
        if n == 0:
            return str(uuid.UUID(event_id))
    except ValueError:
        pass
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{event_id}/{n}"))


def _iso(event: SessionEvent) -> str:
    time = event.event_time if event.HasField("event_time") else event.record_time
    return time.ToDatetime(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def event_id_of(line: Mapping[str, Any], branch: str) -> str:
    """The id of a line's event: its uuid, which a subagent's transcript may share with the main one; empty without one."""
    own = line.get("uuid")
    if not isinstance(own, str) or not own:
        return ""
    named = f"{branch}/{own}" if branch else own
    if named.isprintable() and len(named.encode("utf-8", "replace")) <= _ID_BYTES:
        return named
    return str(uuid.uuid5(uuid.NAMESPACE_OID, named))


def branch_of(subpath: str) -> str:
    """The branch of a subagent's transcript: its path with dots, and with what a branch may not contain as %XX."""
    return ".".join(_segment(each) for each in subpath.split("/"))


def _segment(name: str) -> str:
    plain = "".join(f"%{ord(char):02X}" if char in "%." or _is_control(char) else char for char in name)
    return plain or "%"


def _is_control(char: str) -> bool:
    return char < " " or "\x7f" <= char <= "\x9f"


def subpath_of(branch: str) -> str:
    """The subpath whose branch it is; of another framework's branch, its path with slashes."""
    return "/".join(_name(each) for each in branch.split("."))


def _name(segment: str) -> str:
    first, *rest = segment.split("%")
    if segment == "%":
        return ""
    try:
        return first + "".join(chr(int(each[:2], 16)) + each[2:] for each in rest)
    except ValueError:
        return segment
