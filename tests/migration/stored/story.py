"""Short forms of what the steps of the story do, with ids and times that are the same in every run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.codec import draft
from threadkeep.v1 import compaction_pb2, message_pb2
from threadkeep_server.domain.memories import MemoryDraft, MemoryScope
from threadkeep_server.domain.model import EventDraft, NewSession, Role, SessionRef
from threadkeep_server.store.contract.compaction import CompactionRequest
from threadkeep_server.store.contract.events import AppendRequest
from threadkeep_server.store.contract.store import Store

TENANT, APP = "default", "shop"
START = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
ALICE = MemoryScope(APP, "alice")
OFF = compaction_pb2.CompactionPolicy(disabled=True).SerializeToString()
NEVER = compaction_pb2.CompactionPolicy(
    trigger=compaction_pb2.CompactionTrigger(events=1_000_000),
    strategy=compaction_pb2.CompactionStrategy(sliding_window=compaction_pb2.SlidingWindow(max_events=10)),
).SerializeToString()
"""Policies: no compaction, and one that does not come about."""


def ref(session_id: str, user: str = "alice") -> SessionRef:
    return SessionRef(APP, user, session_id)


def memory(text: str, memory_id: str, **fields: Any) -> MemoryDraft:
    message = message_pb2.ChatMessage(role=message_pb2.ROLE_USER)
    message.parts.add().text = text
    return MemoryDraft(memory_id, message.SerializeToString(deterministic=True), text, **fields)


@dataclass
class Story:
    """Makes the same changes in any store. Each change is a second after the one before. `form`: the form of the drafts of that
    time."""

    store: Store
    form: Callable[[EventDraft], EventDraft] = lambda each: each
    now: int = START

    def next(self) -> int:
        self.now += SECOND
        return self.now

    async def create(self, session_id: str, user: str = "alice", **fields: Any) -> None:
        expire_time = fields.pop("expire_time", None)
        new = NewSession(ref(session_id, user), f"uid-{user}-{session_id}", self.next(), expire_time, **fields)
        await self.store.create_session(TENANT, new, return_existing=False)

    def draft(self, text: str | None, event_id: str, **fields: Any) -> EventDraft:
        return self.form(draft(text, event_id=event_id, **fields))

    def turns(self, session_id: str, numbers: Sequence[int]) -> list[EventDraft]:
        roles = (Role.USER, Role.ASSISTANT)
        return [self.draft(f"{session_id} says {n}", f"{session_id}-{n}", role=roles[n % 2]) for n in numbers]

    async def append(self, session_id: str, *drafts: EventDraft, user: str = "alice", **options: Any) -> None:
        await self.store.append(AppendRequest(TENANT, ref(session_id, user), drafts, self.next(), **options))

    async def converse(self, session_id: str, count: int, first: int = 0, **options: Any) -> None:
        """Appends so many events, two at a time."""
        for number in range(first, first + count, 2):
            await self.append(session_id, *self.turns(session_id, range(number, min(number + 2, first + count))), **options)

    async def compact(self, session_id: str, archive: Sequence[str], before: str | None, summary: str) -> None:
        drafts = {before: [self.draft(summary, summary, role=Role.ASSISTANT, synthetic=True)]}
        request = CompactionRequest(TENANT, ref(session_id), f"by {summary}", self.next(), archive, drafts, None, actor="bot")
        await self.store.compact(request)
