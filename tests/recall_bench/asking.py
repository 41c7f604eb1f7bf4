"""A set ingested into a server by the SDK, and its questions asked of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from threadkeep import AsyncClient, SearchOptions
from threadkeep.messages import event, media, text, tool_call, tool_result_part
from threadkeep.v1.event_pb2 import SessionEvent
from threadkeep.v1.message_pb2 import Part
from threadkeep.v1.search_service_pb2 import SearchHit

from .metrics import Asked, Places
from .model import Conversation, Question, Turn
from .plain import PlainFts5

APP = "recall-bench"
MODES = ("substring", "ranked", "semantic", "hybrid")
PLAIN = "FTS5, Porter"
HITS = 20
NEIGHBORS = 1

_BATCH = 200
_TOGETHER = 4
_MOST_QUESTION = 1024  # characters that a query may have
_POLLED_S = 0.1

Say = Callable[[str, int, int], None]
"""Tells what is done, how much of it, and of how much."""


class Shown(Places):
    """Places where the neighbours of a hit are those that came with it."""

    def __init__(self, places: Places, beside: Mapping[str, Sequence[str]]) -> None:
        self.session = places.session
        self._beside = beside

    def around(self, turn: str, neighbours: int) -> list[str]:
        return [turn, *self._beside.get(turn, ())] if neighbours else [turn]


@dataclass(slots=True)
class Answers:
    """What one mode found for every question, and the seconds each call took: `seconds` without neighbours, `beside` with them;
    of memories and of the baseline there is no second call. `understood`: as which modes the server answered."""

    answered: list[tuple[Asked, Places]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    understood: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Ingested:
    """Seconds count from the beginning: until all was appended, indexed, embedded and, if it was to be, remembered."""

    events: int
    appended: float
    indexed: float
    embedded: float
    remembered: int = 0


def event_of(turn: Turn) -> SessionEvent:
    """A turn as an agent would have appended it; its id is the turn's."""
    parts: list[Part] = [text(turn.text)] if turn.text else []
    if turn.calls:
        name, _, arguments = turn.calls.partition(" ")
        parts.append(tool_call(turn.id, name, arguments))
    if turn.results:
        parts.append(tool_result_part(turn.id, turn.results))
    if turn.media:
        parts.append(media("application/octet-stream", uri="about:blank", name=turn.media))
    author = "" if turn.speaker == turn.role else turn.speaker
    role = turn.role if turn.role in ("user", "assistant", "system", "tool") else "user"
    return event(role, parts, event_id=turn.id, author=author, event_time=turn.time_ns)


