"""One deadline over everything that a call to a model waits for. `_deadline_aio` is the same for coroutines."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, nullcontext, suppress

import httpx2


class Deadline:
    """Begins to count when it is made. What it bounds raises TimeoutError once `seconds` are over."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def bound(self) -> AbstractContextManager[None]:
        """Around what waits by itself no longer than what is left when it begins."""
        return nullcontext()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def body(self, response: httpx2.Response) -> Generator[bytes, None, None]:
        """What the response brings, as it comes.

        The timeout of HTTP is of each read anew; one that drips would never end. So the connection is shut from outside.
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
    """Ends a read that waits in another thread: closing would not. Does nothing to a connection that is not a socket's."""
    stream = response.extensions.get("network_stream")
    connection = stream.get_extra_info("socket") if stream is not None else None
    if isinstance(connection, socket.socket):
        with suppress(OSError):
            socket.socket.shutdown(connection, socket.SHUT_RDWR)  # of TLS as well, whose own form breaks the reader
