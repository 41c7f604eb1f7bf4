"""Sessions of the OpenAI Agents SDK, kept by a server of Threadkeep: `pip install "threadkeep[openai-agents]"`."""

from __future__ import annotations

import weakref
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ._versions import require

require("openai-agents", ">=0.23,<0.25", extra="openai-agents")

from agents import RunContextWrapper, TResponseInputItem  # noqa: E402
from agents.memory import SessionABC, SessionSettings  # noqa: E402

from .. import AsyncClient, CreateOptions, LogVersion, event_filter, new_event_id  # noqa: E402
from ..errors import SessionNotFound, VersionMismatch  # noqa: E402
from ..formats import responses  # noqa: E402
from ..v1.event_pb2 import SessionEvent  # noqa: E402
from ..v1.message_pb2 import ROLE_ASSISTANT  # noqa: E402
from ..v1.session_pb2 import TokenUsage  # noqa: E402
from ._writes import MOST_EVENTS, Repeats, batches, settled  # noqa: E402

__all__ = ["ThreadkeepSession"]

_ACTIVE = event_filter(view="active")
_NAMES = ("input_tokens", "output_tokens", "total_tokens", "cached_tokens", "reasoning_tokens")
Place = tuple[int, int]
"""An item: the index of its event, and its own among the items of the event."""


@dataclass(slots=True)
class _Tail:
    """The newest events of the window, oldest first, with their items."""

    events: list[SessionEvent] = field(default_factory=list)
    items: list[TResponseInputItem] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    complete: bool = False
    log_version: int = 0

    @classmethod
    def of(cls, events: list[SessionEvent], *, complete: bool, log_version: int) -> _Tail:
        tail = cls(events=events, complete=complete, log_version=log_version)
        for index, event in enumerate(events):
            for number, item in enumerate(responses.items_of(event)):
                tail.items.append(cast("TResponseInputItem", item))
                tail.places.append((index, number))
        return tail


@dataclass(slots=True)
class _Run:
    """A run: its id, and how many tokens of it are stored."""

    id: str
    counted: tuple[int, ...] = (0,) * len(_NAMES)


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """What `OpenAIResponsesCompactionSession` reads: items, and how to replace those from a place on."""

    items: list[TResponseInputItem]
    complete: bool
    replace_suffix: Callable[[int, list[TResponseInputItem]], Awaitable[bool]]


