"""Session stores of the Claude Agent SDK, kept by a server of Threadkeep: `pip install "threadkeep[claude-agent]"`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ._versions import require

require("claude-agent-sdk", ">=0.2.180,<0.3", extra="claude-agent")

from claude_agent_sdk import (  # noqa: E402
    SessionKey,
    SessionListSubkeysKey,
    SessionStore,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
    fold_session_summary,
)

from .. import (  # noqa: E402
    AppendEventsResponse,
    AsyncClient,
    AsyncSessionHandle,
    CreateOptions,
    LogVersion,
    Session,
    event_filter,
    new_event_id,
)
from ..errors import SessionNotFound, VersionMismatch  # noqa: E402
from ..formats import claude_transcript as transcript  # noqa: E402
from ..v1.event_pb2 import SessionEvent  # noqa: E402
from ..v1.session_pb2 import SessionRef  # noqa: E402
from ..values.state import State, state_of  # noqa: E402
from ._writes import Repeats, batches, patiently, settled  # noqa: E402

__all__ = ["ThreadkeepSessionStore"]

_SUMMARY = "claude_agent.summary"
"""State of a session: the summary that the SDK folds of the main transcript."""
_NO_MAIN = "claude_agent.no_main"
"""State of a session of which only subagents' transcripts are stored yet."""
_DELETED = "claude_agent.deleted/"
"""State of a session, with a branch: a subagent's transcript that was deleted."""
_MOST_REMEMBERED = 1_000
_MOST_TRIES = 100


@dataclass(slots=True)
class _Seen:
    """What an append left: the summary of the main transcript, and the log version that it is of. `answers`: ids of the model's
    answers whose usage is stored, the newest last."""

    summary: dict[str, Any] | None = None
    log_version: int = 0
    answers: tuple[str, ...] = ()


