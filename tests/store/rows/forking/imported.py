"""Imported forks: sessions that are created with the parent that they had elsewhere."""

from __future__ import annotations

from dataclasses import replace

from tests.store.rows.compaction import named
from tests.support.clock import NOW
from tests.support.feed import follow
from tests.support.forks import fork
from tests.support.sessions import TENANT, append, new_session, read, ref, session_with
from threadkeep_server.domain.feed import FeedScope
from threadkeep_server.domain.model import Parent
from threadkeep_server.store.contract.sessions import SessionQuery
from threadkeep_server.store.contract.store import Store

FORK = ref("f")
FAR = Parent("s1", "uid of another server", (1 << 63) - 1, (1 << 63) - 2)


async def imported(store: Store, name: str, parent: Parent, tenant: str = TENANT) -> None:
    """Creates a fork."""
    await store.create_session(tenant, replace(new_session(name), parent=parent), return_existing=False)


class ImportedForkRows:
    async def test_an_imported_fork_has_its_parent_and_nothing_of_it(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        new = replace(new_session("f"), parent=FAR)
        made, created = await store.create_session(TENANT, new, return_existing=False)
        assert (created, made.parent, made.log_version, await read(store, of=FORK)) == (True, FAR, 0, [])
        assert await store.get_session(TENANT, FORK) == made
        await append(store, *named("x"), to=FORK)
        assert (await store.get_session(TENANT, FORK)).parent == FAR
        created_change = (await follow(store, FeedScope(TENANT, *FORK)))[0]
        assert created_change.after is not None
        assert created_change.after.parent == FAR

    async def test_an_existing_session_keeps_its_parent(self, store: Store) -> None:
        await imported(store, "f", FAR)
        for parent in (None, replace(FAR, uid="other")):
            again = replace(new_session("f"), parent=parent)
            assert (await store.create_session(TENANT, again, return_existing=True))[0].parent == FAR
        await session_with(store, session_id="plain")
        again = replace(new_session("plain"), parent=FAR)
        assert (await store.create_session(TENANT, again, return_existing=True))[0].parent is None

    async def test_imported_forks_are_listed_with_others_also_without_their_origin(self, store: Store) -> None:
        await session_with(store, *named("e1"))
        await fork(store, "made")
        for name, origin in (("f", "s1"), ("g", "never"), ("h", "f")):
            await imported(store, name, Parent(origin, "u", 0, 0))
        await imported(store, "theirs", Parent("s1", "u", 0, 0), tenant="other")
        await store.delete_session(TENANT, ref())
        for parent, expected in (("s1", ["f", "made"]), ("never", ["g"]), ("f", ["h"]), ("g", [])):
            page = await store.list_sessions(TENANT, SessionQuery("shop", "alice", forked_from=parent))
            assert sorted(session.ref.session_id for session in page.sessions) == expected

    async def test_a_fork_of_an_imported_fork_names_it(self, store: Store) -> None:
        await imported(store, "f", FAR)
        await append(store, *named("e1"), to=FORK)
        origin = await store.get_session(TENANT, FORK)
        second = await fork(store, "second", of=FORK, now=NOW + 1)
        assert second.parent == Parent("f", origin.uid, 1, 1)
