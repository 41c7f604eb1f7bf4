"""One deadline for all waits of a model call. `_deadline_aio` is the asynchronous counterpart."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, nullcontext, suppress

import httpx2


class Deadline:
    """Starts when it is created. Bounded waits raise TimeoutError after `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def bound(self) -> AbstractContextManager[None]:
        """Returns a context manager for calls that have a timeout of their own."""
        return nullcontext()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def body(self, response: httpx2.Response) -> Generator[bytes, None, None]:
        """Yields the body of a response in chunks.

        HTTP's timeout restarts with each read, so a slow body would never end. A timer shuts the connection down instead.
        """
        late = threading.Event()

        def shut() -> None:
            late.set()
            _shut(response)

        timer = threading.Timer(self.left, shut)
        timer.daemon = True
        timer.start()
        try:
            yield from response.iter_bytes()
            if late.is_set():
                raise TimeoutError  # an answer without a length seems to end when its connection does
        except httpx2.TransportError:
            if late.is_set():
                raise TimeoutError from None
            raise
        finally:
            timer.cancel()


def _shut(response: httpx2.Response) -> None:
    """Ends a read that blocks another thread, which closing does not. Does nothing without a socket."""
    stream = response.extensions.get("network_stream")
    connection = stream.get_extra_info("socket") if stream is not None else None
    if isinstance(connection, socket.socket):
        with suppress(OSError):
            socket.socket.shutdown(connection, socket.SHUT_RDWR)  # of TLS as well, whose own form breaks the reader
