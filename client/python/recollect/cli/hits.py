"""How what a search found is shown: marked text in one line, and the events around it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.text import Text

from ..messages import text_of
from ..v1.event_pb2 import SessionEvent
from ..v1.recall_pb2 import Highlight, SearchField
from .output import excerpt, plain, role_of, summary_of

_MARK = "bold yellow"


def marked(text: str, spans: Iterable[tuple[int, int]], width: int) -> Text:
    """One line of the text, cut to the width so that the first span is in it, with the spans marked.

    Spans are in characters of `text`; white space is folded, so they are carried along character by character.
    """
    places = {at for start, end in spans for at in range(start, end)}
    line: list[tuple[str, bool]] = []
    for at, character in enumerate(text):
        for shown in " " if character.isspace() else plain(character):
            if shown != " " or (line and line[-1][0] != " "):
                line.append((shown, at in places))
    first = next((index for index, (_, hit) in enumerate(line) if hit), 0)
    start = max(0, min(first - width // 3, len(line) - width))
    made = Text("…" if start else "")
    for character, hit in line[start : start + width]:
        made.append(character, _MARK if hit else None)
    if start + width < len(line):
        made.append("…")
    return made


def hit_text(event: SessionEvent, highlights: Sequence[Highlight], query: str, width: int) -> Text:
    """What an event says, marked where it was found: its text, or if that is not where, all of it in brief."""
    spans = [(each.start, each.end) for each in highlights if each.field == SearchField.SEARCH_FIELD_TEXT]
    if spans:
        return marked(text_of(event), spans, width)
    return excerpt(summary_of(event), query, width)


def around(event: SessionEvent, width: int) -> Text:
    """A neighbour of a hit, in brief."""
    made = Text(f"#{event.seq} {role_of(event)}: ", "dim")
    made.append(excerpt(summary_of(event), "", width).plain, "dim")
    return made


def highlights_json(highlights: Iterable[Highlight]) -> list[dict[str, object]]:
    """Highlights as programs get them."""
    return [
        {"field": SearchField.Name(each.field).removeprefix("SEARCH_FIELD_").lower(), "start": each.start, "end": each.end}
        for each in highlights
    ]
