"""Running tools for callers that await; `_running_threads` does the same for those that block."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from ..runtime.threads import in_new_thread
from .tool import Run, ToolContext

_T = TypeVar("_T")


async def run_tool(run: Run, arguments: str, context: ToolContext, timeout: float | None) -> object:
    """What the tool returns. Coroutine functions run in the caller's loop, others in a thread, so that they do not hold it up.

    Raises TimeoutError after `timeout` seconds. When that happens, or the caller is cancelled, a coroutine is cancelled; of a
    thread only the result is dropped.
    """
    limit = asyncio.timeout(timeout)
    try:
        async with limit:
            return await _outcome(run, arguments, context)
    except TimeoutError:
        if limit.expired():
            raise TimeoutError(gave_up(timeout)) from None
        raise
    except asyncio.CancelledError as cancelled:
        caller = asyncio.current_task()
        if caller is None or caller.cancelling():
            raise
        raise RuntimeError("the tool cancelled itself") from cancelled  # the turn was not: this is the tool's failure


async def gather(jobs: Sequence[Callable[[], Awaitable[_T]]], at_most: int) -> list[_T]:
    """What each job returns, in order, when all have; no more than `at_most` of them run at once. Raises what a job raises.

    Then, or when the caller is cancelled, the others are cancelled.
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
    """What the model is told of a tool that is too slow."""
    return f"no answer within {timeout:g} seconds; whether anything was done is not known"


async def _outcome(run: Run, arguments: str, context: ToolContext) -> object:
    if inspect.iscoroutinefunction(run) or inspect.iscoroutinefunction(getattr(run, "__call__", None)):  # noqa: B004
        found: object = run(arguments, context)
    else:
        found = await asyncio.wrap_future(in_new_thread(lambda: run(arguments, context)))
    return await found if inspect.isawaitable(found) else found
