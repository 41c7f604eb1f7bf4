"""Many writers at once, of every kind: what each was answered is what one writer is answered in the order of the log."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from tests.store.rows.removing.removals import tombstones
from tests.support.clock import NOW
from tests.support.codec import CODEC, draft
from tests.support.feed import follow
from tests.support.forks import fork
from tests.support.sessions import TENANT, append, new_session, read, ref
from threadkeep_server.domain.errors import StoreUnavailable, ThreadkeepError
from threadkeep_server.domain.model import EventDraft, StoredEvent
from threadkeep_server.domain.state.state import StateName, StatePage, StatePatch, StateQuery, StateScope
from threadkeep_server.store.contract.compaction import Compacted, CompactionRequest, Inserts
from threadkeep_server.store.contract.events import Appended, AppendRequest
from threadkeep_server.store.contract.history import AsOf
from threadkeep_server.store.contract.removals import Chosen, Clear, Pop, RemovalRequest, Removed, Rewind, Suffix, Upsert
from threadkeep_server.store.contract.store import Store
from threadkeep_server.store.inmemory import InMemoryStore

WRITERS, CALLS = 64, 2
KINDS = ["append"] * 6 + ["pop", "suffix", "upsert", "erase", "rewind"] * 2 + ["clear", "compact", "fork"]
Call = AppendRequest | RemovalRequest | CompactionRequest
Answer = Appended | Removed | Compacted


@dataclass
class Done:
    """A call and its answer. `version`: of the log after it; `changes`: whether it made this version."""

    version: int
    changes: bool
    call: Call
    answer: Answer


@dataclass
class Writers:
    """Writers of one session. A call names events that were read before it, so much is refused. `forks`: the log version at
    which each was made."""

    store: Store
    chance: random.Random
    done: list[Done] = field(default_factory=list)
    forks: dict[str, int] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)

    async def write(self, writer: int) -> None:
        for number in range(CALLS):
            try:
                await self._one(self.chance.choice(KINDS), draft(f"{writer}-{number}", event_id=f"{writer}-{number}"))
            except ThreadkeepError as error:
                self.refused[error.reason] += 1

    async def _one(self, kind: str, new: EventDraft) -> None:
        if kind == "fork":
            await self._fork(f"fork-{new.event_id}")
            return
        call = await self._call(kind, new)
        answer = await self._answer(call)
        self.done.append(Done(version_of(answer), changes(answer), call, answer))

    async def _answer(self, call: Call) -> Answer:
        """What waited too long for the others has changed nothing, and is made again."""
        while True:
            with suppress(StoreUnavailable):
                return await made_by(self.store, call)

    async def _fork(self, session_id: str) -> None:
        """A copy that meets a rewind is refused as a whole, to be made again."""
        while True:
            with suppress(StoreUnavailable):
                made = await fork(self.store, session_id)
                assert made.parent is not None
                self.forks[session_id] = made.parent.log_version
                return

    async def _call(self, kind: str, new: EventDraft) -> Call:
        if kind == "append":
            delta = {StateScope.SESSION: StatePatch({f"k{self.chance.randrange(5)}": f'"{new.event_id}"'})}
            return AppendRequest(TENANT, ref(), [new], NOW, state=delta)
        window = await self.store.read_window(TENANT, ref())
        active = [event.event_id for event in window.events]
        if kind == "compact":
            placed: Inserts = {None: [replace(new, synthetic=True)]}
            return CompactionRequest(TENANT, ref(), new.event_id, NOW, active[:2], placed, window.session.window_version)
        some = active[-self.chance.randrange(1, 3) :]
        what: Any = {
            "pop": Pop(self.chance.randrange(1, 3)),
            "suffix": Suffix(some, [new]),
            "upsert": Upsert([replace(new, event_id=some[0] if some else new.event_id)]),
            "erase": Chosen(some or ["none"]),
            "rewind": Rewind(AsOf(seq=max(1, window.session.last_seq - 3))),
            "clear": Clear(),
        }[kind]
        # Clears and rewinds that erase do it in parts after their change, between which others erase.
        erase = kind == "erase" or (kind in ("pop", "suffix", "upsert") and self.chance.random() < 0.3)
        return RemovalRequest(TENANT, ref(), NOW, what, erase)


async def made_by(store: Store, call: Call) -> Answer:
    if isinstance(call, AppendRequest):
        return await store.append(call)
    return await (store.compact(call) if isinstance(call, CompactionRequest) else store.remove(call))


def version_of(answer: Answer) -> int:
    if isinstance(answer, Appended):
        return answer.log_version
    return answer.compaction.log_version if isinstance(answer, Compacted) else answer.outcome.versions.log_version


def changes(answer: Answer) -> bool:
    """A removal of nothing changes nothing; a rewind may still change the state, but then no other call made its version."""
    if not isinstance(answer, Removed):
        return True
    return bool(answer.outcome.removed or answer.outcome.restored or answer.outcome.added)


def timeless(answer: Answer) -> Answer:
    """Without the times of an erasure, which ends when it ends."""
    if not isinstance(answer, Removed):
        return answer
    erased = answer.outcome.erased and replace(answer.outcome.erased, start_time=0, finish_time=0)
    return replace(answer, events=list(answer.events), outcome=replace(answer.outcome, erased=erased))


class TogetherRows:
    async def test_of_64_writers_of_every_kind_each_is_answered_as_if_alone(self, store: Store) -> None:
        """The versions of the answers order the calls; in this order the reference answers the same and ends with the same log,
        state and feed. A fork is one of the moments between two of them."""
        new, reference = new_session(), InMemoryStore(CODEC)
        for each in (store, reference):
            await each.create_session(TENANT, new, return_existing=False)
            await append(each, *(draft(f"{n}", event_id=f"first-{n}") for n in range(8)))
        writers = Writers(store, random.Random(7))
        await asyncio.gather(*(writers.write(number) for number in range(WRITERS)))
        assert set(writers.refused) <= {"VERSION_MISMATCH", "EVENT_NOT_FOUND"}, writers.refused
        await self._compare(store, reference, writers)

    async def _compare(self, store: Store, reference: Store, writers: Writers) -> None:
        by_version = sorted(writers.done, key=lambda done: (done.version, not done.changes))
        assert {done.version for done in by_version} >= set(range(2, by_version[-1].version + 1)), (
            "every version is answered once"
        )
        await self._fork(reference, writers, 1)
        for done, following in zip(by_version, [*by_version[1:], None], strict=True):
            again = await made_by(reference, done.call)
            assert timeless(again) == timeless(done.answer), done.call
            if following is None or following.version > done.version:
                await self._fork(reference, writers, done.version)
        assert await read(store) == await read(reference)
        erased = await tombstones(store)
        for session in writers.forks:
            # An erasure may come before or after the copy of each event (decision 0024).
            sooner = {*await tombstones(store, of=ref(session))} - {*await tombstones(reference, of=ref(session))}
            assert sooner <= {*erased}, session
            assert await _log(store, session, sooner) == await _log(reference, session, sooner), session
        for session in ("s1", *writers.forks):
            assert await _state(store, session) == await _state(reference, session), session
        assert await _feed(store) == await _feed(reference)

    async def _fork(self, reference: Store, writers: Writers, version: int) -> None:
        for session_id, made_at in writers.forks.items():
            if made_at == version:
                await fork(reference, session_id)


async def _log(store: Store, session_id: str, without: set[int]) -> list[StoredEvent]:
    return [event for event in await read(store, of=ref(session_id)) if event.seq not in without]


async def _state(store: Store, session_id: str) -> StatePage:
    page = await store.get_state(TENANT, StateName(StateScope.SESSION, ref(session_id)), StateQuery())
    return StatePage(dict(page.values), page.version, page.more)


async def _feed(store: Store) -> list[Any]:
    of_session = [change for change in await follow(store) if change.ref == ref()]
    versions = [(each.kind, each.log_version, each.window_version, each.last_seq, each.removal) for each in of_session]
    states = [each.state and (each.state.version, each.state.patch.set, {*each.state.patch.remove}) for each in of_session]
    return [versions, states]
