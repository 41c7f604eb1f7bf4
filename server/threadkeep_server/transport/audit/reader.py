"""Reads the file of the audit log from its end, a bounded part at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

from ...domain.audit import AuditPage, AuditPlace, AuditQuery, AuditRecord
from ...domain.errors import AuditLogUnavailable, InvalidPageToken
from ...domain.model import SECOND_NS

_MOST_BYTES: Final = 2 << 20
"""How much of the file a read looks at: some 7,000 records."""
_BLOCK: Final = 64 << 10
_LATE_NS: Final = 60 * SECOND_NS
"""Records that are older than the times that a caller wants may come so long after newer ones: calls end in any order, and a
clock may be set back."""
_NUMBERS: Final = (1 << 63) - 1


class AuditReader:
    """Reads the log at a path that an AuditFile writes."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, query: AuditQuery) -> AuditPage:
        """Returns a page of what the query admits. Raises InvalidPageToken if the file was rotated or truncated since, and
        AuditLogUnavailable."""
        try:
            with self._path.open("rb") as file:
                return _page(file, query)
        except FileNotFoundError:  # rotated, and not written since
            return AuditPage()
        except OSError as error:
            raise AuditLogUnavailable(error.strerror or type(error).__name__) from None


def _page(file: BinaryIO, query: AuditQuery) -> AuditPage:
    found = os.fstat(file.fileno())
    number, end = found.st_ino & _NUMBERS, found.st_size
    if query.before is not None:
        if query.before.file != number or not 0 <= query.before.offset <= end:
            raise InvalidPageToken("is of an audit log that was rotated since; start again from the first page")
        end = query.before.offset
    floor = max(0, end - _MOST_BYTES)
    # Other tenants' lines, of which there may be many, are not parsed. A quote in a value would be escaped.
    tenant = b'"tenant": ' + json.dumps(query.caller.tenant, ensure_ascii=False).encode("utf-8", "replace")
    records: list[AuditRecord] = []
    reached = floor
    for start, line in _lines(file, end, floor):
        record = _record(line) if tenant in line else None
        if record is not None and query.admits(record):
            if _is_over(record, query):
                return AuditPage(tuple(records))
            if query.filter.matches(record):
                records.append(record)
        reached = start
        if len(records) == query.limit:
            break
    return AuditPage(tuple(records), AuditPlace(number, reached) if reached else None)


def _is_over(record: AuditRecord, query: AuditQuery) -> bool:
    """Whether this call, and so those before it in the file, ended before the times that the caller wants."""
    if query.filter.from_ns is None:
        return False
    return record.time_ns + int(record.duration_ms * 1_000_000) + _LATE_NS < query.filter.from_ns


def _lines(file: BinaryIO, end: int, floor: int) -> Iterator[tuple[int, bytes]]:
    """Yields the lines that begin between two offsets, and where each begins, from the last to the first. One that may begin
    before the floor is left to the next read."""
    position, rest = end, b""
    while position > floor:
        size = min(_BLOCK, position - floor)
        position -= size
        file.seek(position)
        data = file.read(size) + rest
        start = position + len(data)
        rest, *lines = data.split(b"\n")
        for line in reversed(lines):
            start -= len(line)
            if line:
                yield start, line
            start -= 1
    if position == 0 and rest:
        yield 0, rest


def _record(line: bytes) -> AuditRecord | None:
    """Returns the record of a line; None for one that is torn, or not a record."""
    try:
        found: Any = json.loads(line)
        began = datetime.fromisoformat(found["time"])
        target = found["target"]
        return AuditRecord(
            time_ns=round(began.timestamp() * 1e6) * 1000,
            method=str(found["method"]),
            tenant=str(found["tenant"]),
            caller_user_id=found["caller_user_id"],
            caller_app=found["caller_app"],
            peer=str(found["peer"] or ""),
            session_id=str(target.get("session_id", "")),
            target_json=json.dumps(target, ensure_ascii=False),
            outcome=str(found["outcome"]),
            duration_ms=float(found["duration_ms"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
