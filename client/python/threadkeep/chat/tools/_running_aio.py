"""Runs tools. `_running_threads` is the synchronous counterpart."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from ..runtime.threads import in_new_thread
from .tool import Run, ToolContext

_T = TypeVar("_T")


async def run_tool(run: Run, arguments: str, context: ToolContext, timeout: float | None) -> object:
    """Returns the result of the tool. Coroutine functions run in the caller's loop, others in a thread, so that they do not
    block it.

    Raises TimeoutError after `timeout` seconds. A timeout or a canceled caller cancels a coroutine; the result of a thread is
    dropped.
    """
    limit = asyncio.timeout(timeout)
    try:
        async with limit:
            return await _outcome(run, arguments, context)
    except TimeoutError:
        if limit.expired():
            raise TimeoutError(gave_up(timeout)) from None
        raise
    except asyncio.CancelledError as canceled:
        caller = asyncio.current_task()
        if caller is None or caller.cancelling():
            raise
        raise RuntimeError("the tool canceled itself") from canceled  # only the tool, not the turn, was canceled


async def gather(jobs: Sequence[Callable[[], Awaitable[_T]]], at_most: int) -> list[_T]:
    """Returns the results of the jobs, in order; at most `at_most` run at the same time. Raises the error of a job.

    An error, or a canceled caller, cancels the other jobs.
    """
    places = asyncio.Semaphore(at_most)

    async def work(job: Callable[[], Awaitable[_T]]) -> _T:
        async with places:
            return await job()

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work(job)) for job in jobs]
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]


def gave_up(timeout: float | None) -> str:
    """Returns the message for the model after a timeout."""
    return f"no answer within {timeout:g} seconds; whether anything was done is not known"


async def _outcome(run: Run, arguments: str, context: ToolContext) -> object:
    if inspect.iscoroutinefunction(run) or inspect.iscoroutinefunction(getattr(run, "__call__", None)):  # noqa: B004
        found: object = run(arguments, context)
    else:
        found = await asyncio.wrap_future(in_new_thread(lambda: run(arguments, context)))
    return await found if inspect.isawaitable(found) else found
