"""Functions in threads of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import TypeVar

_T = TypeVar("_T")


def in_new_thread(function: Callable[[], _T]) -> Future[_T]:
    """Runs the function in a new daemon thread with the caller's context variables. A function that never returns blocks
    neither a pool nor the exit of the program."""
    future: Future[_T] = Future()
    context = copy_context()

    def work() -> None:
        try:
            future.set_result(context.run(function))
        except StopIteration as error:  # an asyncio future cannot hold StopIteration
            future.set_exception(RuntimeError(f"it raised StopIteration: {error}"))
        except BaseException as error:
            future.set_exception(error)

    future.set_running_or_notify_cancel()
    threading.Thread(target=work, name="threadkeep-tool", daemon=True).start()
    return future
