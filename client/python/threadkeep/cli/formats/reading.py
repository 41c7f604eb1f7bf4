"""Reads one file in any of the formats: detects the format and yields sessions and events."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from .conversations import ReadOptions, read_openai, read_tau_bench
from .items import Item, Malformed
from .log import KIND
from .log_reading import read_log
from .records import Record, RecordReader
from .sgd import read_sgd

FORMATS = ("threadkeep", "openai", "tau-bench", "sgd")


class UnknownFormat(Exception):
    """The file is in none of the formats."""


class FileReader:
    """Iterates over the sessions and events of a file; without a format its first record determines it.

    `bytes_read`: the progress. Raises UnknownFormat.
    """

    def __init__(self, stream: BinaryIO, name: str, options: ReadOptions, form: str | None = None) -> None:
        self._records = RecordReader(stream, name)
        self._name = name
        self._options = options
        self._form = form

    @property
    def bytes_read(self) -> int:
        return self._records.bytes_read

    def __iter__(self) -> Iterator[Item]:
        records = iter(self._records)
        before: list[Record | Malformed] = []
        first = None
        for first in records:
            before.append(first)
            if isinstance(first, Record):
                break
        if not isinstance(first, Record):
            yield from (each for each in before if isinstance(each, Malformed))
            return
        form = self._form or format_of(first.value)
        if form is None:
            raise UnknownFormat(f"{self._name} is in no format that is known; its first record is {_sketch(first.value)}")
        yield from _read(form, itertools.chain(before, records), self._options)


def format_of(value: object) -> str | None:
    """Returns the format of a file by its first record."""
    if isinstance(value, list):
        return "openai"
    if not isinstance(value, dict):
        return None
    if value.get("type") == KIND:
        return "threadkeep"
    if "traj" in value:
        return "tau-bench"
    if "turns" in value and "dialogue_id" in value:
        return "sgd"
    return "openai" if "messages" in value or "role" in value else None


def _read(form: str, records: Iterable[Record | Malformed], options: ReadOptions) -> Iterator[Item]:
    if form == "threadkeep":
        return read_log(records)
    readers = {"openai": read_openai, "tau-bench": read_tau_bench, "sgd": read_sgd}
    return readers[form](records, options)


def _sketch(value: object) -> str:
    if isinstance(value, dict):
        return f"an object with {', '.join(list(value)[:6]) or 'nothing in it'}"
    return f"of type {type(value).__name__}"
