"""Output for people and for programs: tables, times, excerpts, and protobuf messages as plain JSON."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import AsyncIterable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...messages import text_of
from ...v1 import event_pb2, message_pb2, session_pb2

Item = TypeVar("Item")

_MOST_ROWS = 1000  # of one table: a longer list is several, so that it is shown as it comes and never held whole
_UNLIMITED = 100_000  # columns, where the reader is a program or a file


def console(*, to_stderr: bool = False) -> Console:
    """Returns a console on standard output or error; without a terminal it is plain and as wide as its content."""
    stream = sys.stderr if to_stderr else sys.stdout
    return Console(file=stream, width=None if stream.isatty() else _UNLIMITED, highlight=False, soft_wrap=not stream.isatty())


def print_json(value: object) -> None:
    """Prints a JSON value on one line of standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=not utf8(), separators=(",", ":")) + "\n")


def table(*columns: str, ids: tuple[str, ...] = (), numbers: tuple[str, ...] = (), rest: str = "") -> Table:
    """Returns an empty table with these columns.

    On a terminal `rest` takes the remaining width, on one line, and `ids` are folded if the width is too small; `numbers` are
    aligned to the right.
    """
    on_terminal = sys.stdout.isatty()
    made = Table(
        box=box.SIMPLE_HEAD if on_terminal else None,
        expand=on_terminal and bool(rest),
        pad_edge=False,
        padding=(0, 1 if on_terminal else 2, 0, 0),
        header_style="bold",
    )
    for name in columns:
        flexible = on_terminal and name == rest
        made.add_column(
            name,
            justify="right" if name in numbers else "left",
            no_wrap=name not in ids,
            overflow="fold" if name in ids else "ellipsis",
            ratio=1 if flexible else None,
            min_width=24 if flexible else None,
        )
    return made


class Listing(Generic[Item]):
    """A list shown as its items come: with `value` each as a line of JSON, otherwise as rows of tables."""

    def __init__(
        self,
        value: Callable[[Item], object] | None,
        new_table: Callable[[], Table],
        add_row: Callable[[Table, Item], None],
        nothing: str,
    ) -> None:
        self.count = 0
        self._value = value
        self._new_table = new_table
        self._add_row = add_row
        self._nothing = nothing
        self._table: Table | None = None

    def add(self, item: Item) -> None:
        """Shows the item, at the latest when its table is full."""
        if self._value is not None:
            print_json(self._value(item))
        else:
            if self._table is None:
                self._table = self._new_table()
                if self.count and not sys.stdout.isatty():
                    self._table.show_header = False
            self._add_row(self._table, item)
            if self._table.row_count >= _MOST_ROWS:
                self._print()
        self.count += 1

    async def fill(self, items: AsyncIterable[Item], limit: int) -> bool:
        """Adds items as they come, at most `limit`; 0: all. Returns whether there are more."""
        async for item in items:
            if limit and self.count == limit:
                return True
            self.add(item)
        return False

    def end(self) -> None:
        """Prints the remaining rows, or that there are none."""
        if self._table is not None:
            self._print()
        elif not self.count and self._value is None:
            console().print(self._nothing)

    def _print(self) -> None:
        console().print(self._table)
        self._table = None


def page_for(limit: int) -> int:
    """Returns the size of the pages of a list of at most `limit` items; 0: all."""
    return min(limit + 1, 1000) if limit else 1000


def say_more(more: bool, limit: int, which: str = "first") -> None:
    """Prints on standard error that a list was cut off, if there is more."""
    if more:
        print(f"only the {which} {limit:,} are shown; --limit 0 shows all", file=sys.stderr)


def room() -> int:
    """Characters of a text worth preparing for the `rest` of a table."""
    return max(40, console().width - 60) if sys.stdout.isatty() else 160


def facts(rows: list[tuple[str, str]]) -> Table:
    """Names and values, one pair to a row."""
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in rows:
        made.add_row(name, Text(value))
    return made


def shown_time(time: Timestamp) -> str:
    """Local time to the second, on a terminal in brief; empty for none."""
    if time == Timestamp():
        return ""
    try:
        local = time.ToDatetime(tzinfo=UTC).astimezone()
    except (ValueError, OverflowError, OSError):
        return time.ToJsonString()
    if not sys.stdout.isatty():
        return local.strftime("%Y-%m-%d %H:%M:%S")
    today = local.date() == datetime.now(UTC).astimezone().date()
    return local.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M")


def shown_expiry(session: session_pb2.Session) -> str:
    """Returns when a session expires, for people."""
    if not session.HasField("expire_time"):
        return "never"
    passed = session.expire_time.seconds < datetime.now(UTC).timestamp()
    return f"{shown_time(session.expire_time)}{' (passed)' if passed else ''}"


def plain(text: str) -> str:
    """Returns text without control characters: line feeds and tabs stay, others become U+FFFD."""
    return "".join(each if each.isprintable() or each in "\n\t" else "\ufffd" for each in text)


