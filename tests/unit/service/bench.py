"""The services over a store, by default `inmemory`, with a scripted model."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import Any

from tests.support.clock import Clock
from tests.support.codec import CODEC, as_draft, call, draft, event, parse, result
from tests.support.sessions import TENANT, append, compact, create, ref
from threadkeep.v1 import event_pb2
from threadkeep_server.compaction.strategies.recursive_summary import RecursiveSummary
from threadkeep_server.domain.model import Caller, EventDraft, Role, Session, SessionRef, Usage
from threadkeep_server.domain.text import estimate_tokens
from threadkeep_server.providers.summarizers.base import SummarizerFailed, Summary
from threadkeep_server.service.compaction.compaction_runner import CompactionRunner, Outcome
from threadkeep_server.service.compaction.consumer_requests import ConsumerRequests, RequestStats
from threadkeep_server.service.compaction.policies import PolicyBook, PolicyService
from threadkeep_server.service.compaction.requests import Application, Applied, CompactionService, Replacement
from threadkeep_server.store.contract.compaction import PolicyKey, PolicyScope
from threadkeep_server.store.contract.events import EventQuery
from threadkeep_server.store.inmemory import InMemoryStore
from threadkeep_server.transport.convert.events import DraftMaker
from threadkeep_server.transport.convert.strategies import policy_from_json, stored_policy
from threadkeep_server.transport.convert.summary_events import SummaryEncoder

CALLER = Caller(TENANT)
ALICE = Caller(TENANT, "alice")
ANSWER_S = 600.0
SPENT = Usage(input=50, output=12, total=62)
ROLES = {"U": Role.USER, "A": Role.ASSISTANT, "S": Role.SYSTEM, "T": Role.TOOL}
SLIDING_2 = policy_from_json('{"trigger": {"events": 5}, "strategy": {"slidingWindow": {"maxEvents": 2}}}')
_TOKEN = re.compile(r"(([UAST])[:\w]*)(?:\(([\w,]+)\))?(?:@([\w.]+))?")


def log(text: str) -> list[EventDraft]:
    """Events in the notation of tests/unit/compaction: "U1 A1(c1) T1(c1) A2@sub"; what is before the bracket is the id."""
    drafts = []
    for token in text.split():
        found = _TOKEN.fullmatch(token)
        assert found, token
        name, letter, ids, branch = found.groups()
        fields: dict[str, Any] = {"event_id": name, "branch": branch or "", "role": ROLES[letter]}
        make = draft if not ids else result if letter == "T" else call
        drafts.append(make(*(ids.split(",") if ids else [f"text of {name}"]), **fields))
    return drafts


def inserted(event_id: str, text: str = "", *, role: Role = Role.ASSISTANT, **fields: Any) -> EventDraft:
    """A synthetic event, as a caller's compaction inserts it."""
    message = event(text or f"summary {event_id}", role=role, event_id=event_id, synthetic=True, **fields)
    message.compaction_source = "mine"
    return as_draft(message)


def stub(event_id: str, *answers: str) -> EventDraft:
    return result(*answers, event_id=event_id, synthetic=True)


class Model:
    """A Summarizer. `problem` makes it fail; `meanwhile` runs while it writes."""

    model = "scripted"

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.text = "They met."
        self.problem = ""
        self.meanwhile: Callable[[], Awaitable[Any]] | None = None

    async def summarize(self, *, system_prompt: str, prompt: str, max_tokens: int) -> Summary:
        assert system_prompt
        assert max_tokens
        self.prompts.append(prompt)
        if self.meanwhile is not None:
            await self.meanwhile()
        if self.problem:
            raise SummarizerFailed(self.problem)
        return Summary(self.text, SPENT, self.model)

    async def aclose(self) -> None: ...


