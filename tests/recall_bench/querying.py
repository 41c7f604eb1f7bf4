"""Loads a set into a server with the SDK, and searches it for the questions of the set."""

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
from .plain import CAREFUL, PLAIN, PlainFts5, careful_text, plain_text

APP = "recall-bench"
MODES = ("substring", "ranked", "semantic", "hybrid")
HITS = 20
NEIGHBORS = 1

_BATCH = 200
_TOGETHER = 4
_MOST_QUESTION = 1024  # characters that a query may have
_POLLED_S = 0.1

Say = Callable[[str, int, int], None]
"""Reports the current work, the amount done and the total."""


class Shown(Places):
    """Places where the neighbors of a hit are those that the server returned with it."""

    def __init__(self, places: Places, returned: Mapping[str, Sequence[str]]) -> None:
        self.session = places.session
        self._returned = returned

    def around(self, turn: str, neighbors: int) -> list[str]:
        return [turn, *self._returned.get(turn, ())] if neighbors else [turn]


@dataclass(slots=True)
class Answers:
    """The hits of one mode for every question, and the duration of each call: `seconds` without neighbors,
    `seconds_with_neighbors` with them. Memories and the baseline have no second call. `understood`: the modes in the server's
    responses."""

    answered: list[tuple[Asked, Places]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    seconds_with_neighbors: list[float] = field(default_factory=list)
    understood: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Ingested:
    """Seconds from the beginning until all events were appended, indexed and embedded, and the number of memories."""

    events: int
    appended: float
    indexed: float
    embedded: float
    remembered: int = 0


def event_of(turn: Turn) -> SessionEvent:
    """The event that an agent would have appended for a turn; its id is the turn's."""
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
    """Conversations in a server: one user per conversation, one session per session of it."""

    def __init__(self, client: AsyncClient, conversations: Sequence[Conversation]) -> None:
        self._client = client
        self._owned = [(f"{number}-{each.id}", each) for number, each in enumerate(conversations)]

    async def ingest(self, say: Say, *, remember: bool = False) -> Ingested:
        """Returns when everything is indexed and embedded."""
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
        """Includes the calls and results of tools: some evidence is there."""
        sessions = [(user, session.id) for user, each in self._owned for session in each.sessions]
        added = 0
        for number, (user, session) in enumerate(sessions, 1):
            added += (await self._client.memory(user_id=user).add_session(session, include_tools=True)).added
            say("remembering", number, len(sessions))
        return added

    async def ask(self, mode: str, say: Say) -> Answers:
        """Searches for every question in the scope of its conversation's user, one after the other."""
        answers = Answers()
        for user, _, places, question in self._questions(mode, say):
            begun = time.perf_counter()
            hits = await self._search(answers, user, question, mode)
            between = time.perf_counter()
            with_neighbors = await self._search(answers, user, question, mode, NEIGHBORS)
            answers.seconds_with_neighbors.append(time.perf_counter() - between)
            answers.seconds.append(between - begun)
            if [hit.event.event_id for hit in hits] != [hit.event.event_id for hit in with_neighbors]:
                raise AssertionError(f"neighbors change the hits of {question.text!r}")
            around = {hit.event.event_id: [one.event_id for one in (*hit.before, *hit.after)] for hit in with_neighbors}
            answers.answered.append((Asked(question, [hit.event.event_id for hit in hits]), Shown(places, around)))
        return answers

    async def _search(
        self, answers: Answers, user: str, question: Question, mode: str, neighbors: int = 0
    ) -> Sequence[SearchHit]:
        options: SearchOptions = {"mode": mode, "neighbors": neighbors, "reference_time": _now(question, mode)}
        requested = question.text[:_MOST_QUESTION]
        page = await self._client.search_page(requested, user_id=user, page_size=HITS, **options)
        answers.understood.add(page.mode)
        return page.hits

    async def ask_memory(self, mode: str, say: Say) -> Answers:
        """Searches the memory of each conversation's user for every question."""
        answers = Answers()
        for user, _, places, question in self._questions(f"memory, {mode}", say):
            memory, requested = self._client.memory(user_id=user), question.text[:_MOST_QUESTION]
            begun = time.perf_counter()
            found = await memory.search(requested, mode=mode, top_k=HITS, reference_time=_now(question, mode))
            answers.seconds.append(time.perf_counter() - begun)
            answers.understood.add(found.mode)
            answers.answered.append((Asked(question, [entry.event_id for entry in found.entries]), places))
        return answers

    def ask_plain(self, say: Say, *, careful: bool = False) -> Answers:
        """Searches FTS5 over the same texts for the same questions, with one table per conversation."""
        answers = Answers()
        ids: list[str] = []
        table: PlainFts5 | None = None
        for _, conversation, places, question in self._questions(CAREFUL if careful else PLAIN, say):
            if not answers.answered or answers.answered[-1][1] is not places:
                if table is not None:
                    table.close()
                table, ids = PlainFts5(), [turn.id for _, turn in conversation.turns()]
                table.add((careful_text if careful else plain_text)(turn) for _, turn in conversation.turns())
            assert table is not None
            begun = time.perf_counter()
            found = table.search(question.text, HITS, careful=careful)
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
                say(f"searching: {what}", done, total)
                yield user, conversation, places, question
                done += 1


def _now(question: Question, mode: str) -> int | None:
    """The reference time; none for substrings, which refer to no time."""
    return None if mode == "substring" else question.time_ns
