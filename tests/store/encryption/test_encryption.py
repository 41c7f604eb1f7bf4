"""What is encrypted, with which keys, and what remains without them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from tests.support.candidates import caught_up, said_in
from tests.support.clock import NOW
from tests.support.codec import draft, texts
from tests.support.databases.logs import logs_are_empty
from tests.support.feed import follow
from tests.support.memories import found, holding, memory, remember, remembered
from tests.support.sessions import TENANT, append, compact, create, placed, read, ref, search
from threadkeep_server.domain.errors import EncryptionKeyDestroyed, SearchDisabled, StoreUnavailable
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.memories import MemoryFilter
from threadkeep_server.domain.model import SessionRef
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.domain.state.state import StateName, StatePatch, StateQuery, StateScope
from threadkeep_server.store.contract.search import SearchQuery
from threadkeep_server.store.sql.encryption import vault as vaults
from threadkeep_server.store.sql.encryption.encrypter import NOTE, Encrypter, Progress, progress_of
from threadkeep_server.store.sql.encryption.master_keys import NONCE_BYTES, KeyProblem
from threadkeep_server.store.sql.encryption.tenant_keys import NotAllEncrypted, destroy_keys, list_keys
from threadkeep_server.store.sql.engine.base import Capability
from threadkeep_server.store.sql.schema.encryption import tenant_keys
from threadkeep_server.store.sql.schema.memories import memories
from threadkeep_server.store.sql.schema.tables import event_text, event_words, events
from threadkeep_server.store.sql.schema.versions import get, put, versions
from threadkeep_server.store.sql.store import SqlStore

from .conftest import FIRST, SECOND, Opened, open_with

SECRET = "qvothwyx"  # no part of it is in another word
SAID = f"my password is {SECRET} today"
ACME, GLOBEX = TENANT, "globex"
MINE = UserScope("alice", "shop")
OF_SESSION = StateName(StateScope.SESSION, ref())
OF_USER = StateName(StateScope.USER, SessionRef("shop", "alice", ""))


async def fill(store: SqlStore, tenant: str = ACME) -> None:
    await create(store, tenant=tenant)
    for name in (OF_SESSION, OF_USER):
        await store.patch_state(tenant, name, StatePatch({"k": f'"old {SECRET}"'}), NOW)
    delta = {name.scope: StatePatch({"k": f'"{SECRET}"'}) for name in (OF_SESSION, OF_USER)}
    await append(store, draft(SAID, event_id="e1"), draft("more", event_id="e2"), tenant=tenant, state=delta)
    await compact(store, ["e2"], placed(None, draft(f"summary of {SECRET}", event_id="s", synthetic=True)), tenant=tenant)
    await remember(store, memory(f"likes {SECRET}", id="m1", metadata={"k": SECRET}), tenant=tenant)
    await caught_up(store)


async def is_whole(store: SqlStore) -> bool:
    """Whether everything can be read and found."""
    listed = texts(await read(store))
    hits = [SAID, f"summary of {SECRET}"]
    assert texts([hit.event for hit in await search(store, SECRET)]) == hits
    assert texts([hit.event for hit in await search(store, SECRET, MINE)]) == hits
    assert await said_in(store, "password", MINE) == [SAID]
    assert await holding(store, SECRET) == [f"likes {SECRET}"]
    assert await found(store, SECRET) == {f"likes {SECRET}"}
    assert await found(store, SECRET, wanted=MemoryFilter(metadata={"k": SECRET})) == {f"likes {SECRET}"}
    assert [each.draft.metadata_json for each in await remembered(store)] == [f'{{"k": "{SECRET}"}}']
    for name in (OF_SESSION, OF_USER):
        assert dict((await store.get_state(ACME, name, StateQuery())).values) == {"k": f'"{SECRET}"'}
    past = await store.get_state(ACME, OF_SESSION, StateQuery(as_of=0))
    assert dict(past.values) == {"k": f'"old {SECRET}"'}
    changed = [change.state.patch.set["k"] for change in await follow(store) if change.state is not None]
    assert changed == [f'"old {SECRET}"'] * 2 + [f'"{SECRET}"'] * 2
    return listed == [SAID, "more", f"summary of {SECRET}"]


def in_files(folder: Path) -> bool:
    return any(SECRET.encode() in path.read_bytes() for path in folder.glob("threadkeep.db*"))


async def is_plain(store: SqlStore, folder: Path) -> bool:
    """Whether the secret is in the database: in the files of SQLite, in the rows of PostgreSQL."""
    if Capability.FTS5 in store._engine.capabilities:
        assert await logs_are_empty(store)
        return in_files(folder)

    def unit(connection: Connection) -> bool:
        names = connection.exec_driver_sql("SELECT oid::regclass FROM pg_class WHERE relkind = 'r' AND oid > 16384")
        patterns = f"'%{SECRET}%', '%{SECRET.encode().hex()}%'"
        queries = [
            f"SELECT EXISTS (SELECT FROM {name} AS t WHERE t::text ILIKE ANY (ARRAY[{patterns}]))" for name in names.scalars()
        ]
        assert len(queries) > 20
        return any(connection.exec_driver_sql(query).scalar() for query in queries)

    return await store._engine.read(unit)


async def encrypted(store: SqlStore) -> None:
    """Waits until what was stored before is encrypted."""
    async with asyncio.timeout(60):
        while not (progress := await store._engine.read(progress_of)) or not progress.is_done():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_what_is_stored_is_in_no_file_and_no_row(opened: Opened, tmp_path: Path) -> None:
    async with opened() as store:
        await fill(store, GLOBEX)
        assert await is_plain(store, tmp_path)


async def test_an_encrypted_tenant_leaves_no_text_in_files_and_rows(opened: Opened, tmp_path: Path) -> None:
    async with opened(FIRST) as store:
        await fill(store)
        assert not await is_plain(store, tmp_path)
        assert await is_whole(store)


async def test_the_same_text_is_encrypted_differently_each_time(opened: Opened) -> None:
    async with opened(FIRST) as store:
        await fill(store)
        await append(store, draft(SAID, event_id="e9"))
        await remember(store, memory("likes tea", id="m2"))
        bodies = await store._engine.read(lambda c: c.execute(sa.select(events.c.body)).scalars().all())
        contents = await store._engine.read(lambda c: c.execute(sa.select(memories.c.content)).scalars().all())
        starts = [body[: vaults._START] for body in (*bodies, *contents)]
        nonces = [body[vaults._START :][:NONCE_BYTES] for body in (*bodies, *contents)]
        assert len(set(starts)) == 1
        assert len(set(nonces)) == len(nonces) == 6


async def test_metadata_that_an_older_server_left_plain_is_encrypted(opened: Opened) -> None:
    async with opened(FIRST) as store:
        await fill(store)
        await encrypted(store)

        def undo(connection: Connection) -> None:
            plain = f'{{"k": "{SECRET}"}}'.encode()
            connection.execute(memories.update().values(metadata_json=plain))
            note = json.loads(get(connection, NOTE) or "")
            del note["metadata"]
            put(connection, NOTE, json.dumps(note))

        await store._engine.write(undo)
        assert await is_whole(store)
    async with opened(FIRST) as store:
        async with asyncio.timeout(60):
            while not (progress := await store._engine.read(progress_of)) or not (progress.metadata and progress.is_done()):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        raw = await store._engine.read(lambda c: c.execute(sa.select(memories.c.metadata_json)).scalars().all())
        assert raw
        assert not any(SECRET.encode() in each for each in raw)
        assert await is_whole(store)


async def test_texts_stored_before_are_encrypted_and_leave_the_files(opened: Opened, tmp_path: Path) -> None:
    async with opened() as store:
        await fill(store)
        await fill(store, GLOBEX)
    async with opened(FIRST) as store:
        await encrypted(store)
        derived = await store._engine.read(lambda c: [c.execute(sa.select(t.c.id)).all() for t in (event_text, event_words)])
        assert derived == [[], []]
        if store._cleaner is not None:
            async with asyncio.timeout(60):
                await store._cleaner.clean()
        assert not await is_plain(store, tmp_path)
        assert await is_whole(store)
    async with opened(FIRST) as store:  # nothing is left to do
        assert await is_whole(store)


async def test_an_old_value_that_is_replaced_before_it_is_encrypted_leaves_no_text(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = {"k1": f'"{SECRET}"', "k2": f'"{SECRET}"'}
    async with opened() as store:
        await create(store)
        await append(store, draft("x"), state={StateScope.SESSION: StatePatch(old)})
        await caught_up(store)
    began, ready = asyncio.Event(), asyncio.Event()
    step = Encrypter._step

    async def wait(self: Encrypter, progress: Progress) -> Progress:
        began.set()
        await ready.wait()
        return await step(self, progress)

    monkeypatch.setattr(Encrypter, "_step", wait)
    async with opened(FIRST) as store:
        await asyncio.wait_for(began.wait(), 60)
        for key in old:  # the second append is to a session that the server remembers
            await append(store, draft("x"), state={StateScope.SESSION: StatePatch({key: "1"})})
        ready.set()
        await encrypted(store)
        if store._cleaner is not None:
            async with asyncio.timeout(60):
                await store._cleaner.clean()
        assert not await is_plain(store, tmp_path)
        past = await store.get_state(ACME, OF_SESSION, StateQuery(as_of=1))
        assert dict(past.values) == old
        assert dict((await store.get_state(ACME, OF_SESSION, StateQuery())).values) == dict.fromkeys(old, "1")


async def test_a_server_continues_what_a_stopped_one_left(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened() as store:
        await create(store)
        await append(store, *(draft(f"{SECRET} {number}") for number in range(200)))
        await caught_up(store)
    failed = asyncio.Event()
    note = Encrypter._note

    async def fail_later(self: Encrypter, progress: Progress) -> None:
        if progress.events > 100:
            failed.set()
            raise RuntimeError
        await note(self, progress)

    monkeypatch.setattr(Encrypter, "_note", fail_later)
    async with opened(FIRST) as store:
        await asyncio.wait_for(failed.wait(), 60)
        progress = await store._engine.read(progress_of)
        assert progress is not None
        assert 0 < progress.events < progress.last_event
    monkeypatch.undo()
    async with opened(FIRST) as store:
        await encrypted(store)
        assert texts(await read(store)) == [f"{SECRET} {number}" for number in range(200)]


async def test_only_the_named_tenants_are_encrypted(opened: Opened, tmp_path: Path) -> None:
    async with opened(FIRST, encrypted_tenants=["globex"]) as store:
        await fill(store)
        assert await store._engine.read(lambda c: c.execute(sa.select(event_text.c.id)).all())
        assert await is_whole(store)
        await create(store, tenant=GLOBEX)
        await append(store, draft("of globex"), tenant=GLOBEX)
        owners = await store._engine.read(lambda c: c.execute(sa.select(tenant_keys.c.tenant)).scalars().all())
        assert owners == [GLOBEX]
    async with opened(FIRST, encrypted_tenants=["initech"]) as store:  # a tenant with a key stays encrypted
        await append(store, draft(SECRET * 2), tenant=GLOBEX)
        bodies = await store._engine.read(lambda c: c.execute(sa.select(events.c.body).order_by(events.c.id)).scalars().all())
        assert vaults.is_encrypted(bodies[-1])


async def test_a_new_master_key_replaces_the_old_one_at_a_start(opened: Opened) -> None:
    async with opened(FIRST) as store:
        await fill(store)
    with pytest.raises(KeyProblem, match=r"lacks the master key [0-9a-f]{16}, which the database uses"):
        await opened(SECOND).__aenter__()
    async with opened(SECOND, FIRST) as store:
        assert await is_whole(store)
    async with opened(SECOND) as store:
        assert await is_whole(store)
    with pytest.raises(KeyProblem, match="lacks the master key"):
        await opened(FIRST).__aenter__()


async def test_an_encrypted_database_is_not_opened_without_a_key(opened: Opened) -> None:
    async with opened(FIRST) as store:
        await fill(store)
        assert (await store._engine.read(versions))[1] >= vaults._OLDEST_CODE
    with pytest.raises(KeyProblem, match=r"must be set: texts of tenant 'acme' are encrypted in this database"):
        await opened().__aenter__()


async def test_a_key_is_renewed_after_30_days_and_older_texts_stay_readable(opened: Opened) -> None:
    async with opened(FIRST) as store:
        await fill(store)
        assert store._vault is not None
        before = store._vault._clock()
        store._vault._clock = lambda: before + vaults._RENEWED_AFTER_NS
        await append(store, draft("later", event_id="e9"))
        keys = await store._engine.read(lambda c: c.execute(sa.select(tenant_keys.c.id)).scalars().all())
        assert len(keys) == 2
        assert texts(await read(store)) == [SAID, "more", f"summary of {SECRET}", "later"]


async def test_destroyed_keys_erase_the_tenant_and_nobody_else(opened: Opened, url: str) -> None:
    async with opened(FIRST) as store:
        await fill(store)
        await fill(store, GLOBEX)
        await encrypted(store)
    assert await asyncio.to_thread(destroy_keys, url, GLOBEX) == 1
    listed = {each.tenant: each for each in await asyncio.to_thread(list_keys, url)}
    assert listed[ACME].destroy_time is None
    assert listed[GLOBEX].destroy_time is not None
    async with opened(FIRST) as store:
        assert await is_whole(store)
        with pytest.raises(EncryptionKeyDestroyed):
            await append(store, draft("again", event_id="e1"), tenant=GLOBEX)
        with pytest.raises(EncryptionKeyDestroyed):
            await search(store, SECRET, tenant=GLOBEX)
        with pytest.raises(EncryptionKeyDestroyed):
            await remembered(store, tenant=GLOBEX)
        with pytest.raises(EncryptionKeyDestroyed):
            await remember(store, memory("more", id="m9"), tenant=GLOBEX)
        assert await store.delete_session(GLOBEX, ref()) == 3
    assert await asyncio.to_thread(destroy_keys, url, GLOBEX) == 0


async def test_keys_are_not_destroyed_while_plain_texts_are_left(
    opened: Opened, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened() as store:
        await fill(store)
    monkeypatch.setattr(Encrypter, "_note", lambda *_: asyncio.sleep(60))
    async with opened(FIRST) as store:
        await append(store, draft("more"))
    with pytest.raises(NotAllEncrypted, match="not all stored texts are encrypted yet"):
        await asyncio.to_thread(destroy_keys, url, ACME)


@pytest.mark.postgres
async def test_a_key_of_another_server_is_read_when_it_is_needed(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vaults, "_REFRESHED_AFTER_S", 600)
    async with open_with(postgres_url, FIRST) as one, open_with(postgres_url, FIRST) as other:
        await create(one)
        await append(one, draft(SAID, event_id="e1"))
        assert texts(await read(other)) == [SAID]
        await append(other, draft("more", event_id="e2"))
        assert texts(await read(one)) == [SAID, "more"]


@pytest.mark.postgres
async def test_a_running_server_forgets_destroyed_keys(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vaults, "_REFRESHED_AFTER_S", 0.05)
    async with open_with(postgres_url, FIRST) as store, asyncio.timeout(60):
        await fill(store)
        await encrypted(store)
        assert await asyncio.to_thread(destroy_keys, postgres_url, ACME) == 1
        assert store._vault is not None
        while ACME not in store._vault._erased:  # noqa: ASYNC110 - the vault announces nothing
            await asyncio.sleep(0.02)
        with pytest.raises(EncryptionKeyDestroyed):
            await read(store)
        with pytest.raises(EncryptionKeyDestroyed):
            await append(store, draft("x"), state={StateScope.SESSION: StatePatch({"k": "1"})})


async def test_a_changed_text_is_refused(opened: Opened) -> None:
    async with opened(FIRST) as store:
        await fill(store)

        def change(connection: Connection) -> None:
            key, body = connection.execute(sa.select(events.c.id, events.c.body).order_by(events.c.id).limit(1)).one()
            changed = body[:-1] + bytes([body[-1] ^ 1])
            connection.execute(events.update().where(events.c.id == key).values(body=changed))

        await store._engine.write(change)
        with pytest.raises(StoreUnavailable, match="an encrypted text was changed outside of this server"):
            await read(store)


async def test_a_memory_that_resembles_an_encrypted_one_is_returned_as_it_is(opened: Opened) -> None:
    text = "\x00\x01" + "a" * 60
    async with opened(FIRST, encrypted_tenants=["globex"]) as store:
        await remember(store, memory(text, id="m1"))
        assert [each.draft.text for each in await remembered(store)] == [text]


async def test_searches_of_encrypted_tenants_can_be_disabled(opened: Opened) -> None:
    async with opened(FIRST, encrypted_search=False) as store:
        await fill(store)
        of_events = (search(store, SECRET), search(store, SECRET, MINE), said_in(store, "password", MINE))
        for work in (*of_events, holding(store, SECRET), found(store, SECRET)):
            with pytest.raises(SearchDisabled):
                await work
        assert len(await read(store)) == 3
        assert len(await remembered(store)) == 1


async def test_a_search_decrypts_as_much_as_its_budget_admits(opened: Opened) -> None:
    async with opened(FIRST, search_scan_bytes=300_000) as store:
        await create(store)
        for number in range(20):
            await append(store, draft(f"{SECRET} {number} " + "x" * 30_000))
        page = await store.search(TENANT, SearchQuery(MINE, EventFilter(keyword=SECRET), limit=100))
        assert page.incomplete
        assert 0 < len(page.hits) < 20
