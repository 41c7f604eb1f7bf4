"""Where events are analyzed for the index: in the server's process, or many of them in a process of their own."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from ...contract.codec import Codec
from ..engine.base import Engine
from .derivation import Derived, Sealed, derive
from .deriving_process import DerivingProcess

_log = logging.getLogger(__name__)

_CHUNK: Final = 128
_IDLE_S: Final = 30.0


class EventText(NamedTuple):
    """An event with the data from which its text is derived."""

    id: int
    session: int
    time: int
    body: bytes
    tenant: str
    app: str
    user_id: str


Chunk = tuple[Sequence[EventText], Sequence[Derived]]
"""Events, and what is derived of each."""


class Deriver:
    """Derives what the index keeps, on request in another process where there is a second core. It ends when it is idle."""

    def __init__(self, engine: Engine, codec: Codec, *, with_words: bool) -> None:
        self._engine = engine
        self._codec = codec
        self._with_words = with_words
        self._process: DerivingProcess | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._used = 0.0
        self.has_process = _cores() > 1
        """False with one core, and after the process failed."""

    def derive(self, events: Sequence[EventText], *, by_process: bool) -> Iterator[Chunk]:
        """Yields the events in their order. Each has a body and a time. `by_process`: if possible."""
        chunks = [events[start : start + _CHUNK] for start in range(0, len(events), _CHUNK)]
        if not (by_process and self.has_process):
            for chunk in chunks:
                derived = partial(derive, self._codec, _sealed(chunk), self._with_words)
                yield chunk, self._engine.run_in_thread(derived)
            return
        try:
            yield from self._derive_by_process(chunks)
        except (OSError, EOFError) as exc:
            self.has_process = False
            if not self._closed:
                _log.warning("the process that analyzes events for the index failed (%r); the server does it from now on", exc)
            self._end()
            raise

    def _derive_by_process(self, chunks: Sequence[Sequence[EventText]]) -> Iterator[Chunk]:
        """The process derives the next chunk while a transaction writes one."""
        process = self._engine.run_in_thread(self._open)
        requests: deque[tuple[Sequence[EventText], int]] = deque()
        for chunk in chunks:
            requests.append((chunk, self._engine.run_in_thread(partial(process.send, _sealed(chunk)))))
            if len(requests) > 1:
                yield self._received(process, *requests.popleft())
        for request in requests:
            yield self._received(process, *request)

    def _received(self, process: DerivingProcess, events: Sequence[EventText], request: int) -> Chunk:
        return events, self._engine.run_in_thread(partial(process.receive, request))

    def _open(self) -> DerivingProcess:
        with self._lock:
            if self._closed:
                raise EOFError("closed")
            self._used = time.monotonic()
            if self._process is None:
                self._process = DerivingProcess(self._codec, with_words=self._with_words)
            return self._process

    def close_idle(self) -> None:
        """Ends a process that has had nothing to do for a while. Nothing derives."""
        if self._process is not None and time.monotonic() - self._used > _IDLE_S:
            self._end()

    def close(self) -> None:
        """Ends the process. A transaction that needs it fails, and later ones do."""
        self._closed = True
        self._end()

    def _end(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.close()


def _cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _sealed(events: Sequence[EventText]) -> list[Sealed]:
    return [Sealed(event.body, event.time) for event in events]
