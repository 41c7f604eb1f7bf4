"""Parser of server-sent events (HTML standard, section 9.2.6) for chunks of any size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .reading import Unreadable

_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `data`: its data lines, joined by line feeds. `name`: its event name, usually empty."""

    data: str
    name: str = ""


class EventReader:
    """Reads one stream. Unknown fields are ignored."""

    def __init__(self) -> None:
        self._line: list[bytes] = []  # pieces of an unfinished line; joined once, because an image has many
        self._ends_in_cr = False
        self._data: list[str] = []
        self._name = ""

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Yields the events that end in this chunk. Raises Unreadable for a line that is not UTF-8."""
        if self._ends_in_cr and chunk:  # the line has ended; this may be the LF of its CRLF
            self._ends_in_cr = False
            chunk = chunk.removeprefix(b"\n")
        *ended, rest = _LINE_END.split(chunk)
        self._ends_in_cr = self._ends_in_cr or chunk.endswith(b"\r")
        for line in ended:
            self._line.append(line)
            yield from self._take(b"".join(self._line))
            self._line = []
        if rest:
            self._line.append(rest)

    def finish(self) -> Iterator[Event]:
        """Yields the last event: some servers omit the final empty line."""
        yield from self._take(b"".join(self._line))
        self._line = []
        yield from self._dispatch()

    def _take(self, line: bytes) -> Iterator[Event]:
        if not line:
            yield from self._dispatch()
            return
        try:
            field, _, value = line.decode().partition(":")
        except UnicodeDecodeError:
            raise Unreadable("a line is no UTF-8") from None
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value

    def _dispatch(self) -> Iterator[Event]:
        if self._data:
            yield Event("\n".join(self._data), self._name)
        self._data, self._name = [], ""
