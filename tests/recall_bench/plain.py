"""The floor: SQLite's FTS5 with the Porter stemmer and its BM25, called in this process, the words of a question OR-ed.

Two ways to use it: as it comes (PLAIN), and as somebody would who takes care (CAREFUL): the speaker's name is part of the text,
and stop words are dropped from the question."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Self

from threadkeep_server.search.analysis.stopwords import STOP_WORDS

from .model import Turn

PLAIN, CAREFUL = "FTS5, Porter", "FTS5, careful"

_CREATE = "CREATE VIRTUAL TABLE IF NOT EXISTS said USING fts5(text, tokenize = 'porter unicode61')"
_SEARCH = "SELECT rowid FROM said WHERE said MATCH ? ORDER BY rank, rowid LIMIT ?"
_WORD = re.compile(r"\w+")
_WITH_APOSTROPHE = re.compile(r"\w+(?:['’]\w+)*")


def plain_text(turn: Turn) -> str:
    """All text of a turn."""
    return f"{turn.text} {turn.calls} {turn.results} {turn.media}"


def careful_text(turn: Turn) -> str:
    """All text of a turn, after the name of its speaker."""
    return f"{turn.speaker}: {plain_text(turn)}"


def plain_words(question: str) -> Sequence[str]:
    """The words of a question, each once."""
    return list(dict.fromkeys(_WORD.findall(question)))


def careful_words(question: str) -> Sequence[str]:
    """The words of a question without stop words; with them if there are no others."""
    said = (word for word in _WITH_APOSTROPHE.findall(question) if word.casefold().replace("’", "'") not in STOP_WORDS)
    words = dict.fromkeys(part for word in said for part in _WORD.findall(word) if word == part or len(part) > 1)
    return list(words) or plain_words(question)


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

    def search(self, question: str, limit: int, *, careful: bool = False) -> list[int]:
        """Numbers of texts with any of the question's words, best first."""
        words = careful_words(question) if careful else plain_words(question)
        if not words:
            return []
        query = " OR ".join(f'"{word}"' for word in words)
        return [number for (number,) in self._connection.execute(_SEARCH, (query, limit))]

    def close(self) -> None:
        self._connection.close()