class Served:
    """Conversations in a server: each is a user's, each of its sessions a session."""

    def __init__(self, client: AsyncClient, conversations: Sequence[Conversation]) -> None:
        self._client = client
        self._owned = [(f"{number}-{each.id}", each) for number, each in enumerate(conversations)]

    async def ingest(self, say: Say, *, remember: bool = False) -> Ingested:
        """Returns when every question can be answered as well as ever."""
        begun = time.perf_counter()
        total, events = sum(len(session.turns) for _, each in self._owned for session in each.sessions), 0
        waiting = list(reversed(self._owned))

        async def worker() -> None:
            nonlocal events
            while waiting:
                async for appended in self._append(*waiting.pop()):
                    events += appended
                    say("appending", events, total)

        async with asyncio.TaskGroup() as group:
            for _ in range(_TOGETHER):
                group.create_task(worker())
        appended = time.perf_counter() - begun
        remembered = await self._remember(say) if remember else 0
        indexed = embedded = 0.0
        while not (indexed and embedded):
            info = await self._client.info()
            now = time.perf_counter() - begun
            lag, waits = info.search_index.lag_batches, info.embeddings.waiting
            indexed, embedded = indexed or (0.0 if lag else now), embedded or (0.0 if lag or waits else now)
            if lag:
                say(f"indexing: {lag:,} appends left", 0, 0)
            elif waits:
                say("embedding", max(total + remembered - waits, 0), total + remembered)
            await asyncio.sleep(_POLLED_S)
        return Ingested(events, appended, indexed, embedded, remembered)

    async def _append(self, user: str, conversation: Conversation) -> AsyncIterator[int]:
        for session in conversation.sessions:
            ref = await self._client.create_session(session.id, user_id=user, never_expires=True)
            for start in range(0, len(session.turns), _BATCH):
                batch = session.turns[start : start + _BATCH]
                await self._client.append(ref, *map(event_of, batch))
                yield len(batch)

    async def _remember(self, say: Say) -> int:
        """Tools' calls and results too: some evidence stands there."""
        sessions = [(user, session.id) for user, each in self._owned for session in each.sessions]
        added = 0
        for number, (user, session) in enumerate(sessions, 1):
            added += (await self._client.memory(user_id=user).add_session(session, include_tools=True)).added
            say("remembering", number, len(sessions))
        return added

    async def ask(self, mode: str, say: Say) -> Answers:
        """Every question in the scope of its conversation's user, one after the other."""
        answers = Answers()
        for user, _, places, question in self._questions(mode, say):
            begun = time.perf_counter()
            hits = await self._search(answers, user, question, mode)
            between = time.perf_counter()
            with_neighbours = await self._search(answers, user, question, mode, NEIGHBORS)
            answers.beside.append(time.perf_counter() - between)
            answers.seconds.append(between - begun)
            if [hit.event.event_id for hit in hits] != [hit.event.event_id for hit in with_neighbours]:
                raise AssertionError(f"neighbours change what is found for {question.text!r}")
            around = {hit.event.event_id: [one.event_id for one in (*hit.before, *hit.after)] for hit in with_neighbours}
            answers.answered.append((Asked(question, [hit.event.event_id for hit in hits]), Shown(places, around)))
        return answers

    async def _search(
        self, answers: Answers, user: str, question: Question, mode: str, neighbors: int = 0
    ) -> Sequence[SearchHit]:
        options: SearchOptions = {"mode": mode, "neighbors": neighbors, "reference_time": _now(question, mode)}
        asked = question.text[:_MOST_QUESTION]
        page = await self._client.search_page(asked, user_id=user, page_size=HITS, **options)
        answers.understood.add(page.mode)
        return page.hits

    async def ask_memory(self, mode: str, say: Say) -> Answers:
        """Every question of what is remembered of its conversation's user."""
        answers = Answers()
        for user, _, places, question in self._questions(f"memory, {mode}", say):
            memory, asked = self._client.memory(user_id=user), question.text[:_MOST_QUESTION]
            begun = time.perf_counter()
            found = await memory.search(asked, mode=mode, top_k=HITS, reference_time=_now(question, mode))
            answers.seconds.append(time.perf_counter() - begun)
            answers.understood.add(found.mode)
            answers.answered.append((Asked(question, [entry.event_id for entry in found.entries]), places))
        return answers

    def ask_plain(self, say: Say) -> Answers:
        """The same questions of FTS5 over the same texts, a table for each conversation."""
        answers = Answers()
        ids: list[str] = []
        table: PlainFts5 | None = None
        for _, conversation, places, question in self._questions(PLAIN, say):
            if not answers.answered or answers.answered[-1][1] is not places:
                if table is not None:
                    table.close()
                table, ids = PlainFts5(), [turn.id for _, turn in conversation.turns()]
                table.add(plain_text(turn) for _, turn in conversation.turns())
            assert table is not None
            begun = time.perf_counter()
            found = table.search(question.text, HITS)
            answers.seconds.append(time.perf_counter() - begun)
            answers.answered.append((Asked(question, [ids[number - 1] for number in found]), places))
        if table is not None:
            table.close()
        return answers

    def _questions(self, what: str, say: Say) -> Iterable[tuple[str, Conversation, Places, Question]]:
        total = sum(len(each.questions) for _, each in self._owned)
        done = 0
        for user, conversation in self._owned:
            places = Places(conversation)
            for question in conversation.questions:
                say(f"asking: {what}", done, total)
                yield user, conversation, places, question
                done += 1


def _now(question: Question, mode: str) -> int | None:
    """Literal text refers to no time."""
    return None if mode == "substring" else question.time_ns


def plain_text(turn: Turn) -> str:
    """All that is said of a turn."""
    return f"{turn.text} {turn.calls} {turn.results} {turn.media}"