def excerpt(text: str, around: str = "", width: int = 100) -> Text:
    """One line of the text, cut to the width so that `around` is in it, and that highlighted."""
    line = " ".join(plain(text).split())
    at = line.casefold().find(around.casefold()) if around else 0
    start, end = cut(line, min(max(at, 0), len(line)), width)
    part = ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")
    shown = Text(part)
    found = part.casefold().find(around.casefold()) if around else -1
    if found >= 0:
        shown.stylize("bold yellow", found, found + len(around))
    return shown


def cut(line: Sequence[str], at: int, width: int) -> tuple[int, int]:
    """The part of a line, from and up to which character, that fills at most `width` cells of a terminal and has `at` in its
    first third, or more to the right where the line ends soon. A character of Chinese or Japanese takes two cells."""
    start = end = at
    used = 0
    while start and used + cell_len(line[start - 1]) <= width // 3:
        start -= 1
        used += cell_len(line[start])
    while end < len(line) and used + cell_len(line[end]) <= width:
        used += cell_len(line[end])
        end += 1
    while start and used + cell_len(line[start - 1]) <= width:
        start -= 1
        used += cell_len(line[start])
    return start, end


def summary_of(event: event_pb2.SessionEvent) -> str:
    """Returns a short form of an event: its text, its calls and results, its other parts."""
    pieces = [text_of(event)]
    for part in event.message.parts:
        kind = part.WhichOneof("content")
        if kind == "tool_call":
            pieces.append(f"→ {part.tool_call.name}({part.tool_call.arguments_json})")
        elif kind == "tool_result":
            result = part.tool_result
            texts = [each.text for each in result.parts if each.HasField("text")]
            pieces.append(f"← {result.name or result.call_id}: {' '.join(texts) or result.structured_json}")
        elif kind == "media":
            pieces.append(f"[{part.media.mime_type or 'media'}]")
        elif kind == "reasoning":
            pieces.append(f"[reasoning] {part.reasoning.text}")
        elif kind == "data":
            pieces.append(f"[{part.data.type}]")
    if not event.message.parts and event.native.format:
        pieces.append(f"[{event.native.format}]")
    return " ".join(each for each in pieces if each)


def role_of(event: event_pb2.SessionEvent) -> str:
    """The role's name, for example "user"; empty for an event without a message."""
    name = message_pb2.Role.Name(event.message.role) if event.message.role in message_pb2.Role.values() else ""
    return "" if name == "ROLE_UNSPECIFIED" else name.removeprefix("ROLE_").lower()


def ref_json(ref: session_pb2.SessionRef) -> dict[str, str]:
    """Returns the name of a session."""
    return {"app": ref.app, "user_id": ref.user_id, "session_id": ref.session_id}


def session_json(session: session_pb2.Session) -> dict[str, Any]:
    """Returns a session for programs."""
    return {
        **ref_json(session.ref),
        "uid": session.uid,
        "events": session.last_seq,
        "create_time": session.create_time.ToJsonString(),
        "update_time": session.update_time.ToJsonString(),
        "expire_time": session.expire_time.ToJsonString() if session.HasField("expire_time") else None,
        "labels": dict(sorted(session.labels.items())),
        "metadata_json": session.metadata_json,
        "log_version": session.log_version,
        "window_version": session.window_version,
        "window": window_json(session.window),
        "context_bytes": session.context_bytes,
        "content_bytes": session.content_bytes,
        "usage": as_json(session.usage),
        "parent": _parent_json(session.parent) if session.HasField("parent") else None,
    }


def _parent_json(parent: session_pb2.SessionParent) -> dict[str, Any]:
    named = {**ref_json(parent.session), "uid": parent.uid}
    return named | {"at_seq": parent.at_seq, "at_log_version": parent.at_log_version}


def window_json(counters: session_pb2.WindowCounters) -> dict[str, int]:
    """Returns the counters of a window, for programs."""
    return {name: getattr(counters, name) for name in ("events", "turns", "bytes", "tokens")}


def event_json(event: event_pb2.SessionEvent) -> dict[str, Any]:
    """An event for programs: `seq`, `event_id`, `role` and `text` always, the other fields where they are set."""
    return {
        "seq": event.seq,
        "event_id": event.event_id,
        "role": role_of(event),
        "text": text_of(event),
        **{key: value for key, value in as_json(event).items() if key not in ("seq", "event_id")},
    }


def whole_json(message: Message) -> dict[str, Any]:
    """All fields, also those that are not set, as the JSON of protobuf."""
    return MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)


def as_json(message: Message) -> dict[str, Any]:
    """The fields that are set: bytes as base64, times as RFC 3339, enum values as short lower-case names."""
    out: dict[str, Any] = {}
    for field, value in message.ListFields():
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            out[field.name] = dict(sorted(value.items()))
        elif hasattr(value, "extend"):
            out[field.name] = [_value(field, each) for each in value]
        else:
            out[field.name] = _value(field, value)
    return out


def _value(field: FieldDescriptor, value: Any) -> Any:
    if isinstance(value, Timestamp):
        return value.ToJsonString()
    if isinstance(value, Message):
        return as_json(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return value if known is None else known.name.partition("_")[2].lower()
    return value


def utf8() -> bool:
    """Returns whether standard output can encode any character."""
    return (getattr(sys.stdout, "encoding", "") or "").lower().replace("-", "") in ("utf8", "")
