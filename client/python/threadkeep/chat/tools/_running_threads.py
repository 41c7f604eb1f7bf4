"""Runs tools. `_running_aio` is the asynchronous counterpart."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import TypeVar

from ..runtime.threads import in_new_thread
from ._running_aio import gave_up
from .tool import Run, ToolContext

_T = TypeVar("_T")


def run_tool(run: Run, arguments: str, context: ToolContext, timeout: float | None) -> object:
    """Returns the result of the tool. It runs in the caller's thread, or with a timeout in a new one.

    Raises TimeoutError after `timeout` seconds; the thread cannot be stopped and its result is dropped. Raises TypeError for
    an awaitable.
    """
    if timeout is None:
        return _at_once(run(arguments, context))
    future = in_new_thread(lambda: _at_once(run(arguments, context)))
    try:
        return future.result(timeout)
    except TimeoutError:
        if future.done():  # the tool's own
            raise
        raise TimeoutError(gave_up(timeout)) from None


def gather(jobs: Sequence[Callable[[], _T]], at_most: int) -> list[_T]:
    """Returns the results of the jobs, in order; at most `at_most` run at the same time. Raises the error of a job.

    After an interrupt no further job starts; running ones cannot be stopped.
    """
    outcomes: dict[int, _T] = {}
    waiting = iter(enumerate(jobs))
    taking, stopped = threading.Lock(), threading.Event()

    def work() -> None:
        while not stopped.is_set():
            with taking:
                taken = next(waiting, None)
            if taken is None:
                return
            at, job = taken
            outcomes[at] = copy_context().run(job)

    try:
        for worker in [in_new_thread(work) for _ in range(min(at_most, len(jobs)))]:
            worker.result()
    finally:
        stopped.set()
    return [outcomes[at] for at in range(len(jobs))]


def _at_once(found: object) -> object:
    if inspect.isawaitable(found):
        if inspect.iscoroutine(found):
            found.close()
        raise TypeError("the tool is a coroutine function, which cannot be awaited here; use AsyncChatClient")
    return found
