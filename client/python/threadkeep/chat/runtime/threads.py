"""A function in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import TypeVar

_T = TypeVar("_T")


def in_new_thread(function: Callable[[], _T]) -> Future[_T]:
    """Begins it in a new thread, with the caller's context variables. Nothing waits for that thread: one that never ends keeps
    neither a pool's place nor the program from ending."""
    future: Future[_T] = Future()
    context = copy_context()

    def work() -> None:
        try:
            future.set_result(context.run(function))
        except StopIteration as error:  # which a future of asyncio cannot hold
            future.set_exception(RuntimeError(f"it raised StopIteration: {error}"))
        except BaseException as error:
            future.set_exception(error)

    future.set_running_or_notify_cancel()
    threading.Thread(target=work, name="threadkeep-tool", daemon=True).start()
    return future