class WatchedStore(InMemoryStore):
    """Notes which methods are called; `before` runs before a method of that name."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(CODEC, clock)
        self.calls: list[str] = []
        self.before: dict[str, Callable[[], Awaitable[Any]]] = {}

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name in _WATCHED:
            self.calls.append(name)
            before = self.before.pop(name, None)
            if before is not None:
                return _after(before, found)
        return found


_WATCHED = frozenset(
    {
        "get_session",
        "read_window",
        "compact",
        "get_compaction",
        "lease",
        "release",
        "policies",
        "put_policy",
        "list_events",
        "get_event",
    }
)


def _after(before: Callable[[], Awaitable[Any]], method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def call_(*args: Any, **kwargs: Any) -> Any:
        await before()
        return await method(*args, **kwargs)

    return call_


class Bench:
    """Everything that compacts, on one store."""

    def __init__(self, *, default: bytes | None = None, summarizer: bool = True, store: Any = None) -> None:
        self.clock = Clock()
        self.store = store or WatchedStore(self.clock)
        self.model = Model()
        self._numbers = count(1)
        self.composer = SummaryEncoder(DraftMaker(self.new_id, self.count))
        self.compactor = CompactionRunner(
            self.store, self.composer, self.count, self.model if summarizer else None, self.clock, self.new_id
        )
        self.book = PolicyBook(self.store, stored_policy, default)
        self.requested = RequestStats()
        self.requests = ConsumerRequests(self.store, self.book, self.clock, ANSWER_S, self.requested)
        self.service = CompactionService(self.store, self.compactor, self.book, CODEC, self.clock, self.new_id)
        self.policies = PolicyService(self.store, self.book, self.clock)

    def new_id(self) -> str:
        return f"new-{next(self._numbers)}"

    @staticmethod
    def count(text: str) -> int:
        return estimate_tokens(len(text))

    async def session(self, text: str = "", session_id: str = "s1", **fields: Any) -> SessionRef:
        made = await create(self.store, session_id, **fields)
        for each in log(text):
            await append(self.store, each, to=made.ref)
        return made.ref

    async def look(self, of: SessionRef | None = None) -> Session:
        found: Session = await self.store.get_session(TENANT, of or ref())
        return found

    async def active(self, of: SessionRef | None = None) -> str:
        """The ids of the active events in window order."""
        return " ".join(each.event_id for each in (await self.store.read_window(TENANT, of or ref())).events)

    async def everything(self, of: SessionRef | None = None) -> tuple[Session, list[tuple[int, bytes, bool]], list[Any]]:
        """All of a session that could be changed."""
        target = of or ref()
        page = await self.store.list_events(TENANT, target, EventQuery(limit=1 << 20))
        compactions = await self.store.list_compactions(TENANT, target, 1000, None)
        return (
            await self.look(target),
            [(each.seq, each.body, each.archived) for each in page.events],
            list(compactions.compactions),
        )

    async def events(self, of: SessionRef | None = None) -> list[event_pb2.SessionEvent]:
        page = await self.store.list_events(TENANT, of or ref(), EventQuery(limit=1 << 20))
        return [parse(each) for each in page.events]

    async def run(self, strategy: Any = None, *, caller: Caller = CALLER, of: SessionRef | None = None, **how: Any) -> Outcome:
        return await self.service.run(caller, of or ref(), strategy, **how)

    async def apply(
        self,
        *archive: str,
        at: int | None = None,
        inserts: Mapping[str | None, list[EventDraft]] | None = None,
        of: SessionRef | None = None,
        caller: Caller = CALLER,
        **how: Any,
    ) -> Applied:
        """A caller's own compaction, planned at the session's window unless said otherwise."""
        target = of or ref()
        version = (await self.look(target)).window_version if at is None else at
        wanted = Application(target, version, archive=archive, inserts=inserts or {}, **how)
        return await self.service.apply(caller, wanted)

    async def replace(self, *drafts: EventDraft, at: int | None = None, **how: Any) -> Applied:
        version = (await self.look()).log_version if at is None else at
        return await self.service.replace(CALLER, Replacement(ref(), drafts, version, **how))

    async def rival(self) -> None:
        """Another compaction: it archives the oldest event of the conversation."""
        window = await InMemoryStore.read_window(self.store, TENANT, ref())
        oldest = next(each for each in window.events if not each.summary)
        await compact(self.store, [oldest.event_id])


def summarizing(keep: int = 2, overlap: int = 0) -> RecursiveSummary:
    return RecursiveSummary(keep, overlap)


def key(scope: PolicyScope, *, app: str = "", user_id: str = "", session_id: str = "") -> PolicyKey:
    return PolicyKey("", scope, app, user_id, session_id)
