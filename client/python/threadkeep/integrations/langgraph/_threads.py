"""The events of a thread's checkpoints: written, read in the order of their commits, copied and erased."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..._async.client import AsyncClient
from ..._convert import CreateOptions, SessionLike
from ...errors import EventNotFound, SessionNotFound
from ...filters import Authors, Filter, event_filter
from ...formats.langgraph import (
    AUTHOR,
    CHECKPOINT,
    WRITE,
    Record,
    Write,
    branch_of,
    checkpoint_event_id,
    checkpoint_of,
    event_of_checkpoint,
    event_of_write,
    write_event_id,
    write_of,
)
from ...v1.event_pb2 import SessionEvent
from ...v1.event_service_pb2 import ListUserEventsResponse
from ...v1.session_pb2 import SessionRef
from ...values.pages import EventPage
from .._bridge import Calls, chunks
from ._known import Seqs, Writes
from ._messages import Changed, is_own

_FIRST_PAGE = 8
"""Events of the first page of a read: after a run, the newest checkpoint is among the newest events."""
_PAGE = 100
_MOST_EVENTS = 500
"""Events of one append, of which the server takes 1,000."""
_MOST_ERASED = 1000
_MOST_RUNS = 64


class Threads:
    """Threads on a server. A thread is the session with its id."""

    def __init__(self, calls: Calls, seqs: Seqs, create: CreateOptions | None, user_id: str | None) -> None:
        self._calls = calls
        self._seqs = seqs
        self._create = create or True
        self._user_id = user_id

    def _session(self, client: AsyncClient, thread_id: str) -> SessionLike:
        """The session of a thread: of the client's user, or of the one that is given."""
        if self._user_id is None:
            return thread_id
        return SessionRef(app=client.app, user_id=self._user_id, session_id=thread_id)

    async def put(self, thread_id: str, record: Record, about: dict[str, Any], messages: Changed) -> None:
        """Stores a checkpoint with the new messages of the conversation, all or none: a crash cannot part them.

        A message whose id is stored stays as it is. If there are edited messages, they replace the stored ones in a commit of
        their own with the checkpoint.
        """
        floor = self._seqs.floor(thread_id, record.checkpoint_id)
        checkpoint = event_of_checkpoint(replace(record, floor=floor), about)
        if not messages.edited:
            await self._append(thread_id, [*messages.added, checkpoint], "ignore")
            return
        await self._append(thread_id, messages.added, "ignore")
        await self._append(thread_id, [*messages.edited, checkpoint], "replace")

    async def put_writes(self, thread_id: str, checkpoint_id: str, writes: Iterable[Write]) -> None:
        """Stores writes of a task. Of an ordinary write the first one stays; a special one replaces the one before it."""
        self._seqs.writing(thread_id, checkpoint_id)
        ordinary: dict[str, SessionEvent] = {}
        special: dict[str, SessionEvent] = {}
        for write in writes:
            kind = special if write.index < 0 else ordinary
            kind[write_event_id(write)] = event_of_write(write)
        await self._append(thread_id, list(ordinary.values()), "ignore")
        await self._append(thread_id, list(special.values()), "replace")

    async def _append(self, thread_id: str, events: Sequence[SessionEvent], if_exists: str) -> None:
        """Appends events, up to 500 in one commit."""
        for some in chunks(events, _MOST_EVENTS):
            await self._append_some(thread_id, some, if_exists)

    async def _append_some(self, thread_id: str, events: Sequence[SessionEvent], if_exists: str) -> None:
        appended = await self._calls(
            lambda client: client.append(
                self._session(client, thread_id), *events, create_if_missing=self._create, if_exists=if_exists
            )
        )
        self._seqs.saw(thread_id, appended.last_seq)

    async def checkpoint(self, thread_id: str, namespace: str, checkpoint_id: str) -> Record | None:
        """The checkpoint with an id, with its writes."""
        stored = await self._stored(thread_id, namespace, checkpoint_id)
        record = checkpoint_of(stored) if stored is not None else None
        if record is None:
            return None
        writes = Writes()
        wanted = event_filter(
            branch=branch_of(namespace),
            branch_match="exact",
            after_seq=record.floor,
            native_formats=[WRITE],
            metadata={"checkpoint_id": checkpoint_id},
        )
        async for event in self._events(thread_id, wanted, order="asc", first=_PAGE):
            writes.add(event)
        return record.read_from(thread_id, writes.take(record))

    async def _stored(self, thread_id: str, namespace: str, checkpoint_id: str) -> SessionEvent | None:
        try:
            event_id = checkpoint_event_id(namespace, checkpoint_id)
            event = await self._calls(lambda client: client.get_event(self._session(client, thread_id), event_id))
        except (SessionNotFound, EventNotFound):
            return None
        return event.pb

    async def checkpoints(
        self, thread_id: str, namespace: str | None, *, before: str = "", first: int = _PAGE
    ) -> AsyncIterator[Record]:
        """The checkpoints of a namespace, or of all, with their writes: the last stored first.

        `before`: only checkpoints that were stored before the one with this id, or, if there is none, that have lower ids.
        `first`: events of the first page.
        """
        start = await self._stored(thread_id, namespace or "", before) if before else None
        writes = Writes()
        if start is not None:
            later = _of_branch(namespace, after_seq=start.seq, formats=[WRITE])
            async for event in self._events(thread_id, later, order="asc", first=_PAGE):
                writes.add(event)
        held: list[Record] = []
        wanted = _of_branch(namespace, before_seq=start.seq if start is not None else None, formats=[CHECKPOINT, WRITE])
        seen: set[str] = set()
        async for event in self._events(thread_id, wanted, order="desc", first=first):
            while held and event.seq <= held[0].floor:
                yield held[0].read_from(thread_id, writes.take(held.pop(0)))
            if event.event_id in seen:
                continue  # an earlier version of an event that was replaced
            seen.add(event.event_id)
            writes.add(event)
            record = checkpoint_of(event)
            if record is not None and (start is not None or not before or record.checkpoint_id < before):
                held.append(record)
        for record in held:
            yield record.read_from(thread_id, writes.take(record))

    async def latest(self, thread_id: str, namespace: str) -> Record | None:
        """The checkpoint that was stored last, with its writes."""
        async for record in self.checkpoints(thread_id, namespace, first=_FIRST_PAGE):
            return record
        return None

    async def _events(self, thread_id: str, wanted: Filter, *, order: str, first: int) -> AsyncIterator[SessionEvent]:
        """The events that match, erased ones left out. The pages after the first are larger."""
        token, size, more = "", first, True
        while more:
            page = await self._page(thread_id, wanted, order, size, token)
            self._seqs.saw(thread_id, page.last_seq)
            for event in page.pb.events:
                if not event.erased:
                    yield event
            token, size = page.next_page_token, _PAGE
            more = bool(token)

    async def _page(self, thread_id: str, wanted: Filter, order: str, size: int, token: str) -> EventPage:
        return await self._calls(
            lambda client: client.events_page(
                self._session(client, thread_id), wanted, order=order, page_size=size, page_token=token
            )
        )

    async def of_user(self) -> list[str]:
        """The ids of all threads of the client's user that have checkpoints."""
        wanted = event_filter(native_formats=[CHECKPOINT])
        found = await self._user_events(wanted)
        return list(dict.fromkeys(thread_id for thread_id, _ in found))

    async def _user_events(self, wanted: Filter) -> list[tuple[str, SessionEvent]]:
        """The events of the client's user that match, with their threads."""
        found: list[tuple[str, SessionEvent]] = []
        token, more = "", True
        while more:
            page = await self._user_page(wanted, token)
            found += [(each.session.session_id, each.event) for each in page.events]
            token = page.next_page_token
            more = bool(token)
        return found

    async def _user_page(self, wanted: Filter, token: str) -> ListUserEventsResponse:
        return await self._calls(lambda client: client.user_events_page(user_id=self._user_id, filter=wanted, page_token=token))

    async def delete(self, thread_id: str) -> None:
        """Deletes a thread: the session, with the conversation in it."""
        await self._calls(lambda client: client.delete_session(self._session(client, thread_id)))

    async def copy(self, source: str, target: str) -> None:
        """Makes a thread that is a copy of another one. Raises SessionNotFound, SessionAlreadyExists."""
        await self._calls(lambda client: client.fork(self._session(client, source), target))

    async def erase(self, thread_id: str, records: Iterable[Record]) -> None:
        """Erases checkpoints with their writes."""
        ids: list[str] = []
        for record in records:
            ids.append(checkpoint_event_id(record.namespace, record.checkpoint_id))
            ids += map(write_event_id, record.writes)
        await self._erase(thread_id, ids)

    async def _erase(self, thread_id: str, event_ids: Sequence[str]) -> None:
        for some in chunks(event_ids, _MOST_ERASED):
            await self._erase_some(thread_id, some)

    async def _erase_some(self, thread_id: str, event_ids: Sequence[str]) -> None:
        await self._calls(lambda client: client.erase_events(self._session(client, thread_id), event_ids))

    async def erase_runs(self, run_ids: Sequence[str]) -> None:
        """Erases what runs stored: checkpoints with their writes, and messages."""
        for some in chunks(run_ids, _MOST_RUNS):
            found = await self._user_events(event_filter(invocation_ids=some))
            of_threads: defaultdict[str, list[SessionEvent]] = defaultdict(list)
            for thread_id, event in found:
                if not event.erased and (event.author == AUTHOR or is_own(event)):
                    of_threads[thread_id].append(event)
            for thread_id, events in of_threads.items():
                gone = {(each.namespace, each.checkpoint_id) for each in map(checkpoint_of, events) if each is not None}
                ids = [event.event_id for event in events]
                async for event in self._events(thread_id, event_filter(native_formats=[WRITE]), order="asc", first=_PAGE):
                    write = write_of(event)
                    if write is not None and (write.namespace, write.checkpoint_id) in gone:
                        ids.append(event.event_id)
                await self._erase(thread_id, list(dict.fromkeys(ids)))

    async def conversation(self, thread_id: str) -> list[SessionEvent]:
        """The messages of the window, of all writers, without instructions to models and summaries."""
        roles = ("user", "assistant", "tool")
        wanted = event_filter(view="active", roles=roles, exclude_synthetic=True, authors=Authors.exclude([AUTHOR]))
        return [event async for event in self._events(thread_id, wanted, order="asc", first=_PAGE)]


def _of_branch(
    namespace: str | None, *, after_seq: int | None = None, before_seq: int | None = None, formats: Collection[str] = ()
) -> Filter:
    """Selects events of a namespace; without one those of all namespaces, by their formats."""
    if namespace is None:
        return event_filter(after_seq=after_seq, before_seq=before_seq, native_formats=formats)
    branch = branch_of(namespace)
    kinds = formats if WRITE in formats and CHECKPOINT not in formats else ()
    return event_filter(branch=branch, branch_match="exact", after_seq=after_seq, before_seq=before_seq, native_formats=kinds)
