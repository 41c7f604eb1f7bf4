"""A window before and after a compaction, drawn as two rows of turns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ...messages import text_of
from ...v1.compaction_pb2 import Compaction, CompactionPlan
from ...v1.event_pb2 import SessionEvent
from ...v1.message_pb2 import Role
from ...v1.session_pb2 import WindowCounters
from ..errors import counted
from .output import plain

WIDTH = 80  # without a terminal
_WIDEST = 110
_MARGIN = 10  # of the words before a row
_COUNTED = ("turns", "events", "tokens", "bytes")


class Fate(IntEnum):
    """The effect on a turn. A block of several turns shows the greatest."""

    ARCHIVED = 0
    SUMMARIZED = 1
    TRIMMED = 2
    KEPT = 3
    SUMMARY = 4


@dataclass(frozen=True, slots=True)
class _Look:
    block: str
    ascii: str
    style: str
    meaning: str


_LOOKS = {
    Fate.KEPT: _Look("█", "#", "green", "kept"),
    Fate.TRIMMED: _Look("▄", "=", "yellow", "trimmed: it stays, some of its events are archived"),
    Fate.SUMMARIZED: _Look("▒", ":", "magenta", "summarized and archived"),
    Fate.ARCHIVED: _Look("░", ".", "bright_black", "archived: out of the window, still stored and searchable"),
    Fate.SUMMARY: _Look("S", "S", "bold cyan", "summary"),
}


@dataclass(slots=True)
class _Turn:
    events: list[SessionEvent] = field(default_factory=list)
    summary: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """One or several turns of the window, before and after the compaction; None: removed."""

    before: Fate | None
    after: Fate | None


def cells(window: Sequence[SessionEvent], plan: CompactionPlan) -> list[Cell]:
    """The window's turns and summaries, in order, with the new summary at its place. SYSTEM events are not drawn."""
    archived = set(plan.archive_event_ids)
    gone = Fate.SUMMARIZED if _summaries(plan) else Fate.ARCHIVED
    places = {each.before_event_id for each in plan.inserts if _holds_summary(each.events)}
    made: list[Cell] = []
    for turn in _turns(window):
        if places & {event.event_id for event in turn.events}:
            made.append(Cell(None, Fate.SUMMARY))
        said = [event for event in turn.events if event.message.role != Role.ROLE_SYSTEM]
        if not said:
            continue
        leaving = sum(event.event_id in archived for event in said)
        if leaving == len(said):
            made.append(Cell(gone, None))
        else:
            fate = Fate.SUMMARY if turn.summary else Fate.TRIMMED if leaving else Fate.KEPT
            made.append(Cell(fate, fate))
    if "" in places:
        made.append(Cell(None, Fate.SUMMARY))
    return made


def _turns(window: Sequence[SessionEvent]) -> list[_Turn]:
    """Groups events by turns. A summary, which is a turn of synthetic events, is a separate group; so are events before the
    first turn."""
    turns: list[_Turn] = []
    for event in window:
        summary = event.synthetic and event.message.role != Role.ROLE_TOOL
        starts = event.message.role == Role.ROLE_USER and (summary or not event.branch)
        if not turns or starts or turns[-1].summary is not summary:
            turns.append(_Turn(summary=summary))
        turns[-1].events.append(event)
    return turns


def _holds_summary(events: Iterable[SessionEvent]) -> bool:
    return any(event.message.role == Role.ROLE_ASSISTANT for event in events)


def _summaries(plan: CompactionPlan) -> list[SessionEvent]:
    return [event for each in plan.inserts for event in each.events if event.message.role == Role.ROLE_ASSISTANT]


