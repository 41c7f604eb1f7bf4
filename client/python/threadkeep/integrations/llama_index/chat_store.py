"""The messages of `Memory`."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus

from ... import AsyncClient, CreateOptions, event_filter
from ...errors import SessionNotFound, VersionMismatch
from ...formats.llama_index import event_of, items_of, rendered
from ...messages import with_ids
from ...v1.event_pb2 import SessionEvent
from ...v1.session_pb2 import Session
from ...values.expect import LogVersion
from .._versions import of_any_version
from .._writes import Repeats, batches

_ATTEMPTS = 20
_MOST = 1_000
"""Events of a page, of an erasure, and of the end of a window that is compared and replaced."""
_STRATEGY = "llama_index"
ACTIVE, ARCHIVED = MessageStatus.ACTIVE, MessageStatus.ARCHIVED
T = TypeVar("T")
Take = Callable[[list[str], Session], Awaitable[None]]
"""Takes events, by their ids, out of a session that was read."""


class ThreadkeepChatStore(AsyncDBChatStore):
    """The store of `Memory`: a key is a session, a message is an event, and archived messages are archived events.

    client: says the app and the user of sessions. create: how a session is created, which its first message does, for example
    {"ttl": timedelta(days=30)}; by default it expires as the server says.

    `ACTIVE` messages are those of the session's window, which policies of the server compact too; `ARCHIVED` ones stay in the
    log, where they are found by search. Archiving needs the role compactor. What is deleted is erased, which needs the role
    admin. Errors of calls are `ThreadkeepError`.
    """

    _client: AsyncClient = PrivateAttr()
    _create: CreateOptions = PrivateAttr()
    _repeats: Repeats = PrivateAttr(default_factory=Repeats)

    def __init__(self, client: AsyncClient, *, create: CreateOptions | None = None) -> None:
        super().__init__()
        self._client = client
        self._create = create or {}

    @classmethod
    def class_name(cls) -> str:
        """The name of the class for the framework."""
        return "ThreadkeepChatStore"

    async def get_messages(
        self, key: str, status: MessageStatus | None = ACTIVE, limit: int | None = None, offset: int | None = None
    ) -> list[ChatMessage]:
        """Return the messages of a key, oldest first: at most `limit` after the first `offset`. `status` None: of any."""
        start = offset or 0
        end = None if limit is None else start + limit
        found: list[ChatMessage] = []
        async for event in self._events(key, status, page_size=min(end or _MOST, _MOST)):
            found += _messages(event)
            if end is not None and len(found) >= end:
                break
        return found[start:end]

    async def count_messages(self, key: str, status: MessageStatus | None = ACTIVE) -> int:
        """Return the number of messages that `get_messages` returns."""
        return sum([len(items_of(event)) async for event in self._events(key, status)])

    async def add_message(self, key: str, message: ChatMessage, status: MessageStatus = ACTIVE) -> None:
        """Append a message; it is on durable storage when it returns. See `add_messages`."""
        await self.add_messages(key, [message], status)

    async def add_messages(self, key: str, messages: list[ChatMessage], status: MessageStatus = ACTIVE) -> None:
        """Append messages, up to 1,000 (and 16 MiB) all or none. The same messages again after an error are the same events, so
        nothing is stored twice. Raises EventTooLarge."""
        if messages:
            await self._repeats.append(key, _new(messages), lambda events: self._add(key, events, status))

    async def set_messages(self, key: str, messages: list[ChatMessage], status: MessageStatus = ACTIVE) -> None:
        """Replace all messages of a key, of any status: of each the first 1,000 in one step, the active ones last. Raises
        EventTooLarge; PermissionDenied if there are any."""
        self._repeats.forget(key)
        events = _new(messages)
        first, *more = [list(batch) for batch in batches(events)] or [[]]

        async def replace() -> None:
            active = [event.event_id async for event in self._events(key, ACTIVE)]
            await self._erase(key, active[:-_MOST])
            if active or first:
                await self._client.replace_suffix(key, active[-_MOST:], first, erase=bool(active))

        await self.delete_messages(key, ARCHIVED)
        try:
            await _until_settled(replace)
        except SessionNotFound:
            more = [first, *more]
        for batch in more:
            await self._add(key, batch, ACTIVE)
        if status == ARCHIVED:
            await self._archive(key, [event.event_id for event in events])

    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Erase the message whose event has the seq `idx`, the place of the message in the log from 1, and return it; None if
        there is none. Raises PermissionDenied."""
        if idx < 1:
            return None
        page = await self._client.events_page(key, event_filter(after_seq=idx - 1, before_seq=idx + 1))
        for event in page.events:
            messages = [] if event.pb.erased else _messages(event.pb)
            if messages and await self._erase(key, [event.id]):
                return messages[0]
        return None

    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        """Erase the messages of a status, or delete the session for None. Raises PermissionDenied."""
        self._repeats.forget(key)
        if status is None:
            await self._client.delete_session(key)
            return
        await self._erase(key, [event.event_id async for event in self._events(key, status)])

    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Erase the n oldest active messages and return them: each is returned to one caller. Raises PermissionDenied."""

        async def erase(ids: list[str], read: Session) -> None:
            await self._erase(key, ids, LogVersion(read.log_version))

        return await self._take_oldest(key, n, erase)

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Archive the n oldest active messages and return them: each is returned to one caller. Raises PermissionDenied, and
        BrokenToolPair if that would part a tool call from its result."""

        async def archive(ids: list[str], read: Session) -> None:
            await self._compact(key, ids, read.window_version)

        return await self._take_oldest(key, n, archive)

    async def get_keys(self) -> list[str]:
        """Return the ids of the sessions of the client's user in its app that ever had events, the newest first."""
        return [session.ref.session_id async for session in self._client.sessions() if session.last_seq]

    async def _events(self, key: str, status: MessageStatus | None, *, page_size: int = _MOST) -> AsyncIterator[SessionEvent]:
        """The events of the messages of a status, oldest first."""
        view = "active" if status == ACTIVE else "history"
        async for event in self._client.events(key, event_filter(view=view), page_size=page_size):
            if not event.pb.erased and (status != ARCHIVED or event.pb.archived):
                yield event.pb

    async def _add(self, key: str, events: list[SessionEvent], status: MessageStatus) -> None:
        for batch in batches(events):
            await self._client.append(key, batch, create_if_missing=self._create)
        if status == ARCHIVED:
            await self._archive(key, [event.event_id for event in events])

    async def _archive(self, key: str, ids: list[str]) -> None:
        async def archive() -> None:
            window = (await self._client.get_session(key)).window_version
            await self._compact(key, ids, window)

        if ids:
            await _until_settled(archive)

    async def _compact(self, key: str, ids: list[str], window: int) -> None:
        await self._client.apply_compaction(key, archive=ids, expected_window_version=window, strategy=_STRATEGY)

    async def _erase(self, key: str, ids: list[str], expect: LogVersion | None = None) -> int:
        """Erases events, and returns how many of them had a content. `expect`: the log that was read."""
        erased = 0
        for start in range(0, len(ids), _MOST):
            some, operation = ids[start : start + _MOST], str(uuid.uuid4())
            done = await self._client.erase_events(key, some, expect=expect, operation_id=operation)
            expect = expect and LogVersion(done.log_version)
            erased += done.erased
        return erased

    async def _take_oldest(self, key: str, n: int, take: Take) -> list[ChatMessage]:
        """Takes the n oldest active messages; those of one event together, so it may be fewer."""

        async def attempt() -> list[ChatMessage]:
            try:
                session = await self._client.get_session(key)  # before the events: what changes while they are read is noticed
            except SessionNotFound:
                return []
            ids: list[str] = []
            messages: list[ChatMessage] = []
            async for event in self._events(key, ACTIVE, page_size=min(n, _MOST)):
                found = _messages(event)
                if len(messages) + len(found) > n:
                    break
                ids.append(event.event_id)
                messages += found
            if ids:
                await take(ids, session)
            return messages

        return await _until_settled(attempt) if n > 0 else []


def _new(messages: Sequence[ChatMessage]) -> list[SessionEvent]:
    return with_ids([event_of(message.model_dump(mode="json")) for message in messages])


def _messages(event: SessionEvent) -> list[ChatMessage]:
    return of_any_version(lambda items: [*map(ChatMessage.model_validate, items)], items_of(event), lambda: rendered(event))


async def _until_settled(attempt: Callable[[], Awaitable[T]]) -> T:
    """Makes a change, and again while others change the session after its read. In the end raises VersionMismatch."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return await attempt()
        except VersionMismatch:
            continue
    return await attempt()
