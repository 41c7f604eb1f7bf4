"""A process that derives what the index keeps of events, next to the server's: analyzing text takes most of the indexer's time
in Python, during which the server's process could run nothing else.

It has no database. It ends with the server, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Final

from ...contract.codec import Codec
from .derivation import Derived, Sealed, derive

EXECUTABLE: Final = "THREADKEEP_PYTHON"
"""The variable with the Python to run, where the server runs inside another program."""

_ANSWERS_WITHIN_S: Final = 60.0
_NICE: Final = 5  # callers come first


class DerivingProcess:
    """The process, which starts now. `send` and `receive` block: call them outside the event loop's thread.

    Raises OSError and EOFError if it cannot be started, or has ended.
    """

    def __init__(self, codec: Codec, *, with_words: bool) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self._process = subprocess.Popen(  # noqa: S603 - this module
                (os.environ.get(EXECUTABLE) or sys.executable, "-m", __spec__.name, str(theirs.fileno())),
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the server
                env=_environment(),
            )
            self._connection = Connection(ours.detach())
        self._sent = 0
        self._connection.send((codec, with_words))

    def send(self, events: Sequence[Sealed]) -> int:
        """Returns the number of the request. The process reads requests while it works, so this does not wait for results."""
        self._sent += 1
        self._connection.send((self._sent, events))
        return self._sent

    def receive(self, request: int) -> list[Derived]:
        """Returns the results of a request; those of earlier ones, which a transaction left that failed, are dropped."""
        while True:
            if not self._connection.poll(_ANSWERS_WITHIN_S):
                raise OSError(f"no result within {_ANSWERS_WITHIN_S:g} s")
            number, derived = self._connection.recv()
            if number == request:
                results: list[Derived] = derived
                return results

    def close(self) -> None:
        """Ends the process; a thread that waits for it gets EOFError. Our end closes with the last reference, for a thread may
        still use it."""
        self._process.kill()
        self._process.wait()


def _environment() -> dict[str, str]:
    """Returns the server's, without what only the program around it needs."""
    program = ("PYTHONHOME", "LD_PRELOAD") if EXECUTABLE in os.environ else ()
    kept = {name: value for name, value in os.environ.items() if name not in program}
    return kept | {"PYTHONPATH": os.pathsep.join(sys.path)}


def _serve(connection: Connection) -> None:
    codec, with_words = connection.recv()
    requests: queue.SimpleQueue[tuple[int, Sequence[Sealed]] | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(connection, requests), daemon=True).start()
    while request := requests.get():
        number, events = request
        connection.send((number, derive(codec, events, with_words)))


def _read(connection: Connection, requests: queue.SimpleQueue[tuple[int, Sequence[Sealed]] | None]) -> None:
    """Reads ahead, or both sides could wait until the other one reads."""
    with contextlib.suppress(EOFError, OSError):
        while True:
            requests.put(connection.recv())
    requests.put(None)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the end of the server ends it, after the server's drain
    os.nice(_NICE)
    with contextlib.suppress(EOFError, OSError):
        _serve(Connection(int(sys.argv[1])))
