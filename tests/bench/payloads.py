"""Requests as bytes, made before the clock starts: only the event ids are put in while it runs."""

import functools
import itertools
import json
import random
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadkeep.v1 import (
    event_pb2,
    event_removal_pb2,
    event_service_pb2,
    filter_pb2,
    message_pb2,
    search_pb2,
    search_service_pb2,
    session_pb2,
    session_service_pb2,
)

APP = "bench"
APPEND = "/threadkeep.v1.EventService/AppendEvents"
APPEND_STREAM = "/threadkeep.v1.EventService/AppendStream"
LIST = "/threadkeep.v1.EventService/ListEvents"
SEARCH = "/threadkeep.v1.SearchService/SearchEvents"
POP = "/threadkeep.v1.EventService/PopEvents"
CREATE = "/threadkeep.v1.SessionService/CreateSession"
LIST_SESSIONS = "/threadkeep.v1.SessionService/ListSessions"
INFO = "/threadkeep.v1.ServerService/GetServerInfo"

EVENT_BYTES = 1024
_ID_WIDTH = 24
_PLACEHOLDER = "#" * _ID_WIDTH
_COUNTER_WIDTH = 12
_ROLES = (message_pb2.ROLE_USER, message_pb2.ROLE_ASSISTANT)


@dataclass(frozen=True)
class Plant:
    """A term put into exactly `hits` events of every user, so that searches have a known answer."""

    name: str
    term: str
    hits: int


PLANTS = (
    Plant("rare word", "quillfeather", 3),
    Plant("uncommon word", "marzipan", 40),
    Plant("inside a word", "zyxqvw", 12),
    Plant("several words", "lost my green luggage", 5),
    Plant("CJK", "漢字検索", 8),
)
ABSENT = Plant("absent", "nonesuchterm", 0)
_PLANTED = {"zyxqvw": "unzyxqvwable"}


@functools.cache
def _sentences() -> tuple[str, ...]:
    """Some thousand sentences of made-up words: varied enough for an index, cheap enough to load a million events."""
    source = random.Random(7)
    onsets = ("b", "c", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "ch", "st", "tr")
    vowels = ("a", "e", "i", "o", "u", "ai", "ou")
    codas = ("", "n", "r", "s", "t", "l", "nd")
    syllables = ["".join(parts) for parts in itertools.product(onsets, vowels, codas)]
    words = ["".join(source.choices(syllables, k=source.choice((1, 2, 2, 3)))) for _ in range(6000)]
    weights = [1 / (rank + 10) for rank in range(len(words))]
    return tuple(" ".join(source.choices(words, weights, k=source.randint(8, 20))).capitalize() + "." for _ in range(4000))


def words(source: random.Random, size: int) -> str:
    """About `size` characters of prose without meaning."""
    sentences = _sentences()
    parts: list[str] = []
    length = 0
    while length < size:
        part = source.choice(sentences)
        parts.append(part)
        length += len(part) + 1
    return " ".join(parts)[:size]


@functools.cache
def _overhead(size: int) -> int:
    return _event(0, _PLACEHOLDER, "x" * size).ByteSize() - size


def _event(number: int, event_id: str, text: str) -> event_pb2.SessionEvent:
    part = message_pb2.Part(text=text)
    message = message_pb2.ChatMessage(role=_ROLES[number % 2], parts=[part])
    return event_pb2.SessionEvent(event_id=event_id, author="agent-1", invocation_id="run-1", message=message)


