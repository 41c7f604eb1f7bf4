"""The index of a session that changes its owner: searches are right while it is corrected in slices, also after failures."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from tests.support.candidates import ask
from tests.support.codec import CODEC, draft
from tests.support.feed import settled
from tests.support.moves import move
from tests.support.sessions import TENANT, append, create, ref, search
from threadkeep_server.domain.scopes import AppScope, UserScope
from threadkeep_server.store.sql.schema.tables import event_text, event_words
from threadkeep_server.store.sql.search import indexer as module
from threadkeep_server.store.sql.search.indexer import Indexer
from threadkeep_server.store.sql.store import SqlStore, open_store

EVENTS = 45


@pytest.fixture
async def store(url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SqlStore]:
    """A store whose indexer a test steps, ten events at a time."""

    async def idle(_: Indexer) -> None:
        """Nothing."""

    monkeypatch.setattr(Indexer, "run", idle)
    for name in ("_EVENTS_AT_ONCE", "_EVENTS_AT_ONCE_BUSY"):
        monkeypatch.setattr(module, name, 10)
    async with open_store(url, CODEC) as opened:
        yield opened
        assert opened._indexer is not None
        opened._indexer._deriver.close()  # `run` would do it


async def catch_up(store: SqlStore) -> None:
    await settled(store)
    assert store._indexer is not None
    await store._indexer._catch_up()


def word(number: int) -> str:
    """Returns a word that no other number has."""
    return "xq" + "".join("bcdfghjkl"[digit] for digit in divmod(number, 9))


async def filled(store: SqlStore) -> None:
    await create(store)
    await create(store, "s2")
    for start in range(0, EVENTS, 15):
        await append(store, *(draft(f"apple {word(number)}") for number in range(start, start + 15)))
    await append(store, draft("apple of hers"), to=ref("s2"))
    await catch_up(store)
    await move(store)
    await append(store, draft("apple of his"), to=ref(user="bob"))


async def is_right(store: SqlStore) -> None:
    for user_id, count in (("alice", 1), ("bob", EVENTS + 1)):
        scope = UserScope(user_id)
        assert len(await search(store, "apple", scope)) == count
        assert len(await search(store, "ap", scope)) == count  # without trigrams
        assert len((await ask(store, "apple", scope)).found) == count
        assert len((await ask(store, "apple", UserScope(user_id, "shop"))).found) == count
        assert len(await search(store, word(7), scope)) == int(user_id == "bob")
        assert len((await ask(store, word(40), scope)).found) == int(user_id == "bob")
    assert len(await search(store, "apple", AppScope("shop"))) == EVENTS + 2
    assert len((await ask(store, "apple", ref(user="bob"))).found) == EVENTS + 1


async def scopes(store: SqlStore) -> int:
    """Returns the number of scopes and markers in the index."""
    columns = (sa.func.count(event_text.c.scope.distinct()), sa.func.count(event_words.c.markers.distinct()))
    query = sa.select(*columns).select_from(event_text.join(event_words, event_words.c.id == event_text.c.id))
    return sum((await store._engine.read(lambda connection: connection.execute(query).all()))[0])


async def test_searches_are_right_after_each_slice_and_failure(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(store)
    await is_right(store)
    calls = 0
    engine: Any = store._engine
    kept = engine.index

    async def rolled_back(unit: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls % 3 == 0:
            raise ConnectionError("between two slices")

        def failing(connection: Connection) -> Any:
            done = unit(connection)
            if calls % 3 == 2:
                raise ConnectionError("before the commit")
            return done

        return await kept(failing)

    monkeypatch.setattr(engine, "index", rolled_back)
    for _ in range(40):
        try:
            await catch_up(store)
            break
        except ConnectionError:
            await is_right(store)
    else:
        pytest.fail("it does not get on")
    assert calls > 2 * EVENTS // 10
    assert (await store.info(TENANT, totals=False)).index_lag == 0
    await is_right(store)
    assert await scopes(store) == 4  # two users, with a session each


async def test_a_session_that_is_deleted_or_moves_on_meanwhile_leaves_nothing(store: SqlStore) -> None:
    await filled(store)
    indexer = store._indexer
    assert indexer is not None
    await settled(store)
    while (step := await store._engine.index(lambda connection: indexer.step(connection, most=10))).rescoped is None:
        assert not step.done
    await move(store, "carol", of=ref(user="bob"))
    assert len(await search(store, "apple", UserScope("carol"))) == EVENTS + 1
    assert await search(store, "apple", UserScope("bob")) == []
    await catch_up(store)
    assert len(await search(store, "apple", UserScope("carol"))) == EVENTS + 1
    assert len((await ask(store, "apple", UserScope("carol"))).found) == EVENTS + 1
    await move(store, of=ref(user="carol"))
    await store.delete_session(TENANT, ref(user="bob"))
    await catch_up(store)
    for user_id in ("bob", "carol"):
        assert await search(store, "apple", UserScope(user_id)) == []
    assert await scopes(store) == 2
