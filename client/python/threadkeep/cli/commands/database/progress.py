"""Progress of the work on a database, on standard error: a bar on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ...errors import counted
from ...render.output import console

_PAUSE_S = 5.0


@contextlib.contextmanager
def reporting() -> Iterator[Callable[[Any], None]]:
    """Yields what is called with the progress: the part, its numbers of sessions and events, and how much of it is done."""
    screen = console(to_stderr=True)
    if not screen.is_terminal:
        yield _Lines()
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=16), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda at: bar.update(task, description=_described(at), completed=at.done, total=at.total or None)


class _Lines:
    def __init__(self) -> None:
        self._printed = time.monotonic()

    def __call__(self, at: Any) -> None:
        now = time.monotonic()
        if now - self._printed >= _PAUSE_S:
            self._printed = now
            share = f", {100 * at.done / at.total:.0f} %" if at.total else ""
            print(f"{_described(at)}{share}", file=sys.stderr, flush=True)


def _described(at: Any) -> str:
    if not at.events:
        return str(at.part)
    return f"{at.part}: {counted(at.sessions, 'session')}, {counted(at.events, 'event')}"
