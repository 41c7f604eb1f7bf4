"""Reads JSON values from a file one by one: JSON lines, one document, or the elements of an array; never a whole large file."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from .items import Malformed, Origin

_PROBE = 8 * 1024 * 1024  # a longer first line is treated as a document without line breaks
_LARGEST = 256 * 1024 * 1024  # of one record
_CHUNK = 1024 * 1024
_BLANK = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON value and its place."""

    origin: Origin
    value: Any


class RecordReader:
    """Iterates over the records of a binary stream. `bytes_read`: the progress."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._name = name
        self._records = 0
        self._lines = 0
        self.bytes_read = 0

    def __iter__(self) -> Iterator[Record | Malformed]:
        first = self._next_line(_PROBE).removeprefix(codecs.BOM_UTF8)
        start = first.lstrip()[:1]
        if not start:
            return
        if start not in (b"{", b"["):
            yield self._malformed("not JSON: a file begins with { or [", fatal=True)
            return
        if len(first) >= _PROBE - 3 and not first.endswith(b"\n"):
            yield from self._document(first)
            return
        value, problem, unfinished = _parsed(first)
        if unfinished:
            yield from self._document(first)
            return
        line, malformed = self._lines, self._malformed(problem) if problem else None
        second = self._next_line()
        if not second and isinstance(value, list):
            yield from (self._record(element, line) for element in value)
        else:
            yield malformed or self._record(value, line)
        yield from self._each_line(second)

    def _next_line(self, limit: int = _LARGEST) -> bytes:
        """The next line that is not blank, or its first `limit` bytes; empty at the end."""
        while line := self._stream.readline(limit):
            self._lines += 1
            self.bytes_read += len(line)
            if line.strip():
                return line
        return b""

    def _each_line(self, line: bytes) -> Iterator[Record | Malformed]:
        while line:
            if len(line) >= _LARGEST:
                yield self._malformed(f"the line is longer than {_LARGEST // 1024**2} MiB", fatal=True)
                return
            value, problem, _ = _parsed(line)
            yield self._malformed(problem) if problem else self._record(value, self._lines)
            line = self._next_line()

    def _document(self, beginning: bytes) -> Iterator[Record | Malformed]:
        """The elements of one array, or values that follow each other over any number of lines."""
        text = _Text(beginning)
        in_array = text.skip(_BLANK) == "["
        text.position += in_array
        blank = _BLANK + "," if in_array else _BLANK
        while not text.problem:
            following = text.skip(blank)
            if following == "]" if in_array else text.ended and not following and not text.broken:
                return
            line = text.line
            if following and text.take():
                yield self._record(text.value, line)
            elif not text.problem and text.ended:
                text.problem = text.broken or "the file ends inside its array: it is truncated"
            elif not text.problem:
                raw = self._stream.read(max(_CHUNK, len(text.held)))
                self.bytes_read += len(raw)
                text.add(raw)
        self._lines = text.line
        yield self._malformed(text.problem, fatal=True)

    def _record(self, value: Any, line: int) -> Record:
        self._records += 1
        return Record(Origin(self._name, self._records, line), value)

    def _malformed(self, problem: str, *, fatal: bool = False) -> Malformed:
        self._records += 1
        return Malformed(Origin(self._name, self._records, max(self._lines, 1)), "", problem, fatal)


class _Text:
    """The unread part of a document.

    `problem`: why reading cannot continue, once set; `broken`: why the text ends before the file.
    """

    def __init__(self, beginning: bytes) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._scan = json.JSONDecoder().raw_decode
        self._counted = (1, 0)
        self.held = ""
        self.position = 0
        self.ended = False
        self.broken = ""
        self.problem = ""
        self.value: Any = None
        self.add(beginning)

    @property
    def line(self) -> int:
        """Returns the line of the position; lines are counted once."""
        line, counted = self._counted
        self._counted = (line + self.held.count("\n", counted, self.position), self.position)
        return self._counted[0]

    def skip(self, blank: str) -> str:
        """The next character that is not blank; empty when there is none."""
        while self.position < len(self.held) and self.held[self.position] in blank:
            self.position += 1
        return self.held[self.position : self.position + 1]

    def take(self) -> bool:
        """Reads the value at the position. Returns False if it is invalid or incomplete."""
        try:
            self.value, self.position = self._scan(self.held, self.position)
        except json.JSONDecodeError as error:
            if self.ended or not _cut(error, self.held):
                problem = self.broken if self.broken and _cut(error, self.held) else _explained(error)
                self.position, self.problem = max(error.pos, self.position), problem
            return False
        except (ValueError, RecursionError) as error:
            self.problem = _explained(error)
            return False
        return True

    def add(self, raw: bytes) -> None:
        """Drops the text that was read and reads more."""
        self._counted = (self.line, 0)
        self.held, self.position = self.held[self.position :], 0
        self.ended = not raw
        if len(self.held) > _LARGEST:
            self.problem = f"the record is larger than {_LARGEST // 1024**2} MiB"
            return
        try:
            self.held += self._decoder.decode(raw, final=self.ended)
        except UnicodeDecodeError as error:
            self.held += error.object[: error.start].decode("utf-8")
            self.ended, self.broken = True, f"not UTF-8 text ({error.reason})"


def _parsed(line: bytes) -> tuple[Any, str, bool]:
    """The line's value, or its problem and whether it is only the start of JSON."""
    try:
        text = line.decode("utf-8")
        return json.loads(text), "", False
    except UnicodeDecodeError as error:
        return None, f"not UTF-8 text (byte {error.start + 1:,} of the line: {error.reason})", False
    except json.JSONDecodeError as error:
        return None, _explained(error), error.pos >= len(text.rstrip(_BLANK))
    except (ValueError, RecursionError) as error:
        return None, _explained(error), False


def _cut(error: json.JSONDecodeError, text: str) -> bool:
    """Returns whether more text may complete it: the end may cut a string, an escape, a number or a word."""
    return error.msg.startswith("Unterminated string") or error.pos >= len(text) - 16


def _explained(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not valid JSON: {error.msg} (column {error.colno:,})"
    if isinstance(error, RecursionError):
        return "not readable JSON: nested too deeply"
    return f"not readable JSON: {error}"
