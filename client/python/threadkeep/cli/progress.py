"""Progress of a long job, on standard error: a bar on a terminal, otherwise periodic lines."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator

from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from .errors import counted
from .render.output import console

_PAUSE = 5.0  # seconds between two lines without a terminal


class Meter:
    """Called with the progress of the job, at any rate."""

    def __init__(self, verb: str, bar: Progress | None) -> None:
        self._verb = verb
        self._bar = bar
        self._task = None if bar is None else bar.add_task(verb, total=None, sessions=0, events=0)
        self._began = self._told = time.monotonic()

    def at(self, sessions: int, events: int, done: float = 0, total: float | None = None) -> None:
        """Shows the numbers of sessions and events; `done` of `total` if the total is known."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total, sessions=sessions, events=events)
            return
        now = time.monotonic()
        if now - self._told >= _PAUSE:
            self._told = now
            share = f", {100 * done / total:.0f} %" if total else ""
            rate = events / max(now - self._began, 1e-9)
            line = f"{self._verb}: {counted(sessions, 'session')}, {counted(events, 'event')}, {rate:,.0f} events/s{share}"
            print(line, file=sys.stderr, flush=True)


class _Counts(ProgressColumn):
    def get_table_column(self) -> Column:
        return Column(no_wrap=True)

    def render(self, task: Task) -> Text:
        sessions, events = task.fields["sessions"], task.fields["events"]
        rate = events / max(task.elapsed or 0.0, 1e-9)
        return Text(f"{counted(sessions, 'session')}, {counted(events, 'event')}, {rate:,.0f}/s")


@contextlib.contextmanager
def meter(verb: str, *, quiet: bool = False) -> Iterator[Meter]:
    """A meter for one job; a quiet one shows nothing on a terminal but still prints lines elsewhere."""
    screen = console(to_stderr=True)
    if not screen.is_terminal or quiet:
        yield Meter(verb, None)
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=16), _Counts(), TimeElapsedColumn())
    with Progress(*columns, console=screen) as bar:
        yield Meter(verb, bar)
