"""The messages of agents."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from agent_framework import HistoryProvider, Message

from ... import AsyncClient, CreateOptions, event_filter
from ...formats.agent_framework import Item, event_of, items_of, rendered
from ...messages import with_ids
from ...v1.event_pb2 import SessionEvent
from .._versions import of_any_version
from .._writes import Repeats

_PAGE = 1_000


class ThreadkeepHistoryProvider(HistoryProvider):
    """The history of agents: a message is an event of the session with the id of the `AgentSession`.

    client: says the app and the user of sessions. create: how a session is created, which its first messages do, for example
    {"ttl": timedelta(days=30)}; by default it expires as the server says. The other arguments are those of `HistoryProvider`.

    Reads return the active window: what no compaction has archived. A run is one append without a precondition, so runs that
    end at the same time are all stored. Errors of calls are `ThreadkeepError`.
    """

    DEFAULT_SOURCE_ID: ClassVar[str] = "threadkeep"

    def __init__(
        self,
        client: AsyncClient,
        source_id: str = DEFAULT_SOURCE_ID,
        *,
        load_messages: bool = True,
        store_inputs: bool = True,
        store_context_messages: bool = False,
        store_context_from: set[str] | None = None,
        store_outputs: bool = True,
        create: CreateOptions | None = None,
    ) -> None:
        super().__init__(
            source_id,
            load_messages=load_messages,
            store_inputs=store_inputs,
            store_context_messages=store_context_messages,
            store_context_from=store_context_from,
            store_outputs=store_outputs,
        )
        self._client = client
        self._create: CreateOptions = create or {}
        self._repeats = Repeats()

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """Return the messages of a session, oldest first; none of an unknown session, and none without an id.

        Messages of other frameworks are returned as this framework's own. Raises AmbiguousSession.
        """
        if session_id is None:
            return []
        events = self._client.events(session_id, event_filter(view="active"), page_size=_PAGE)
        return [message async for event in events for message in _messages(event.pb)]

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Append messages, all or none; they are on durable storage when it returns. Without a session id, store nothing.

        Messages with which the stored history ends already, in the same order, are left out if one of them has a `message_id`:
        callers may pass a whole transcript. The same messages again after an error are the same events, so nothing is stored
        twice. Raises EventTooLarge, BatchTooLarge.
        """
        if session_id is None or not messages:
            return
        items = [message.to_dict() for message in messages]

        async def send(events: list[SessionEvent]) -> None:
            new = events[await self._stored(session_id, items, {event.event_id for event in events}) :]
            if new:
                await self._client.append(session_id, new, create_if_missing=self._create)

        await self._repeats.append(session_id, with_ids([event_of(item) for item in items]), send)

    async def _stored(self, session_id: str, items: list[Item], own: set[str]) -> int:
        """How many of the items, from the first, the history ends with. Events of this very append, `own`, do not count."""
        if not any(item.get("message_id") for item in items):
            return 0
        page = await self._client.events_page(session_id, event_filter(view="active", exact_last_n=len(items) + len(own)))
        return _overlap([item for event in page.events if event.id not in own for item in items_of(event.pb)], items)


def _messages(event: SessionEvent) -> list[Message]:
    return of_any_version(lambda items: [*map(Message.from_dict, items)], items_of(event), lambda: rendered(event))


def _overlap(stored: list[Item], items: list[Item]) -> int:
    """How many of the items, from the first, the stored ones end with; 0 if none of these has an id of its own."""
    for count in range(min(len(stored), len(items)), 0, -1):
        if [_identity(each) for each in stored[-count:]] == [_identity(each) for each in items[:count]]:
            return count if any(each.get("message_id") for each in items[:count]) else 0
    return 0


def _identity(item: Item) -> str:
    """What makes two messages the same: their id, or else role and contents."""
    named = item.get("message_id")
    return f"id {named}" if named else json.dumps([item.get("role"), item.get("contents")], sort_keys=True)
