"""An index with the terms of an earlier analyzer: how a server makes one, and what a renewed one must contain."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing
from itertools import combinations, cycle, islice
from pathlib import Path

import threadkeep
from tests.support.candidates import terms
from tests.support.databases.postgres import PostgresCluster
from threadkeep_server.search.analysis.earlier import earlier_forms

from ..conftest import ServerMaker
from .ledger import connect
from .search_invariants import caught_up

APP = "faults"
RENEWED = "SELECT coalesce(max(renewed), 0) FROM words_renewal"
"""Returns the id of the last event whose terms are renewed."""
# Words whose terms have changed.
_WORDS = "broke bought taught drove flew wrote mice children knives harbour"
EARLIER = {term: earlier_forms(word)[0] for word in _WORDS.split() for term in terms(word)}
# A server whose analyzer is the earlier one. Its texts are analyzed in its own process, which has been changed.
AS_BEFORE = f"""
from threadkeep_server.domain.search import Words
from threadkeep_server.store.sql.search import deriver
from threadkeep_server.transport.wire.codec import EventCodec
EARLIER = {EARLIER!r}
words = EventCodec.words
def words_before(self, body, time):
    return Words(*([EARLIER.get(term, term) for term in terms] for terms in words(self, body, time)))
EventCodec.words = words_before
EventCodec.words_version -= 1
deriver._cores = lambda: 1
"""
_BY_USER = 400
_AT_ONCE = 200


class Steps:
    """What servers with the prelude did of a renewal, and how far they may go: then one waits inside its transaction."""

    def __init__(self, folder: Path) -> None:
        self._journal, self._waiting, self._allowed = folder / "renewed", folder / "waiting", folder / "allowed"

    @staticmethod
    def prelude(at_once: int, pause: float, *, by_process: bool) -> str:
        """Each transaction renews `at_once` events and lasts `pause` seconds longer."""
        return f"""
import os, time
from pathlib import Path
from threadkeep_server.store.sql.search.renewal import Renewal
step, journal = Renewal.step, Path("renewed")
def allowed():
    return int(Path("allowed").read_text())
def wait():
    time.sleep({pause})
    done, waits = len(journal.read_text().split()) if journal.exists() else 0, False
    while 0 < allowed() <= done:
        if not waits:
            waits = Path("waiting").write_text(f"{{os.getpid()}} {{done}}")
        time.sleep(0.02)
def step_and_wait(self, connection, most, by_process):
    if not allowed():
        return None
    more = step(self, connection, {at_once}, by_process and {by_process})
    if more is not None:
        self._engine.run_in_thread(wait)
        with journal.open("a") as file:
            print(os.getpid(), file=file)
    return more
Renewal.step = step_and_wait
"""

    def allow(self, steps: int) -> None:
        """Lets the servers do so many steps, those done before included; 0: only end one that has begun."""
        written = self._allowed.with_suffix(".new")
        written.write_text(str(steps))
        written.replace(self._allowed)

    def done(self) -> list[int]:
        """Returns the process of each step, also of those that a kill then rolled back."""
        return [int(pid) for pid in self._journal.read_text().split()] if self._journal.exists() else []

    def waiting(self, steps: int) -> int:
        """Returns the process that waits after so many steps; 0 if there is none."""
        pid, _, done = self._waiting.read_text().partition(" ") if self._waiting.exists() else ("0", "", "0")
        return int(pid) if done == str(steps) else 0


class Texts:
    """Events of several users. Each has two of the words."""

    def __init__(self) -> None:
        self._saying: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        """The ids of the events of a user that say a word."""

    async def append(self, client: threadkeep.AsyncClient, count: int) -> None:
        pairs = islice(cycle(combinations(_WORDS.split(), 2)), count)
        events = [(f"e{number}", words) for number, words in enumerate(pairs)]
        for start in range(0, count, _AT_ONCE):
            await self.say(client, f"u{start // _BY_USER}", events[start : start + _AT_ONCE])

    async def say(self, client: threadkeep.AsyncClient, user: str, events: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Appends events with these ids and words to a session of the user."""
        of = threadkeep.SessionRef(app=APP, user_id=user, session_id=f"s-{user}")
        sent = [threadkeep.user(" ".join(words), event_id=event_id) for event_id, words in events]
        await client.append(of, *sent, create_if_missing={"never_expires": True})
        for event_id, words in events:
            for word in words:
                self._saying[user, word].add(event_id)

    async def check_found(self, client: threadkeep.AsyncClient, most: int = 1 << 30) -> int:
        """Checks that a search for each word of each user finds every event that says it; returns the number of searches, at
        most `most`."""
        wanted = list(self._saying.items())[-most:]
        for (user, word), events in wanted:
            page = await client.search_page(word, user_id=user, app=APP, page_size=1000, mode="ranked", min_score=0)
            found = [hit.event.event_id for hit in page.hits]
            assert len(set(found)) == len(found), "no event twice"
            assert events <= set(found), f"{word} of {user}: {sorted(events - set(found))} are not found"
            assert not page.incomplete
        return len(wanted)


@asynccontextmanager
async def outdated(make_server: ServerMaker, events: int, **settings: object) -> AsyncIterator[Texts]:
    """Events that a server with the earlier analyzer has indexed."""
    texts, before = Texts(), make_server(prelude=AS_BEFORE, **settings)
    await asyncio.to_thread(before.start)
    async with connect(before.address) as client:
        await texts.append(client, events)
        await caught_up(client, 600)
    before.kill()
    yield texts


class IndexTables:
    """The tables of the index, read directly, while no server writes them."""

    def __init__(self, folder: Path, database: tuple[PostgresCluster, str] | None) -> None:
        """`database`: on PostgreSQL, its cluster and its name."""
        self._file = folder / "data" / "threadkeep.db.search"
        self._database = database

    def rows(self) -> dict[str, list[str]]:
        """Returns every row, with each entry of a term, by table."""
        return {table: list(self._read(sql)) for table, sql in (_ON_POSTGRES if self._database else _ON_SQLITE).items()}

    def drop(self) -> None:
        """The next server makes the index from the log."""
        if self._database is not None:
            self._run("UPDATE index_progress SET version = 0")
            return
        for file in self._file.parent.glob(f"{self._file.name}*"):
            file.unlink()

    def _run(self, sql: str) -> str:
        assert self._database is not None
        cluster, name = self._database
        return cluster.execute(sql, database=name)

    def _read(self, sql: str) -> Iterator[str]:
        if self._database is not None:
            yield from self._run(sql).split("\n")
            return
        with closing(sqlite3.connect(self._file)) as connection:
            for table in ("event_fts", "event_words_fts"):
                connection.execute(f"CREATE VIRTUAL TABLE temp.of_{table} USING fts5vocab(main, {table}, instance)")
            yield from map(repr, connection.execute(sql))


_ROWS = {
    "texts": "SELECT id, scope, text FROM event_text ORDER BY id",
    "words": "SELECT id, markers, replace(words, '\n', '|') FROM event_words ORDER BY id",
}
_ON_SQLITE = _ROWS | {
    f"entries of {table}": f"SELECT term, doc, col FROM temp.of_{table} ORDER BY term, doc, col"
    for table in ("event_fts", "event_words_fts")
}
_ON_POSTGRES = _ROWS | {"terms": "SELECT id, terms FROM event_terms ORDER BY id, terms"}
