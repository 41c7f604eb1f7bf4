"""Reading a stream of the server; `frames_aio` does the same for the asynchronous client.

A blocking read has no timeout, so another thread watches over it and cancels a call that has fallen silent.
"""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import grpc

from .._rpc_errors import from_rpc_error
from ..errors import Unavailable

Frame = TypeVar("Frame")


def pause(seconds: float, until: threading.Event | None = None) -> None:
    """Wait this long, or until the event is set."""
    (until or threading.Event()).wait(seconds)


class LoopOwner:
    """Threads share a channel; see `frames_aio`."""

    def is_new(self) -> bool:
        """Always False."""
        return False


class Frames(Generic[Frame]):
    """The messages of a call. Errors are typed; `silence` seconds without a message are Unavailable. Leaving ends the call."""

    def __init__(self, call: Any, silence: float, address: str) -> None:
        self._call, self._silence, self._address = call, silence, address
        self._reading_since: float | None = None
        self._silent = False
        self._left = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, name="threadkeep-silence", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._left.set()
        self._call.cancel()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Frame:
        self._reading_since = time.monotonic()
        try:
            frame: Frame = next(self._call)
        except grpc.RpcError as error:
            if self._silent:
                raise Unavailable(f"no heartbeat from {self._address} for {self._silence:g} s") from None
            raise from_rpc_error(error, self._address) from None
        finally:
            self._reading_since = None  # what the caller does with a message is not the server's silence
        return frame

    def _watch(self) -> None:
        wait = self._silence
        while not self._left.wait(wait):
            since = self._reading_since
            wait = self._silence if since is None else since + self._silence - time.monotonic()
            if wait <= 0:
                self._silent = True
                self._call.cancel()
                return