class ThreadkeepSessionStore(SessionStore):
    """A session store of the Claude Agent SDK, with all its optional methods: `ClaudeAgentOptions(session_store=...)`.

    client: says the user of the sessions. A project key is an app, a subpath a branch, an entry an event with the entry's uuid.
    create: how sessions are created, for example {"ttl": timedelta(days=30)}. erase: the content of a subagent's transcript
    that is deleted is erased (role admin); by default it is archived until its session is deleted. patience: for how many
    seconds an append waits for a server that is away; the SDK sends a batch three times, then drops it.

    Errors of calls are `ThreadkeepError`.
    """

    def __init__(
        self, client: AsyncClient, *, create: CreateOptions | None = None, erase: bool = False, patience: float = 10.0
    ) -> None:
        self._client = client
        self._create: CreateOptions = create or {}
        self._erase = erase
        self._patience = patience
        self._repeats = Repeats()
        self._seen: OrderedDict[tuple[str, str], _Seen] = OrderedDict()

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Append entries in order; they are on durable storage when it returns. An entry whose uuid is stored stays as it was.

        The same entries again after an error are the same events, those without a uuid too. Up to 1,000 entries are stored
        atomically. Also updates the summary that `list_session_summaries` returns, by compare-and-swap.
        """
        if not entries:
            return
        branch = _branch(key)
        events = self._events(key, entries, branch)

        async def send(events: list[SessionEvent]) -> None:
            first, *rest = batches(events)
            if branch:
                await self._append_subpath(key, first, branch)
            else:
                await self._append_main(key, first, entries)
            for batch in rest:
                self._moved(key, await self._handle(key).append(batch, if_exists="ignore"))

        async def wait(events: list[SessionEvent]) -> None:
            await patiently(self._patience, lambda: send(events))

        await settled(self._repeats.append("/".join((*_name(key), branch)), events, wait))
        self._remember(key).answers = (*self._remember(key).answers, *filter(None, map(_answer, entries)))[-100:]

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return all entries, as they were appended; None if there are none. Events of other frameworks are rendered."""
        active = event_filter(branch=_branch(key), branch_match="exact", view="active")
        events = [event.pb async for event in self._handle(key).events(active, page_size=1_000)]
        return cast("list[SessionStoreEntry]", transcript.lines_of(events, key["session_id"])) or None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Return the sessions of a project, the newest first, without those of which only subagents are stored."""
        found = self._sessions(project_key)
        return [{"session_id": s.ref.session_id, "mtime": _mtime(s)} async for s, state in found if _NO_MAIN not in state]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Return the summaries of a project's sessions. Sessions of other frameworks have none: the SDK loads those."""
        return [
            {"session_id": session.ref.session_id, "mtime": _mtime(session), "data": state[_SUMMARY]}
            async for session, state in self._sessions(project_key)
            if _SUMMARY in state
        ]

    async def delete(self, key: SessionKey) -> None:
        """Delete a session with its subagents, or with a subpath one subagent's transcript. Of an unknown key: nothing."""
        handle, branch = self._handle(key), _branch(key)
        self._seen.pop(_name(key), None)
        self._repeats.forget("/".join((*_name(key), branch)))
        if not branch:
            await settled(handle.delete())
            return
        try:
            while (await settled(handle.pop(1_000, branch=branch, erase=self._erase))).events:
                pass
            await settled(handle.state().patch({_DELETED + branch: True}))
        except SessionNotFound:
            return

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Return the subpaths of a session. The branches of other frameworks are subpaths too."""
        handle = self._handle(key)
        try:
            branches = [branch.name async for branch in handle.branches() if branch.name]
            deleted = await handle.state().get(key_prefix=_DELETED)
        except SessionNotFound:
            return []
        return [transcript.subpath_of(branch) for branch in branches if _DELETED + branch not in deleted]

    def _handle(self, key: Mapping[str, Any]) -> AsyncSessionHandle:
        app, session_id = key["project_key"], key["session_id"]
        return self._client.session(SessionRef(app=app, user_id=self._client.user_id, session_id=session_id))

    def _events(self, key: SessionKey, entries: Sequence[SessionStoreEntry], branch: str) -> list[SessionEvent]:
        """The events of entries, each id once. The lines of one answer repeat its usage: the last one of them here has it."""
        lasts = {answer: n for n, entry in enumerate(entries) if (answer := _answer(entry))}
        stored = self._remember(key).answers
        events: dict[str, SessionEvent] = {}
        for n, entry in enumerate(entries):
            answer = _answer(entry)
            counted = not answer or (lasts[answer] == n and answer not in stored)
            event_id = transcript.event_id_of(entry, branch) or new_event_id()
            event = transcript.event_of(entry, event_id, branch=branch, counted=counted)
            events.setdefault(event.event_id, event)
        return list(events.values())

    async def _append_subpath(self, key: SessionKey, events: Sequence[SessionEvent], branch: str) -> None:
        create: CreateOptions = {**self._create, "state": {**(self._create.get("state") or {}), _NO_MAIN: True}}
        again = _DELETED + branch
        done = await self._handle(key).append(events, create_if_missing=create, if_exists="ignore", state={"remove": [again]})
        self._moved(key, done)

    async def _append_main(self, key: SessionKey, events: Sequence[SessionEvent], entries: list[SessionStoreEntry]) -> None:
        """Appends with the summary of all that is stored then: the log version says whether another writer came between."""
        for left in reversed(range(_MOST_TRIES)):
            seen = self._remember(key)
            if not seen.log_version:
                await self._load_summary(key, seen)
            before = None if seen.summary is None else _summary(key, seen.summary)
            summary = fold_session_summary(before, key, entries)["data"]
            try:
                done = await self._handle(key).append(
                    events,
                    create_if_missing=self._create or True,
                    expect=LogVersion(seen.log_version),
                    if_exists="ignore",
                    state={"set": {_SUMMARY: summary}, "remove": [_NO_MAIN]},
                )
            except VersionMismatch:
                if not left:
                    raise
                seen.log_version = 0
            else:
                seen.summary, seen.log_version = summary, done.log_version
                return

    async def _load_summary(self, key: SessionKey, seen: _Seen) -> None:
        try:
            loaded = await self._handle(key).load(exclude_events=True, state_scopes=["session"])
        except SessionNotFound:
            seen.summary, seen.log_version = None, 0
            return
        state = loaded.state if loaded.state.complete else await self._handle(key).state().get([_SUMMARY])
        seen.summary, seen.log_version = state.get(_SUMMARY), loaded.session.log_version

    def _remember(self, key: SessionKey) -> _Seen:
        """What is known of a session, of the newest ones."""
        seen = self._seen.setdefault(_name(key), _Seen())
        self._seen.move_to_end(_name(key))
        if len(self._seen) > _MOST_REMEMBERED:
            self._seen.popitem(last=False)
        return seen

    def _moved(self, key: SessionKey, done: AppendEventsResponse) -> None:
        """Follows the log version, if no other writer came between."""
        seen = self._remember(key)
        grown = any(not event.replayed for event in done.events)
        seen.log_version = done.log_version if seen.log_version + grown == done.log_version else 0

    async def _sessions(self, project_key: str) -> AsyncIterator[tuple[Session, State]]:
        """The sessions of a project with their state."""
        token, more = "", True
        while more:
            page = await self._client.sessions_page(
                app=project_key, order="updated_last_first", with_state=True, page_size=100, page_token=token
            )
            for session, found in zip(page.sessions, page.states, strict=True):
                state = state_of(found)
                if not state.complete:
                    state = await self._client.session(session).state().get([_SUMMARY, _NO_MAIN])
                yield session, state
            token, more = page.next_page_token, bool(page.next_page_token)


def _name(key: Mapping[str, Any]) -> tuple[str, str]:
    return key["project_key"], key["session_id"]


def _branch(key: SessionKey) -> str:
    subpath = key.get("subpath")
    if subpath == "":
        raise ValueError('the subpath of a key must not be ""; leave it out for the main transcript')
    return transcript.branch_of(subpath) if subpath else ""


def _answer(entry: Mapping[str, Any]) -> str:
    """The id of the model's answer that a line is of; empty for another line."""
    message = entry.get("message") if entry.get("type") == "assistant" else None
    found = message.get("id") if isinstance(message, Mapping) else None
    return found if isinstance(found, str) else ""


def _summary(key: SessionKey, data: dict[str, Any]) -> SessionSummaryEntry:
    return {"session_id": key["session_id"], "mtime": 0, "data": data}


def _mtime(session: Session) -> int:
    """The time of the last change, by the server's clock, in milliseconds since the epoch."""
    return int(session.update_time.ToMilliseconds())
