"""Writers that change sessions, state and memory in every way, and know what must be there afterwards.

A call is repeated with the same ids until it is answered. So the outcome of each call is known, and a call that was done twice,
half or not at all is a difference.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from uuid import uuid4

import threadkeep
from threadkeep import PatchFields, SessionEvent

Call = Callable[[], Awaitable[None]]
PAUSE = 0.003
"""Seconds between two calls of a writer."""


@dataclass
class Writer:
    """Makes calls one after another. `problems`: errors by reason. `answered`: calls; `replays`: those that found themselves
    done."""

    client: threadkeep.AsyncClient
    session: str
    problems: Counter[str]
    answered: int = 0
    replays: int = 0
    _pending: Call | None = None

    async def run(self) -> None:
        while True:
            self._pending = self._next()
            await self.finish()
            await asyncio.sleep(PAUSE)

    async def finish(self) -> None:
        """Repeats the last call until it is answered; what it answers is checked by itself."""
        while self._pending is not None:
            try:
                await self._pending()
            except threadkeep.ThreadkeepError as error:
                self.problems[error.reason or error.code.name] += 1
                await asyncio.sleep(0.05)
            else:
                self._pending = None
                self.answered += 1

    def _next(self) -> Call:
        raise NotImplementedError


@dataclass
class Editor(Writer):
    """The only writer of its session. `window`: ids and texts of the active events; `gone`: texts that it erased; `said`: all.
    `version`: of the log. `state`: counters in the session's state, of which each change sets one to the next number;
    `state_version`: the number of changes. `shared`: its counter in the state of the user. `noted`: the number in its memories.
    `past`: window and state of each version of the log, before the next one."""

    window: list[tuple[str, str]] = field(default_factory=list)
    said: list[tuple[str, str]] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    version: int = 0
    state: Counter[str] = field(default_factory=Counter)
    state_version: int = 0
    shared: int = 0
    noted: int = 0
    past: dict[int, tuple[list[tuple[str, str]], Counter[str]]] = field(default_factory=dict)

    def _next(self) -> Call:
        self.past[self.version] = ([*self.window], Counter(self.state))
        acts = (self._append, self._pop, self._replace, self._upsert, self._patch, self._remember, self._clear)
        (act,) = random.choices((*acts, self._rewind, self._erase), (6, 3, 3, 2, 3, 2, 1, 2, 1))
        return act()

    def _new(self, count: int) -> list[SessionEvent]:
        return [threadkeep.user(f"text {uuid4()}", event_id=str(uuid4())) for _ in range(count)]

    def _take(self, count: int, *, erase: bool) -> None:
        """Removes the newest events from the model."""
        taken = self.window[len(self.window) - count :]
        del self.window[len(self.window) - count :]
        self.gone |= {text for _, text in taken} if erase else set()

    def _add(self, events: list[SessionEvent]) -> None:
        pairs = [(event.event_id, threadkeep.text_of(event)) for event in events]
        self.window += pairs
        self.said += pairs

    def _stands(self, log_version: int, replayed: bool, *, changed: bool = True) -> None:
        """A change must have been made once."""
        self.version += changed
        self.replays += replayed
        assert log_version == self.version

    def _append(self) -> Call:
        """With the state of the session, or that of the user too: stores write these in different ways."""
        events, number, shared_number = self._new(random.choice((1, 1, 3))), self.state["appends"] + 1, self.shared + 1
        also_shared = random.random() < 0.5

        async def call() -> None:
            own, shared = PatchFields(set={"appends": number}), PatchFields(set={self.session: shared_number})
            answer = await self.client.append(self.session, *events, state=own, user_state=shared if also_shared else None)
            self._stands(answer.log_version, answer.events[0].replayed)
            self._set("appends", number)
            self.shared += also_shared
            self._add(events)

        return call

    def _pop(self) -> Call:
        count, erase, operation = random.choice((1, 1, 3)), random.random() < 0.3, str(uuid4())
        expected = self.window[-count:]

        async def call() -> None:
            popped = await self.client.pop(self.session, count, erase=erase, operation_id=operation)
            assert [event.id for event in popped.events] == [event_id for event_id, _ in expected]
            texts = [event.text for event in popped.events]
            tombstones = erase and popped.replayed and not any(texts)
            assert tombstones or texts == [text for _, text in expected]
            self._stands(popped.log_version, popped.replayed, changed=bool(expected))
            self._take(len(expected), erase=erase)

        return call

    def _clear(self) -> Call:
        erase, operation = random.random() < 0.5, str(uuid4())

        async def call() -> None:
            answer = await self.client.clear(self.session, erase=erase, operation_id=operation)
            assert answer.removed == len(self.window)
            self._stands(answer.log_version, answer.replayed)
            self.window.clear()
            self.gone |= {text for _, text in self.said} if erase else set()

        return call

    def _rewind(self) -> Call:
        """Goes back to one of the newest versions: what was erased since does not come back."""
        back, operation = max(0, self.version - random.randrange(8)), str(uuid4())
        window, state = self.past[back]
        window = [each for each in window if each[1] not in self.gone]

        async def call() -> None:
            answer = await self.client.rewind(self.session, at_log_version=back, operation_id=operation)
            removed, restored = set(self.window) - set(window), set(window) - set(self.window)
            assert (answer.removed, answer.restored) == (len(removed), len(restored))
            self._stands(answer.log_version, answer.replayed, changed=bool(removed or restored or state != self.state))
            self.state_version += state != self.state
            self.window, self.state = [*window], Counter(state)

        return call

    def _erase(self) -> Call:
        """Erases an active event, in all its versions."""
        if not self.window:
            return self._append()
        (event_id, _), operation = random.choice(self.window), str(uuid4())
        texts = {text for known, text in self.said if known == event_id}

        async def call() -> None:
            answer = await self.client.erase_events(self.session, [event_id], operation_id=operation)
            assert answer.erased == len(texts - self.gone)
            self._stands(answer.log_version, answer.replayed)
            self.window = [each for each in self.window if each[0] != event_id]
            self.gone |= texts

        return call

    def _set(self, key: str, number: int) -> None:
        self.state[key] = number
        self.state_version += 1

    def _replace(self) -> Call:
        """The new events may have the id of one that leaves."""
        count, erase, operation = min(random.randrange(4), len(self.window)), random.random() < 0.3, str(uuid4())
        events, leaving = (
            self._new(random.choice((1, 2))),
            [event_id for event_id, _ in self.window[len(self.window) - count :]],
        )
        if leaving and random.random() < 0.5:
            events[0].event_id = random.choice(leaving)

        async def call() -> None:
            answer = await self.client.replace_suffix(self.session, leaving, *events, erase=erase, operation_id=operation)
            assert answer.removed == count
            self._stands(answer.log_version, answer.replayed)
            self._take(count, erase=erase)
            self._add(events)

        return call

    def _upsert(self) -> Call:
        """Replaces an active event at its place, with an operation id, or without one: then its content is the id."""
        (event,), operation = self._new(1), random.choice(("", str(uuid4())))
        place = random.randrange(len(self.window)) if self.window else None
        if place is not None:
            event.event_id = self.window[place][0]

        async def call() -> None:
            answer = await self.client.append(self.session, event, if_exists="replace", operation_id=operation)
            self._stands(answer.log_version, answer.events[0].replayed)
            self._add([event])
            if place is not None:
                self.window[place] = self.window.pop()

        return call

    def _patch(self) -> Call:
        number = self.state["patches"] + 1

        async def call() -> None:
            version = await self.client.session(self.session).state().patch({"patches": number})
            self._set("patches", number)
            assert version == self.state_version

        return call

    def _remember(self) -> Call:
        number = self.noted + 1
        entries = [threadkeep.memory_entry(f"note {number}", id=each) for each in self._notes]

        async def call() -> None:
            await self.client.memory().upsert(*entries)
            self.noted = number

        return call

    @property
    def _notes(self) -> list[str]:
        return [f"{self.session}-{n}" for n in range(3)]

    async def check(self) -> None:
        """Compares everything with the store."""
        client, session = self.client, await self.client.get_session(self.session)
        assert (session.log_version, session.window.events) == (self.version, len(self.window))
        events = [event async for event in client.events(self.session, page_size=1000)]
        assert sorted(event.seq for event in events) == list(range(1, session.last_seq + 1)), "no seq twice, none missing"
        assert [(event.id, event.text) for event in events if not event.archived] == self.window
        left = {event.text for event in events if not event.erased}
        assert left == {text for _, text in self.said} - self.gone
        state = await client.session(self.session).state().get()
        assert dict(state) == self.state
        assert state.version == self.state_version, "a change was made twice"
        notes = await client.memory().get_many(self._notes)
        assert [threadkeep.text_of(SessionEvent(message=each.content)) for each in notes if each is not None] == (
            [f"note {self.noted}"] * 3 if self.noted else []
        )


async def check_shared(editors: list[Editor]) -> None:
    """The state of the user has what each of them set with its appends."""
    state = await editors[0].client.user_state().get()
    assert state.version == sum(each.shared for each in editors)
    assert dict(state) == {each.session: each.shared for each in editors if each.shared}


@dataclass
class Claimer(Writer):
    """One of several that pop the events of a session, to which each also appends. `claimed`: ids of its events."""

    claimed: list[str] = field(default_factory=list)

    def _next(self) -> Call:
        event, operation = threadkeep.user("job", event_id=str(uuid4())), str(uuid4())

        async def push() -> None:
            self.replays += (await self.client.append(self.session, event)).events[0].replayed

        async def claim() -> None:
            popped = await self.client.pop(self.session, 2, operation_id=operation)
            again = await self.client.pop(self.session, 2, operation_id=operation)
            assert again.replayed
            assert [each.id for each in again.events] == [each.id for each in popped.events]
            self.replays += popped.replayed
            self.claimed += [each.id for each in popped.events]

        return random.choice((push, push, claim))


async def check_claims(claimers: list[Claimer]) -> None:
    """Every event that left the window was claimed once; the others wait."""
    client, session = claimers[0].client, claimers[0].session
    claimed = [event_id for each in claimers for event_id in each.claimed]
    events = [event async for event in client.events(session, page_size=1000)]
    assert sorted(claimed) == sorted(event.id for event in events if event.archived)