def event(
    number: int, size: int, source: random.Random, event_id: str = _PLACEHOLDER, planted: str = ""
) -> event_pb2.SessionEvent:
    """An event of `size` bytes; with `planted` somewhere in its text."""

    text = words(source, max(size - _overhead(size) - len(planted.encode()) - 2 * bool(planted), 8))
    if planted:
        middle = text.find(" ", len(text) // 2)
        text = f"{text[:middle]} {planted} {text[middle + 1 :]}"
    return _event(number, event_id, text)


def session(name: str, user: str = "u000") -> session_pb2.SessionRef:
    """Names a session of the benchmark."""
    return session_pb2.SessionRef(app=APP, user_id=user, session_id=name)


class Template:
    """A serialized request with placeholders for event ids."""

    def __init__(self, request: bytes) -> None:
        self._chunks = request.split(_PLACEHOLDER.encode())
        self._ids = len(self._chunks) - 1
        self._tag = secrets.token_hex((_ID_WIDTH - _COUNTER_WIDTH) // 2)
        self._next = 0

    def fill(self) -> bytes:
        """The request with ids never used before."""
        first = self._next
        self._next += self._ids
        if self._ids == 1:
            return b"%b%b%b" % (self._chunks[0], f"{self._tag}{first:012x}".encode(), self._chunks[1])
        ids = [f"{self._tag}{number:012x}".encode() for number in range(first, self._next)]
        pairs = itertools.zip_longest(self._chunks, ids, fillvalue=b"")
        return b"".join(itertools.chain.from_iterable(pairs))


def _append(
    name: str, batch: int, size: int, user: str = "u000", *, named: bool = True
) -> event_service_pb2.AppendEventsRequest:
    source = random.Random(name)
    events = [event(number, size, source) for number in range(batch)]
    return event_service_pb2.AppendEventsRequest(session=session(name, user) if named else None, events=events)


def append_template(name: str, batch: int = 1, size: int = EVENT_BYTES, *, delta: bool = False) -> Template:
    """An append of `batch` events to one session. `delta`: it sets a value of the session's state to another one each time."""
    request = _append(name, batch, size)
    if delta:
        request.state_delta.session.set["step"] = f'"{_PLACEHOLDER}"'
    return Template(request.SerializeToString())


def pop_template(name: str) -> Template:
    """A request that pops one event."""
    request = event_removal_pb2.PopEventsRequest(session=session(name), count=1, operation_id=_PLACEHOLDER)
    return Template(request.SerializeToString())


def list_sessions(order: str, size: int = 20, user: str = "u000") -> bytes:
    """A request for the first page of a user's sessions."""
    by = session_service_pb2.SessionOrder.Value(f"SESSION_ORDER_{order}")
    return session_service_pb2.ListSessionsRequest(app=APP, user_id=user, page_size=size, order_by=by).SerializeToString()


def stream_templates(name: str, batch: int = 1, size: int = EVENT_BYTES) -> tuple[Template, Template]:
    """The first message of an append stream, which names the session, and those that follow."""
    first = event_service_pb2.AppendStreamRequest(append=_append(name, batch, size))
    rest = event_service_pb2.AppendStreamRequest(append=_append(name, batch, size, named=False))
    return Template(first.SerializeToString()), Template(rest.SerializeToString())


def create(name: str, user: str = "u000") -> bytes:
    """A request that makes a session, or finds it."""
    return session_service_pb2.CreateSessionRequest(session=session(name, user), return_existing=True).SerializeToString()


def last(name: str, count: int = 50, user: str = "u000") -> bytes:
    """A request for the last events of a session."""
    window = filter_pb2.EventFilter(last_n=count)
    return event_service_pb2.ListEventsRequest(session=session(name, user), filter=window).SerializeToString()


def page(name: str, token: str, size: int = 1000, user: str = "u000") -> bytes:
    """A request for one page of a whole session."""
    return event_service_pb2.ListEventsRequest(
        session=session(name, user), page_size=size, page_token=token
    ).SerializeToString()


def search(user: str, term: str, size: int = 100) -> bytes:
    """A request for the events of a user that hold a term."""
    scope = search_service_pb2.UserScope(app=APP, user_id=user)
    return search_service_pb2.SearchEventsRequest(
        user=scope, query=term, page_size=size, mode=search_pb2.SEARCH_MODE_SUBSTRING
    ).SerializeToString()


@functools.cache
def _planted(per_user: int) -> dict[int, str]:
    """What is put into which of a user's events: spread evenly, never two into one."""
    planted: dict[int, str] = {}
    for item in PLANTS:
        step = per_user // (item.hits + 1)
        for hit in range(item.hits):
            position = next(number for number in range(step * (hit + 1), per_user) if number not in planted)
            planted[position] = _PLANTED.get(item.term, item.term)
    return planted


def load(name: str, user: str, first: int, count: int, per_user: int, *, size: int, batch: int, plant: bool) -> Iterator[bytes]:
    """Appends that fill a session with `count` events, being those from `first` on of the user's `per_user`."""
    source = random.Random(f"{user}/{name}")
    planted = _planted(per_user) if plant else {}
    for start in range(0, count, batch):
        numbers = range(start, min(start + batch, count))
        events = [event(number, size, source, f"{name}-{number:010d}", planted.get(first + number, "")) for number in numbers]
        yield event_service_pb2.AppendEventsRequest(session=session(name, user), events=events).SerializeToString()


def tokens(job: dict[str, Any]) -> list[str]:
    """The tokens of the file that a job names; none without a file."""
    found: list[str] = json.loads(Path(job["tokens"]).read_text()) if "tokens" in job else []
    return found