def merged(made: Sequence[Cell], most: int) -> tuple[list[Cell], int]:
    """Limits the number of cells and the turns per cell; counts from the newest, with a separate cell for a new summary."""
    room = most - sum(cell.before is None for cell in made)
    turns = sum(cell.before is not None for cell in made)
    share = max(1, -(-turns // max(1, room - 1)) if turns > room else 1)
    out: list[Cell] = []
    run: list[Cell] = []

    def flush() -> None:
        if run:
            fates = [cell.after for cell in run if cell.after is not None]
            out.append(Cell(max(cell.before for cell in run if cell.before is not None), max(fates) if fates else None))
            run.clear()

    for cell in reversed(made):
        if cell.before is None:
            flush()
            out.append(cell)
            continue
        run.append(cell)
        if len(run) == share:
            flush()
    flush()
    return out[::-1], share


class Picture:
    """The effect of a compaction, or of a dry run, on a window."""

    def __init__(self, window: Sequence[SessionEvent], plan: CompactionPlan, done: Compaction | None, *, ascii: bool) -> None:  # noqa: A002
        self._cells = cells(window, plan)
        self._plan = plan
        self._done = done
        self._ascii = ascii
        names = set(plan.archive_event_ids)
        self._archived = sorted(event.seq for event in window if event.event_id in names)

    def print(self, console: Console) -> None:
        """Draws it in the width of the console, within limits."""
        width = min(console.width, _WIDEST) if console.is_terminal else WIDTH
        for part in (self._rows(width), self._counters(), self._facts(width)):
            console.print(part, width=width, soft_wrap=False)
            console.print()

    def _rows(self, width: int) -> RenderableType:
        shown, share = merged(self._cells, width - _MARGIN)
        wide = max(1, min(6, (width - _MARGIN) // max(1, len(shown)) - 1))
        gap = " " if (wide + 1) * len(shown) <= width - _MARGIN else ""
        rows = Table.grid(padding=(0, 2, 0, 0))
        rows.add_column(no_wrap=True, min_width=_MARGIN - 2)
        rows.add_column(no_wrap=True)
        for name, fates in (
            ("before", [cell.before for cell in shown]),
            ("after", [cell.after for cell in shown]),
        ):
            row = Text()
            for fate in fates:
                row.append(*self._block(fate, wide))
                row.append(gap)
            rows.add_row(Text(name, "bold"), row)
        used = {fate for cell in shown for fate in (cell.before, cell.after) if fate is not None}
        rows.add_row("", "")
        for fate in sorted(used, reverse=True):
            look = _LOOKS[fate]
            mark = Text(look.ascii if self._ascii else look.block, look.style)
            rows.add_row("", Text.assemble(mark, "  ", look.meaning))
        rows.add_row("", Text("a block is a turn" if share == 1 else f"a block is up to {share:,} turns", "dim"))
        return rows

    def _block(self, fate: Fate | None, wide: int) -> tuple[str, str]:
        if fate is None:
            return " " * wide, ""
        look = _LOOKS[fate]
        if fate is Fate.SUMMARY:
            return look.block.center(wide), look.style
        return (look.ascii if self._ascii else look.block) * wide, look.style

    def _counters(self) -> Table:
        before, after = (self._done or self._plan).before, (self._done or self._plan).after
        made = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
        made.add_column("", min_width=_MARGIN - 3, style="bold")
        for name in _COUNTED:
            made.add_column(name, justify="right")
        made.add_row("before", *(f"{getattr(before, name):,}" for name in _COUNTED))
        made.add_row("after", *(f"{getattr(after, name):,}" for name in _COUNTED))
        made.add_row("", *(Text(_change(before, after, name), "dim") for name in _COUNTED))
        return made

    def _facts(self, width: int) -> RenderableType:
        done, plan = self._done, self._plan
        rows = Table.grid(padding=(0, 2, 0, 0))
        rows.add_column(no_wrap=True, min_width=_MARGIN - 2, style="bold")
        rows.add_column(overflow="fold")
        count = done.archived_events if done else len(plan.archive_event_ids)
        if done:
            first, last = done.first_seq, done.last_seq
        else:
            first, last = (self._archived[0], self._archived[-1]) if self._archived else (0, 0)
        rows.add_row("archived", f"{counted(count, 'event')}, seq {first:,} to {last:,}" if first else counted(count, "event"))
        rows.add_row("strategy", plain((done or plan).strategy))
        if plan.branch:
            rows.add_row("branch", plain(plan.branch))
        if done:
            rows.add_row("id", plain(done.compaction_id))
        texts = [text for event in _summaries(plan) if (text := text_of(event))]
        if not texts and plan.HasField("summary_prompt"):
            request = plan.summary_prompt
            note = f"not counted yet: {len(request.prompt):,} characters in, at most {request.max_tokens:,} tokens out"
            rows.add_row("summary", note)
        panels = [
            Panel(
                Text(plain(text)),
                title="summary",
                title_align="left",
                box=box.ASCII if self._ascii else box.ROUNDED,
                width=width,
            )
            for text in texts
        ]
        return Group(rows, *(Padding(panel, (1, 0, 0, 0)) for panel in panels))


def _change(before: WindowCounters, after: WindowCounters, name: str) -> str:
    old, new = getattr(before, name), getattr(after, name)
    return f"{(new - old) / old:+.0%}" if old and new != old else ""
