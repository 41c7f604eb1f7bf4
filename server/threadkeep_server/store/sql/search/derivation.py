"""What the index keeps of an event. No database is imported, so that a process that derives is small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ....domain.search import Words
from ....domain.text import fold
from ...contract.codec import Codec
from ...contract.terms import as_text


class Sealed(NamedTuple):
    """The bytes of an event, and its time in nanoseconds since 1970."""

    body: bytes
    time: int


class Derived(NamedTuple):
    """The folded text of an event, and its terms; None: the index has none."""

    text: str
    words: str | None


def derive(codec: Codec, events: Sequence[Sealed], with_words: bool) -> list[Derived]:
    """Returns what the index keeps of each event."""
    return [
        Derived(fold(codec.text(body)), terms_text(codec.words(body, time)) if with_words else None) for body, time in events
    ]


def terms_text(words: Words) -> str:
    """Returns terms as they are stored: text columns cannot hold U+0000."""
    return as_text(words).replace("\x00", "\ufffd")
