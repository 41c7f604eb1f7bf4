"""The file of the audit log: JSON lines, written by a thread, so that no call waits for the disk."""

from __future__ import annotations

import json
import logging
import os
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

STDERR: Final = "-"
_MOST_WAITING: Final = 20_000
_AT_ONCE: Final = 1_000
_LOOKS_EVERY_S: Final = 1.0
_COMPLAINS_EVERY_S: Final = 60.0
_CLOSES_WITHIN_S: Final = 5.0
_STDERR_FILE: Final = 2

_log = logging.getLogger(__name__)


class AuditFile:
    """Appends records to a file, which it creates with mode 0600, or to standard error (`-`).

    A file that was renamed or removed, as logrotate does, is opened again within a second. Records beyond 20,000 that wait, and
    those of a failed write, are lost: `lost` counts them and the log reports them. Raises OSError if the file cannot be opened.
    """

    def __init__(self, name: str) -> None:
        self._path = None if name == STDERR else Path(name)
        self._file = self._open()
        self._looked = time.monotonic()
        self._complained = float("-inf")
        self._torn = False
        self._waiting: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._lost = 0
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
        self._thread.start()

    def write(self, record: dict[str, Any]) -> None:
        """Passes the record on. Does not block."""
        if self._waiting.qsize() < _MOST_WAITING:
            self._waiting.put(record)
        else:
            self._lose(1, "the disk is too slow")

    def lost(self) -> int:
        """Returns the number of records that were not written."""
        return self._lost

    def close(self) -> None:
        """Writes what waits, for up to 5 s."""
        self._waiting.put(None)
        self._thread.join(_CLOSES_WITHIN_S)

    def _open(self) -> int:
        if self._path is None:
            return _STDERR_FILE
        return os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def _run(self) -> None:
        ended = False
        while not ended:
            records = [self._waiting.get()]
            with suppress(queue.Empty):
                while len(records) < _AT_ONCE:
                    records.append(self._waiting.get_nowait())
            ended = None in records
            self._append([each for each in records if each is not None])
        if self._path is not None:
            os.close(self._file)

    def _append(self, records: Sequence[dict[str, Any]]) -> None:
        data = b"".join(map(_line, records))
        try:
            self._follow()
            data = b"\n" + data if self._torn else data
            while data:
                data = data[os.write(self._file, data) :]
                self._torn = bool(data)
        except OSError as exc:
            self._lose(len(records), exc.strerror or type(exc).__name__)

    def _follow(self) -> None:
        """Opens the file again if its name is another file's by now, or nobody's."""
        if self._path is None or time.monotonic() - self._looked < _LOOKS_EVERY_S:
            return
        self._looked = time.monotonic()
        with suppress(FileNotFoundError):
            if os.path.samestat(self._path.stat(), os.fstat(self._file)):
                return
        opened = self._open()
        os.close(self._file)
        self._file, self._torn = opened, False

    def _lose(self, count: int, why: str) -> None:
        self._lost += count
        if time.monotonic() - self._complained > _COMPLAINS_EVERY_S:
            self._complained = time.monotonic()
            _log.error("audit records lost so far: %d (%s); calls are served regardless", self._lost, why)


@contextmanager
def audit_file(name: str) -> Iterator[AuditFile]:
    """Opens the file while the context is open. Raises OSError."""
    file = AuditFile(name)
    try:
        yield file
    finally:
        file.close()


def _line(record: dict[str, Any]) -> bytes:
    began = datetime.fromtimestamp(record["time_ns"] / 1e9, UTC).isoformat(timespec="microseconds")
    shown = {"time": began.replace("+00:00", "Z"), **{name: value for name, value in record.items() if name != "time_ns"}}
    return json.dumps(shown, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
