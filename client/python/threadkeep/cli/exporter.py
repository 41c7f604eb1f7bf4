"""Exports sessions: reads them in log order, page by page, and writes lines of a file."""

from __future__ import annotations

import contextlib
import heapq
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from .. import AsyncClient, __version__
from ..filters import event_filter
from ..formats.openai import json_text, message_of
from ..v1 import event_pb2, session_pb2
from .formats.log import end_line, event_line, header_line, session_line

_SPAN = 1000  # seqs per request


@dataclass(slots=True)
class Exported:
    """The result of an export."""

    sessions: int = 0
    events: int = 0
    changed: list[str] = field(default_factory=list)


class Exporter:
    """Writes sessions in one of the formats."""

    def __init__(self, client: AsyncClient, out: IO[str], form: str, advance: Callable[[Exported], None]) -> None:
        self.done = Exported()
        self._client = client
        self._out = out
        self._form = form
        self._advance = advance

    async def run(self, sessions: AsyncIterator[session_pb2.Session]) -> Exported:
        """Writes all of them."""
        write = self._out.write
        if self._form == "threadkeep":
            info = await self._client.info()
            write(header_line(threadkeep=__version__, server=info.version, engine=info.engine, store_id=info.store_id))
        async for session in sessions:
            before = self.done.events
            await (self._log(session) if self._form == "threadkeep" else self._messages(session))
            self.done.sessions += 1
            if self.done.events - before != session.last_seq:
                self.done.changed.append(session.ref.session_id)
            self._advance(self.done)
        if self._form == "threadkeep":
            write(end_line(self.done.sessions, self.done.events))
        return self.done

    async def _log(self, session: session_pb2.Session) -> None:
        self._out.write(session_line(session))
        async for event in self._events(session):
            self._out.write(event_line(session.ref.session_id, event))

    async def _messages(self, session: session_pb2.Session) -> None:
        facts: dict[str, object] = {
            "session_id": session.ref.session_id,
            "user_id": session.ref.user_id,
            "app": session.ref.app,
            "labels": dict(sorted(session.labels.items())),
            "metadata_json": session.metadata_json,
        }
        self._out.write(json_text(facts)[:-1] + ', "messages": [')
        between = ""
        async for event in self._events(session):
            for message in message_of(event):
                self._out.write(between + json_text(message))
                between = ", "
        self._out.write("]}\n")

    async def _events(self, session: session_pb2.Session) -> AsyncIterator[event_pb2.SessionEvent]:
        """Every event up to the session's last_seq, by seq: lists come in window order, which compaction changes."""
        after = 0
        while after < session.last_seq:
            before = min(after + _SPAN, session.last_seq) + 1
            held: list[tuple[int, event_pb2.SessionEvent]] = []
            following = after + 1
            span = event_filter(after_seq=after, before_seq=before)
            async for event in self._client.events(session.ref, span, page_size=_SPAN):
                heapq.heappush(held, (event.seq, event.pb))
                while held and held[0][0] == following:
                    yield self._counted(heapq.heappop(held)[1])
                    following += 1
            while held:
                yield self._counted(heapq.heappop(held)[1])
            after = before - 1
            self._advance(self.done)

    def _counted(self, event: event_pb2.SessionEvent) -> event_pb2.SessionEvent:
        self.done.events += 1
        return event


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@contextlib.contextmanager
def destination(path: Path | None) -> Iterator[IO[str]]:
    """The target of an export: standard output, or a file that gets its name when it is complete and on disk. Only its owner
    may read the file."""
    if path is None:
        sys.stdout.flush()
        with open(sys.stdout.fileno(), "w", encoding="utf-8", newline="\n", closefd=False) as out:
            yield out
        return
    partial = path.with_name(f"{path.name}.partial")
    partial.unlink(missing_ok=True)  # of an export that was killed
    try:
        with open(partial, "x", encoding="utf-8", newline="\n", opener=_private) as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
