"""The codec: what a store needs from the bytes of an event, without parsing them itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ...domain.model import BodyFacts, EventDraft, Usage
from ...domain.search import Texts, Words


class Reading(NamedTuple):
    """The fields of WindowEvent that are parsed from the body."""

    prompt_text: str
    content_bytes: int
    calls: tuple[str, ...]
    results: tuple[str, ...]
    result_names: tuple[str, ...]


class Codec(Protocol):
    """Encodes and parses events. Sealed bytes are those that `seal` returned."""

    @property
    def words_version(self) -> int:
        """Changes when the same bytes give other terms; the index is then derived again."""
        ...

    def seal(self, draft: EventDraft, seq: int, record_time: int) -> bytes:
        """Returns the bytes to store: the draft's body, unchanged, then the server's fields (seq, record time, sizes)."""
        ...

    def tombstone(self, body: bytes) -> bytes:
        """Returns what is left of sealed bytes when the event is erased: id, seq, times, role and branch. Contains no draft's
        body."""
        ...

    def text(self, body: bytes) -> str:
        """Returns the message text of sealed bytes: text parts joined by a line feed. Not folded."""
        ...

    def facts(self, body: bytes) -> BodyFacts:
        """Returns what filters compare of sealed bytes."""
        ...

    def usage(self, body: bytes) -> tuple[str, Usage]:
        """Returns the invocation id and the token usage of sealed bytes."""
        ...

    def texts(self, body: bytes) -> Texts:
        """Returns the searchable texts of sealed bytes. Not folded."""
        ...

    def words(self, body: bytes, time: int) -> Words:
        """Returns the terms of sealed bytes for the index; `time` is the event's."""
        ...

    def memory_words(self, content: bytes, time: int, author: str = "") -> Words:
        """Returns the terms of a memory: of its content, which is an encoded message, and its author."""
        ...

    def reading(self, body: bytes) -> Reading:
        """Returns the facts of sealed bytes that planners need and that have no column."""
        ...

    def ties(self, body: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Returns the ids of the tool calls that sealed bytes make, and of the calls that they answer."""
        ...


@dataclass(frozen=True, slots=True)
class Stated:
    """The fields of an event as its sealed bytes have them. `size` and `tokens` are 0 in a tombstone."""

    seq: int
    event_id: str
    role: int
    author: str
    author_role: str
    branch: str
    synthetic: bool
    size: int
    tokens: int
    erased: bool


@dataclass(frozen=True, slots=True)
class Readers:
    """Parse stored bytes; both raise ValueError for bytes that are none. `event`: of a sealed event; `message`: of a memory."""

    event: Callable[[bytes], Stated]
    message: Callable[[bytes], object]
