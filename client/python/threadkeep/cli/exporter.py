"""Exports sessions: reads them in log order, page by page, and writes lines of a file."""

from __future__ import annotations

import contextlib
import heapq
import os
import sys
from collections.abc import AsyncIterator, Callable, Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from .. import AsyncClient, AsyncStateHandle, __version__
from ..errors import PermissionDenied, SessionNotFound
from ..filters import event_filter
from ..formats.openai import json_text, message_of
from ..v1 import event_pb2, session_pb2
from ..v1.state_pb2 import StateScope
from .formats.log import end_line, header_line, session_line, state_line
from .window_history import WindowHistory
from .window_lines import WindowLines

_SPAN = 1000  # seqs per request
_SCOPES = {StateScope.STATE_SCOPE_SESSION: "session", StateScope.STATE_SCOPE_USER: "user", StateScope.STATE_SCOPE_APP: "app"}


@dataclass(slots=True)
class Exported:
    """The result of an export."""

    sessions: int = 0
    events: int = 0
    changed: list[str] = field(default_factory=list)


class Exporter:
    """Writes sessions in one of the formats. `shared`: the scopes whose state is written, next to the sessions'."""

    def __init__(
        self,
        client: AsyncClient,
        out: IO[str],
        form: str,
        advance: Callable[[Exported], None],
        *,
        shared: Container[StateScope.ValueType] = (),
    ) -> None:
        self.done = Exported()
        self._shared = shared
        self._owners: set[tuple[str, str]] = set()
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
            self._owners.add((session.ref.app, session.ref.user_id))
            await (self._log(session) if self._form == "threadkeep" else self._messages(session))
            self.done.sessions += 1
            if self.done.events - before != session.last_seq:
                self.done.changed.append(session.ref.session_id)
            self._advance(self.done)
        if self._form == "threadkeep":
            await self._shared_states()
            write(end_line(self.done.sessions, self.done.events))
        return self.done

    async def _log(self, session: session_pb2.Session) -> None:
        """Writes a session: its events by seq, the changes of its window where they happened, and its state."""
        write = self._out.write
        write(session_line(session))
        history = WindowHistory(self._client, session)
        lines = WindowLines(session.ref.session_id, history, await history.deltas())
        async for event in self._events(session):
            for line in await lines.event(event):
                write(line)
        for line in await lines.end():
            write(line)
        await self._state(StateScope.STATE_SCOPE_SESSION, session.ref)

    async def _state(self, scope: StateScope.ValueType, ref: session_pb2.SessionRef) -> None:
        """Writes a state, if it has values and the caller may read it."""
        try:
            state = await AsyncStateHandle(self._client, scope, ref).get()
        except (PermissionDenied, SessionNotFound):  # bound to a user, or deleted while it is read
            return
        if state.texts:
            self._out.write(state_line(_SCOPES[scope], ref, state.version, state.texts))

    async def _shared_states(self) -> None:
        """Writes the states of the users and apps of the sessions."""
        of_apps = {(app, "") for app, _ in self._owners}
        for scope, owners in ((StateScope.STATE_SCOPE_USER, self._owners), (StateScope.STATE_SCOPE_APP, of_apps)):
            for app, user in sorted(owners) if scope in self._shared else ():
                await self._state(scope, session_pb2.SessionRef(app=app, user_id=user))

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
