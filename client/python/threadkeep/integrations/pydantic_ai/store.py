"""The store of conversations."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TypeVar

from pydantic_ai.conversation_store import ConversationConflict, ConversationEntry, ConversationRecord, ConversationStore

from ... import AsyncClient, CreateOptions, LogVersion, PatchFields, ThreadkeepError, errors, event_filter, new_event_id
from ...v1.event_pb2 import SessionEvent
from ...v1.session_pb2 import SessionRef
from .history import (
    Line,
    ends_window,
    entries_of,
    entry_filter,
    entry_of,
    events_of_entry,
    head_of,
    is_of_others,
    line_to,
    mark_of,
    returning,
    stored_again,
    with_parts,
)
from .records import DELETING, KEY, Place, is_overdue, label_of, labels_of, place_of, record_text, stored_record

_ATTEMPTS = 5
"""Attempts of a write while others change the session and not the conversation, as a compaction does."""
_PAGE = 1000
_REMEMBERED = 10_000
T = TypeVar("T")


class ThreadkeepConversationStore(ConversationStore):
    """Conversations in the sessions of one user: the session id is the conversation id.

    client: address, token, app and user. app, user_id: by default the client's; the stores of many users can share one client.

    An entry is an event with the id of the entry, which every framework reads. The record is a value of the session's state,
    committed with the entries. A write compares the revision, and its append expects the log version that was read with it: a
    conflict leaves neither entries nor a record behind. The window of the session is the current history; what a branch leaves
    is archived. A fork is a session with the shared entries under their ids, so it outlives the conversation it was made of.

    `delete` deletes the session with all entries, also those of its branches. What others appended to a session is part of its
    history, and a conversation of another framework is loaded and continued in the same way.
    """

    def __init__(self, client: AsyncClient, *, app: str | None = None, user_id: str | None = None) -> None:
        self._client = client
        self._app = client.app if app is None else app
        self._user_id = client.user_id if user_id is None else user_id
        self._places: OrderedDict[str, Place] = OrderedDict()  # as read last, by conversation
        self._homes: OrderedDict[str, str] = OrderedDict()  # the conversations of entries

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """The record of a conversation; None if there is none, or if it is being deleted."""
        place = await self._place(conversation_id)
        _remember(self._places, conversation_id, place)
        if place.record is not None:
            for entry_id in filter(None, (*place.record.branches, place.record.head_id)):
                _remember(self._homes, entry_id, conversation_id)
        return place.record

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        """The records as they were saved, newest first. Conversations that pydantic-ai never saved have none."""
        found: list[ConversationRecord] = []
        token, more = "", limit != 0
        while more:
            page = await self._client.sessions_page(
                app=self._app,
                user_id=self._user_id,
                labels=labels_of(scope),
                order="updated_last_first",
                page_size=min(_PAGE, limit or _PAGE),
                page_token=token,
                with_state=True,
            )
            for session, state in zip(page.sessions, page.states, strict=True):
                record = stored_record(await self._value(session.ref) if state.more else state.values.get(KEY))
                if record is None or record.conversation_id != session.ref.session_id:
                    continue
                if scope is None or record.scope == scope:
                    found.append(record)
            token = page.next_page_token
            more = bool(token) and (limit is None or len(found) < limit)
        return sorted(found, key=lambda record: record.updated_at, reverse=True)[:limit]

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Store a record and its new entries in one commit. Raises ConversationConflict, and stores nothing, if the stored
        revision is not the expected one, or if the history names an entry that is not stored; BatchTooLarge for more entries
        than the server's `max_batch_events`, 1,000."""
        place = self._places.pop(record.conversation_id, None)
        for _ in range(_ATTEMPTS):
            if place is None or place.revision != expected_revision:
                place = await self._place(record.conversation_id)
            if place.is_deleting or place.revision != expected_revision:
                break
            try:
                await self._write(place, record, new_entries)
            except (errors.VersionMismatch, errors.SessionAlreadyExists, errors.SessionNotFound):
                place = None
            else:
                return
        raise ConversationConflict(record.conversation_id)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Delete the session of a conversation. Raises ConversationConflict if it has another revision, or none."""
        for _ in range(_ATTEMPTS):
            place = await self._place(conversation_id)
            if place.is_deleting or place.revision != expected_revision:
                break
            try:  # a claim: no write of this revision succeeds from here on
                await self._append(place, conversation_id, [mark_of(new_event_id(), place.head_id)], DELETING)
            except (errors.VersionMismatch, errors.SessionNotFound):
                continue
            await self._client.delete_session(self._ref(conversation_id))
            return
        raise ConversationConflict(conversation_id)

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """The entry. Raises LookupError for an unknown one. An entry of a conversation that this store has not read is searched
        in all of the user's."""
        home = self._homes.get(entry_id)
        if home is not None:
            try:
                entry = entry_of((await self._client.get_event(self._ref(home), entry_id)).pb)
            except (errors.EventNotFound, errors.SessionNotFound):
                entry = None
            if entry is not None:
                return entry
        return (await self.read_history(entry_id, limit=1))[-1]

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        """The entries up to `head_id`, or the last `limit` of them: one call if they fit into a response. Where the server
        compacted the session, its summary takes the place of what it archived. Raises LookupError for an unknown entry."""
        if head_id is None or limit == 0:
            return []
        home = self._homes.pop(head_id, None) or await self._search(head_id)
        found = await self._line(home, head_id, limit)
        if found is None:  # the conversation is deleted, or an entry was read by the name of a fork that is
            home = await self._search(head_id)
            found = await self._line(home, head_id, limit)
        if found is None:
            raise LookupError(f"entry {head_id!r} is not in the store")
        entries = entries_of(*found)[-limit if limit is not None else 0 :]
        for entry in entries:
            _remember(self._homes, entry.id, home)
        return entries

    def _ref(self, conversation_id: str) -> SessionRef:
        return SessionRef(app=self._app, user_id=self._user_id, session_id=conversation_id)

    async def _place(self, conversation_id: str) -> Place:
        """What the server has of a conversation now. Finishes a deletion that was interrupted."""
        ref = self._ref(conversation_id)
        newest = event_filter(view="active", exact_last_n=1)
        try:
            loaded = await self._client.load_session(ref, newest, state_scopes=["session"])
        except errors.SessionNotFound:
            return Place()
        text = loaded.state.texts.get(KEY) if loaded.state.complete else await self._value(ref)
        if text == DELETING and is_overdue(loaded.session):
            await self._client.delete_session(ref)
            return Place()
        window = [event.pb for event in loaded.events]
        if window and not ends_window(window[-1]):
            window = [event.pb async for event in self._client.events(ref, event_filter(view="active"), page_size=_PAGE)]
        return place_of(loaded.session, text, head_of(window))

    async def _value(self, ref: SessionRef) -> str | None:
        """The record of a session whose state is too large for the answer of another call."""
        return (await self._client.session(ref).state().get([KEY])).texts.get(KEY)

    async def _write(self, place: Place, record: ConversationRecord, new_entries: Sequence[ConversationEntry]) -> None:
        """One write over what was read. Raises VersionMismatch if the session has changed since."""
        conversation_id = record.conversation_id
        after = new_entries[0].parent_id if new_entries else record.head_id
        known = {entry.id for entry in new_entries} | {None, place.head_id}
        if after not in known and place.record is None:
            place = await self._fork(record, after or "")
            known |= {after, place.head_id}
        for entry_id in {after, record.head_id} - known:
            await self._check_stored(conversation_id, entry_id or "")
        mark = mark_of(record.revision, record.head_id)
        events = [event for entry in new_entries for event in events_of_entry(entry)] or [mark]
        log_version = await self._append(place, conversation_id, events, record_text(record), record.scope)
        if new_entries and after == place.head_id:
            return
        try:
            await self._tidy(record, log_version)
        except ThreadkeepError:  # the write is committed; only other frameworks see what is left in the window
            return

    async def _append(
        self, place: Place, conversation_id: str, events: Sequence[SessionEvent], text: str, scope: str | None = None
    ) -> int:
        """The commit of a write: events and the record, if the log is at the version that was read. Returns its version."""
        ref = self._ref(conversation_id)
        creation: CreateOptions | bool = False if place.exists else {"labels": labels_of(scope)}
        expect, state = LogVersion(place.log_version), PatchFields(set_json={KEY: text})
        appended = await self._client.append(ref, events, expect=expect, create_if_missing=creation, state=state)
        if place.exists and scope is not None and place.scope != label_of(scope):
            await self._client.update_session(ref, set_labels=labels_of(scope))
        return appended.log_version

    async def _fork(self, record: ConversationRecord, after: str) -> Place:
        """The session of a new conversation that begins with entries of another one."""
        try:
            source = record.forked_from or self._homes.get(after) or await self._search(after)
            await self._client.fork(self._ref(source), record.conversation_id, at_event=after, operation_id=record.revision)
        except (errors.SessionNotFound, errors.EventNotFound, LookupError):
            raise ConversationConflict(record.conversation_id) from None
        return await self._place(record.conversation_id)

    async def _check_stored(self, conversation_id: str, entry_id: str) -> None:
        try:
            await self._client.get_event(self._ref(conversation_id), entry_id)
        except errors.EventNotFound:
            raise ConversationConflict(conversation_id) from None

    async def _tidy(self, record: ConversationRecord, log_version: int) -> None:
        """Makes the window the history, for other frameworks: archives what it left, and brings back what it returned to."""
        ref, head_id = self._ref(record.conversation_id), record.head_id
        window = [event.pb async for event in self._client.events(ref, event_filter(view="active"), page_size=_PAGE)]
        events, line = window, line_to(window, head_id, whole=True) if head_id is not None else Line((), True)
        if line is None:
            events = [event.pb async for event in self._client.events(ref, page_size=_PAGE)]
            line = line_to(events, head_id or "", whole=True) or Line((), True)
        active = {event.event_id for event in window}
        history = with_parts(line, events)
        returned = [returning(event, record.revision) for event in history if event.event_id not in active]
        if returned:
            await self._client.append(ref, returned, if_exists="replace", expect=LogVersion(log_version))
        kept = {event.event_id for event in history}
        window += returned
        stays = [event.event_id in kept or is_of_others(event) for event in window]
        first = stays.index(False) if False in stays else len(window)
        if 0 < len(window) - first <= _PAGE:
            again = [stored_again(event) for event, stay in zip(window[first:], stays[first:], strict=True) if stay]
            await self._client.replace_suffix(ref, [event.event_id for event in window[first:]], *again)

    async def _line(self, conversation_id: str, head_id: str, limit: int | None) -> tuple[Line, Sequence[SessionEvent]] | None:
        """The history up to an entry, and the events it is from: the window, or the log if a branch left the entry."""
        ref = self._ref(conversation_id)
        wanted, size = (None, _PAGE) if limit is None else (limit + 1, min(_PAGE, 2 * limit + 3))
        events: list[SessionEvent] = []
        token, more = "", True
        while more:
            page = await self._client.events_page(
                ref, event_filter(view="active"), order="desc", page_size=size, page_token=token
            )
            events[:0] = [event.pb for event in reversed(page.events)]
            token = page.next_page_token
            more = bool(token)
            line = line_to(events, head_id, whole=not more, limit=wanted) if limit is not None or not more else None
            if line is not None and line.is_enough:
                return line, events
        events = [event.pb async for event in self._client.events(ref, page_size=_PAGE)]
        line = line_to(events, head_id, whole=True, limit=wanted)
        return (line, events) if line is not None else None

    async def _search(self, entry_id: str) -> str:
        """The conversation of an entry. Raises LookupError."""
        wanted = event_filter(metadata=entry_filter(entry_id))
        async for found in self._client.user_events(app=self._app, user_id=self._user_id, filter=wanted):
            return found.session.session_id
        raise LookupError(f"entry {entry_id!r} is not in the store")


def _remember(known: OrderedDict[str, T], key: str, value: T) -> None:
    known[key] = value
    known.move_to_end(key)
    if len(known) > _REMEMBERED:
        known.popitem(last=False)
