"""The newest events of a scope that have terms: correct on every engine, on PostgreSQL for any events outside the scope."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from sqlalchemy import Connection

from tests.support.codec import CODEC
from threadkeep_server.domain.search import ALL_FIELDS
from threadkeep_server.store.sql.search.term_index import NewestPage, TermIndex, TermQuery, TermRow
from threadkeep_server.store.sql.store import SqlStore, open_store

EVENTS = 6000
TERMS = ("even", "third", "each")
BEYOND = EVENTS + 1
MINE, THEIRS = "~umine", "~utheirs"
SCARCE = 40
"""Of so many events one is mine, in the index where I am one of many."""


def _words(id_: int) -> str:
    return " ".join(["each", *["even"] * (id_ % 2 == 0), *["third"] * (id_ % 3 == 0)]) + "\n\n\n\n"


async def _filled(store: SqlStore, one_of: int) -> TermIndex:
    assert store._indexer is not None
    assert store._indexer._index.words is not None
    index = store._indexer._index.words.for_log("probed_words")
    rows = [TermRow(id_, MINE if id_ % one_of == 0 else THEIRS, _words(id_)) for id_ in range(1, EVENTS + 1)]

    def unit(connection: Connection) -> None:
        index.prepare(connection, rebuild=False)
        index.add(connection, rows)

    await store._engine.write(unit)
    return index


def _oracle(one_of: int, terms: Sequence[str], page: NewestPage) -> list[int]:
    wanted = all if page.every else any
    mine = (id_ for id_ in range(page.before - 1, 0, -1) if id_ % one_of == 0)
    return [id_ for id_ in mine if wanted(term in _words(id_).split() for term in terms)][: page.most]


async def _newest(store: SqlStore, index: TermIndex, requested: TermQuery, page: NewestPage) -> list[int]:
    def unit(connection: Connection) -> list[int]:
        return list(index.newest(connection, store._engine, requested, page))

    return await store._engine.read(unit, snapshot=True)


@pytest.mark.parametrize("one_of", [1, 3, SCARCE, EVENTS // 2])
async def test_the_newest_are_first_for_any_share_of_the_scope(url: str, one_of: int) -> None:
    async with open_store(url, CODEC) as store:
        index = await _filled(store, one_of)
        for terms in (TERMS, TERMS[:2], TERMS[1:2]):
            for every in (True, False):
                for before, most in ((BEYOND, 257), (BEYOND, 10), (EVENTS // 2, 300), (2000, 1000), (1, 5)):
                    page = NewestPage(before, most, every)
                    found = await _newest(store, index, TermQuery(MINE, terms, ALL_FIELDS), page)
                    assert found == _oracle(one_of, terms, page), (terms, page)


@pytest.mark.postgres
@pytest.mark.parametrize("way", ["all", "any", "each"])
async def test_a_prepared_statement_for_any_terms_does_not_scan_all_events(postgres_url: str, way: str) -> None:
    looked_at = "SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables WHERE relname = $1"
    async with open_store(postgres_url, CODEC) as store:
        index = await _filled(store, SCARCE)
        await store._engine.write(lambda connection: connection.exec_driver_sql("ANALYZE probed_words"))
        requested = TermQuery(MINE, TERMS[:2], ALL_FIELDS)

        def unit(connection: Connection) -> int:
            connection.exec_driver_sql("SET LOCAL plan_cache_mode = force_generic_plan")
            if way == "each":
                assert len(index.postings(connection, store._engine, requested, 1024).keys) == len(requested.terms)
            else:
                assert index.newest(connection, store._engine, requested, NewestPage(BEYOND, 257, every=way == "all"))
            return int(connection.exec_driver_sql(looked_at, ("probed_words",)).scalar_one())

        # What the scope has of each term, and a walk of a thousand to see whether it is dense.
        assert await store._engine.read(unit, snapshot=True) <= len(TERMS) * EVENTS // SCARCE + 1024
