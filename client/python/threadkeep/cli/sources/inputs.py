"""The inputs of an import, one after another, and how much of them is read."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Protocol

from ..formats import EventItem, FileReader, Item, Malformed, Origin, ReadOptions, UnknownFormat
from .database import Database, SourceError
from .layouts import layouts_of, rows_of


class Input(Protocol):
    """Iterates over the items of an input. `size`: in bytes; None if unknown. `share`: how much is read, from 0 to 1."""

    @property
    def size(self) -> int | None: ...

    @property
    def share(self) -> float: ...

    def __iter__(self) -> Iterator[Item]: ...


class Inputs:
    """Iterates over the inputs."""

    def __init__(self, inputs: Iterable[Input]) -> None:
        self._inputs = list(inputs)

    def __iter__(self) -> Iterator[Iterator[Item]]:
        for each in self._inputs:
            yield iter(each)

    def progress(self) -> tuple[float, int | None]:
        """The bytes that are read, and how many there are, if that is known of all."""
        sizes = [each.size for each in self._inputs]
        read = sum((size or 0) * each.share for size, each in zip(sizes, self._inputs, strict=True))
        return read, None if None in sizes else sum(size or 0 for size in sizes)


class FileInput:
    """A file of conversations; without a path, standard input."""

    def __init__(self, path: Path | None, form: str | None, options: ReadOptions) -> None:
        self._path = path
        self._form = form
        stem = "stdin" if path is None else path.name.partition(".")[0] or path.name
        self._options = replace(options, prefix=options.prefix or stem)
        self._reader: FileReader | None = None
        self.size = None if path is None else path.stat().st_size

    @property
    def share(self) -> float:
        return min(self._reader.bytes_read / self.size, 1.0) if self._reader and self.size else 0.0

    def __iter__(self) -> Iterator[Item]:
        name = "standard input" if self._path is None else str(self._path)
        with self._opened() as stream:
            self._reader = FileReader(stream, name, self._options, self._form)
            try:
                yield from self._reader
            except UnknownFormat as error:
                yield Malformed(Origin(name, 1, 1), "", f"{error}; --format names one", fatal=True)

    def _opened(self) -> contextlib.AbstractContextManager[BinaryIO]:
        return contextlib.nullcontext(sys.stdin.buffer) if self._path is None else self._path.open("rb")


class DatabaseInput:
    """A database with tables of one or several frameworks."""

    def __init__(self, name: str, opened: Callable[[], Database], form: str | None, options: ReadOptions) -> None:
        self._name = name
        self._opened = opened
        self._form = form
        self._options = options
        self._read = self._rows = 0
        self.size: int | None = None

    @property
    def share(self) -> float:
        return min(self._read / self._rows, 1.0) if self._rows else 0.0

    def __iter__(self) -> Iterator[Item]:
        try:
            with contextlib.closing(self._opened()) as database:
                yield from self._items(database)
        except SourceError as error:
            yield Malformed(Origin(self._name, 0), "", str(error), fatal=True, unrelated=True)

    def _items(self, database: Database) -> Iterator[Item]:
        layouts = layouts_of(database, self._form)
        self.size = database.size()
        self._rows = sum(rows_of(database, layout) for layout in layouts)
        for layout in layouts:
            for item in layout.read(database, self._options):
                self._read += isinstance(item, EventItem)
                yield item