class ThreadkeepSession(SessionABC):
    """A session of the OpenAI Agents SDK: pass it to `Runner.run`, `run_sync` or `run_streamed`.

    client: says the app and the user of the session. session_id: the session, which the first items create. session_settings:
    the limit of reads that have none. create: how the session is created, for example {"ttl": timedelta(days=30)}. erase: what
    is popped, cleared or compacted away is erased (role admin); by default it is archived, and stays searchable.

    An item is an event. Of messages that another framework wrote, each part is an item. Errors of calls are `ThreadkeepError`.
    """

    session_settings: SessionSettings | None

    def __init__(
        self,
        client: AsyncClient,
        session_id: str,
        *,
        session_settings: SessionSettings | None = None,
        create: CreateOptions | None = None,
        erase: bool = False,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self._client = client
        self._handle = client.session(session_id)
        self._create: CreateOptions = create or {}
        self._erase = erase
        self._repeats = Repeats()
        self._runs: weakref.WeakKeyDictionary[RunContextWrapper[Any], _Run] = weakref.WeakKeyDictionary()

    async def get_items(
        self, limit: int | None = None, *, wrapper: RunContextWrapper[Any] | None = None
    ) -> list[TResponseInputItem]:
        """Return the items of the window, oldest first; with a limit the newest ones, none for a limit below 1.

        Damaged items are left out and do not count. `wrapper`: the run; it is not used. Raises AmbiguousSession.
        """
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit is not None and limit <= 0:
            return []
        items = (await self._tail(limit)).items
        return items if limit is None else items[-limit:]

    async def add_items(self, items: list[TResponseInputItem], *, wrapper: RunContextWrapper[Any] | None = None) -> None:
        """Append items, up to 1,000 (and 16 MiB) atomically; they are on durable storage when it returns.

        The same items again after an error are the same events, so nothing is stored twice. `wrapper`: the run; its events get
        one invocation id, and the newest one of the model the tokens that were used since the last append.
        """
        if not items:
            await self._client._stubs()  # noqa: SLF001 - raises if the client is closed
            return
        run = None if wrapper is None else self._runs.setdefault(wrapper, _Run(new_event_id()))
        events = [responses.event_of(item, new_event_id(), invocation_id=run.id if run else "") for item in _dicts(items)]
        used = () if wrapper is None or run is None else self._count(wrapper, run, events)
        await settled(self._repeats.append("", events, self._append))
        if run is not None and used:
            run.counted = used

    async def pop_item(self, *, wrapper: RunContextWrapper[Any] | None = None) -> TResponseInputItem | None:
        """Remove the newest item and return it, as it was stored; None if there is none. An atomic claim: of concurrent calls
        each item is returned to one. Damaged items after it are removed too. `wrapper`: not used."""
        return await settled(self._pop())

    async def clear_session(self, *, wrapper: RunContextWrapper[Any] | None = None) -> None:
        """Empty the window. The session stays, with its labels, state and watchers. `wrapper`: not used."""
        self._repeats.forget("")
        try:
            await settled(self._handle.clear(erase=self._erase))
        except SessionNotFound:
            return

    async def _tail(self, limit: int | None) -> _Tail:
        """The newest events that have `limit` items, or all."""
        token, found, enough = "", 0, False
        events: list[SessionEvent] = []
        log_version = 0
        while not enough:
            page = await self._handle.events_page(
                _ACTIVE, order="desc", page_size=min(limit or MOST_EVENTS, MOST_EVENTS), page_token=token
            )
            events += page.pb.events
            log_version = log_version or page.pb.log_version
            found += sum(len(responses.items_of(event)) for event in page.pb.events) if limit is not None else 0
            token = page.next_page_token
            enough = not token or (limit is not None and found >= limit)
        return _Tail.of(events[::-1], complete=not token, log_version=log_version)

    async def _append(self, events: Sequence[SessionEvent]) -> None:
        for batch in batches(events):
            await self._handle.append(batch, create_if_missing=self._create or True)

    def _count(self, wrapper: RunContextWrapper[Any], run: _Run, events: list[SessionEvent]) -> tuple[int, ...]:
        """Writes what the run used since its last append to the newest event of the model; returns what is counted then."""
        usage = wrapper.usage
        details = usage.input_tokens_details.cached_tokens, usage.output_tokens_details.reasoning_tokens
        used = (usage.input_tokens, usage.output_tokens, usage.total_tokens, *(number or 0 for number in details))
        said = [event for event in events if event.message.role == ROLE_ASSISTANT]
        new = [now - before for now, before in zip(used, run.counted, strict=True)]
        if not said or not any(new) or min(new) < 0:
            return ()
        said[-1].usage.CopyFrom(TokenUsage(**dict(zip(_NAMES, new, strict=True))))
        return used

    async def _pop(self) -> TResponseInputItem | None:
        while True:
            tail = await self._tail(1)
            if not tail.events:
                return None
            place = tail.places[-1] if tail.places else (-1, 0)
            # Events of other frameworks without an item, such as changes of state, stay.
            kept = [event for event in tail.events[place[0] + 1 :] if event.native.format != responses.NATIVE]
            first = max(place[0], 0)
            if not tail.places and len(kept) == len(tail.events):
                return None
            if await self._replace(tail, first, _before(tail, place), kept):
                return tail.items[-1] if tail.items else None

    async def _replace(
        self, tail: _Tail, first: int, items: list[TResponseInputItem], kept: Sequence[SessionEvent] = ()
    ) -> bool:
        """Replaces the events from `first` on, unless others were added or removed since; returns whether it did."""
        expected = [event.event_id for event in tail.events[first:]]
        new = [*(responses.event_of(item, new_event_id()) for item in _dicts(items)), *kept]
        try:
            if len(expected) <= MOST_EVENTS:
                await self._handle.replace_suffix(expected, new, erase=self._erase)
                return True
            left = [*tail.events[:first], *new]
            return (await self._handle.replace_events(left, expect=LogVersion(tail.log_version))).replaced
        except (VersionMismatch, SessionNotFound):
            return False

    async def _get_compaction_snapshot(
        self, limit: int, *, prune_prefix: Callable[[TResponseInputItem], bool] | None = None
    ) -> _Snapshot | None:
        """The newest `limit` items for a compaction, which replaces them if nothing else did since: the hook that
        `OpenAIResponsesCompactionSession` and `EncryptedSession` look for. `prune_prefix`: which of the oldest leave too."""
        if type(self) is not ThreadkeepSession:
            return None  # a class derived from this one may keep other items than these
        tail = await self._tail(limit)
        hidden = max(len(tail.items) - limit, 0)

        async def replace_suffix(start: int, output: list[TResponseInputItem]) -> bool:
            if not 0 <= start < len(tail.items) - hidden:
                return False
            place = tail.places[hidden + start]
            replaced = await settled(self._replace(tail, place[0], [*_before(tail, place), *output]))
            if replaced and prune_prefix is not None:
                await settled(self._prune(prune_prefix, limit))
            return replaced

        return _Snapshot(tail.items[hidden:], tail.complete and not hidden, replace_suffix)

    async def _prune(self, expired: Callable[[TResponseInputItem], bool], limit: int) -> None:
        """Takes the oldest items out of the window while they are expired, at most `limit`."""
        page = await self._handle.load(_ACTIVE, page_size=min(limit, MOST_EVENTS), state_scopes=["session"])
        leaving: list[str] = []
        for event in page.page.pb.events:
            items = responses.items_of(event)
            if not items or not all(expired(cast("TResponseInputItem", item)) for item in items):
                break
            leaving.append(event.event_id)
        if leaving and self._erase:
            await self._handle.erase_events(leaving)
        elif leaving:
            window = page.session.window_version
            await self._handle.apply_compaction(archive=leaving, expected_window_version=window, report_mismatch=True)


def _before(tail: _Tail, place: Place) -> list[TResponseInputItem]:
    """The items of an event before one of them, which become events of their own when that one leaves."""
    return [item for item, other in zip(tail.items, tail.places, strict=True) if other[0] == place[0] and other[1] < place[1]]


def _dicts(items: Sequence[TResponseInputItem]) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", items)
