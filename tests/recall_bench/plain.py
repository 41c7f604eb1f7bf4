"""The floor: SQLite's FTS5 with the Porter stemmer and its BM25, called in this process, the words of a question OR-ed."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from typing import Self

_CREATE = "CREATE VIRTUAL TABLE IF NOT EXISTS said USING fts5(text, tokenize = 'porter unicode61')"
_SEARCH = "SELECT rowid FROM said WHERE said MATCH ? ORDER BY rank LIMIT ?"
_WORD = re.compile(r"\w+")


class PlainFts5:
    """Texts numbered from 1 in the order in which they are added. `path`: of a file, new
    or not. A context manager that closes it."""

    def __init__(self, path: str = ":memory:") -> None:
        self._connection = sqlite3.connect(path)
        self._connection.execute(_CREATE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, texts: Iterable[str]) -> None:
        """In one transaction."""
        self._connection.executemany("INSERT INTO said VALUES (?)", ((text,) for text in texts))
        self._connection.commit()

    def finish(self) -> None:
        """Merges what was added into one segment: the index at its fastest."""
        self._connection.execute("INSERT INTO said (said) VALUES ('optimize')")
        self._connection.commit()

    def search(self, question: str, limit: int) -> list[int]:
        """Numbers of texts with any of the question's words, best first."""
        words = dict.fromkeys(_WORD.findall(question))
        if not words:
            return []
        query = " OR ".join(f'"{word}"' for word in words)
        return [number for (number,) in self._connection.execute(_SEARCH, (query, limit))]

    def close(self) -> None:
        self._connection.close()
