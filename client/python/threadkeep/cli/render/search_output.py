"""The output of searches: marked text in one line, the neighbors of a hit, and remarks on the whole response."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from ...messages import text_of
from ...v1.event_pb2 import SessionEvent
from ...v1.memory_service_pb2 import SearchMemoryResponse
from ...v1.search_pb2 import Highlight, SearchField, SearchMode
from ...v1.search_service_pb2 import SearchEventsResponse
from ..errors import counted
from .output import cut, excerpt, plain, role_of, summary_of

_MARK = "bold yellow"


def marked(text: str, spans: Iterable[tuple[int, int]], width: int) -> Text:
    """One line of the text, cut to the width in cells so that the first span is in it, with the spans marked.

    Spans are in characters of `text`; white space is folded, so they are carried along character by character.
    """
    places = {at for start, end in spans for at in range(start, end)}
    line: list[tuple[str, bool]] = []
    for at, character in enumerate(text):
        for shown in " " if character.isspace() else plain(character):
            if shown != " " or (line and line[-1][0] != " "):
                line.append((shown, at in places))
    first = next((index for index, (_, hit) in enumerate(line) if hit), 0)
    start, end = cut([character for character, _ in line], first, width)
    made = Text("…" if start else "")
    for character, hit in line[start:end]:
        made.append(character, _MARK if hit else None)
    if end < len(line):
        made.append("…")
    return made


def hit_text(event: SessionEvent, highlights: Sequence[Highlight], query: str, width: int) -> Text:
    """Returns the text of an event with the matches marked, or a short form of the event if the match is elsewhere."""
    spans = [(each.start, each.end) for each in highlights if each.field == SearchField.SEARCH_FIELD_TEXT]
    if spans:
        return marked(text_of(event), spans, width)
    return excerpt(summary_of(event), query, width)


def around(event: SessionEvent, width: int) -> Text:
    """Returns a short form of a neighbor of a hit."""
    made = Text(f"#{event.seq} {role_of(event)}: ", "dim")
    made.append(excerpt(summary_of(event), "", width - len(made)).plain, "dim")
    return made


def blocks() -> Table:
    """A table of one column as wide as the terminal: a line for the place of a hit and lines for its text."""
    made = Table.grid()
    made.add_column(overflow="fold")
    return made


def remarks(answer: SearchEventsResponse | SearchMemoryResponse, *, hybrid: bool) -> list[str]:
    """Remarks on a response; `hybrid`: whether the mode was requested."""
    found = []
    if hybrid and answer.mode == SearchMode.SEARCH_MODE_RANKED:
        found.append("the embedder did not respond: these hits match words only; run it again to search by meaning too")
    if answer.rerank_failed:
        found.append("the reranker did not respond: the best hits have the order of the search; run it again")
    if isinstance(answer, SearchMemoryResponse):
        what, unsearched = ("memory", "memories"), answer.unsearched_memories
    else:
        what, unsearched = ("event", "events"), answer.unsearched_events
    if unsearched:
        found.append(f"{counted(unsearched, *what)} not indexed yet, and not searched; run it again later")
    if answer.semantic_lag:
        found.append(f"{counted(answer.semantic_lag, *what)} cannot be found by meaning yet; run it again later")
    return found


def highlights_json(highlights: Iterable[Highlight]) -> list[dict[str, object]]:
    """Returns highlights for programs."""
    return [
        {"field": SearchField.Name(each.field).removeprefix("SEARCH_FIELD_").lower(), "start": each.start, "end": each.end}
        for each in highlights
    ]
