"""Sessions: creating, naming, listing, changing, deleting, expiring, and who may see them."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.clock import NOW
from tests.support.codec import draft, texts
from tests.support.feed import settled
from tests.support.sessions import TENANT, append, create, new_session, read, ref, search, session_with
from threadkeep_server.domain.errors import AmbiguousSession, SessionAlreadyExists, SessionNotFound, VersionMismatch
from threadkeep_server.domain.model import SECOND_NS, Counters, SessionChange, Usage
from threadkeep_server.domain.scopes import UserScope
from threadkeep_server.store.contract.events import EventQuery
from threadkeep_server.store.contract.maintenance import Totals
from threadkeep_server.store.contract.sessions import SessionQuery
from threadkeep_server.store.contract.store import Store

HOUR = 3600 * SECOND_NS


async def ids(store: Store, *, tenant: str = TENANT, **query: object) -> list[str]:
    page = await store.list_sessions(tenant, SessionQuery(**query))  # type: ignore[arg-type]
    assert page.cursor is None
    return [session.ref.session_id for session in page.sessions]


class SessionRows:
    async def test_a_new_session_is_empty_and_has_its_ids(self, store: Store) -> None:
        new = new_session("s1", user="alice", app="shop")
        created, flag = await store.create_session(TENANT, new, return_existing=False)
        assert flag is True
        assert created == await store.get_session(TENANT, ref())
        assert (created.ref, created.uid, created.create_time) == (ref(), new.uid, NOW)
        assert (created.log_version, created.window_version, created.last_seq) == (0, 0, 0)
        assert (created.window, created.usage) == (Counters(), Usage())
        assert await read(store) == []

    @pytest.mark.parametrize("expire_time", [None, 0, NOW + HOUR, NOW + 123_456_789, -1, 2**62])
    async def test_the_expiry_is_kept_to_the_nanosecond(self, store: Store, expire_time: int | None) -> None:
        """The service computes it (60 days, the configured default or the request's); the store keeps it, never included."""
        await create(store, expire_time=expire_time)
        assert (await store.get_session(TENANT, ref())).expire_time == expire_time

    @pytest.mark.parametrize(
        "metadata",
        ["", "{}", '{"a": 1.0, "b": 9007199254740993}', '{"nul": "\\u0000", "lone": "\\ud800"}', '{ "spaced" :"ÄÖ🦀\\n" }'],
    )
    async def test_metadata_is_kept_verbatim(self, store: Store, metadata: str) -> None:
        await create(store, metadata_json=metadata)
        assert (await store.get_session(TENANT, ref())).metadata_json == metadata

    async def test_labels_are_kept(self, store: Store) -> None:
        labels = {"team": "blue", "empty": "", "quoted": 'it\'s "50%"', "ключ": "値🦀"}
        await create(store, labels=labels)
        assert dict((await store.get_session(TENANT, ref())).labels) == labels

    @pytest.mark.parametrize("name", ["it's", 'a"b', "50%_off", "back\\slash", "ÄÖ🦀漢字", "a/b?c=d", " x ", "x" * 255])
    async def test_names_are_literal(self, store: Store, name: str) -> None:
        names = ref(name, user=name, app=name)
        await create(store, name, user=name, app=name)
        await append(store, draft("hello"), to=names)
        assert (await store.get_session(TENANT, names)).ref == names
        assert texts(await read(store, of=names)) == ["hello"]
        assert await ids(store, app=name, user_id=name) == [name]
        with pytest.raises(SessionNotFound):
            await store.get_session(TENANT, ref(name.swapcase() + "x", user=name, app=name))

    async def test_names_are_compared_exactly(self, store: Store) -> None:
        await create(store, "Session")
        for other in ("session", "SESSION", "Session ", "Sessio_", "%"):
            with pytest.raises(SessionNotFound):
                await store.get_session(TENANT, ref(other))

    async def test_an_update_sets_only_the_named_fields(self, store: Store) -> None:
        names = await session_with(
            store, draft("hello", usage=Usage(1, 2, 3)), expire_time=NOW + HOUR, metadata_json="{}", labels={"a": "1", "b": "2"}
        )
        before = await store.get_session(TENANT, names)
        changed = await store.update_session(
            TENANT, names, SessionChange(frozenset({"metadata_json"}), NOW + 5, metadata_json='{"x":1}')
        )
        assert changed == await store.get_session(TENANT, names)
        assert changed.metadata_json == '{"x":1}'
        assert changed.update_time == NOW + 5
        assert (changed.uid, changed.create_time, changed.expire_time) == (before.uid, before.create_time, before.expire_time)
        assert dict(changed.labels) == {"a": "1", "b": "2"}
        assert (changed.log_version, changed.last_seq, changed.usage) == (1, 1, Usage(1, 2, 3))
        assert texts(await read(store)) == ["hello"]

    async def test_an_update_replaces_labels_as_a_whole(self, store: Store) -> None:
        await create(store, labels={"a": "1", "b": "2"})
        changed = await store.update_session(TENANT, ref(), SessionChange(frozenset({"labels"}), NOW, labels={"b": "3"}))
        assert dict(changed.labels) == {"b": "3"}
        assert await ids(store, labels={"b": "3"}) == ["s1"]
        assert await ids(store, labels={"a": "1"}) == []
        assert await ids(store, labels={"b": "2"}) == []

    async def test_an_update_can_set_and_remove_the_expiry(self, store: Store) -> None:
        await create(store)
        later = await store.update_session(TENANT, ref(), SessionChange(frozenset({"expiry"}), NOW, expire_time=NOW + 7))
        assert later.expire_time == NOW + 7
        never = await store.update_session(TENANT, ref(), SessionChange(frozenset({"expiry"}), NOW))
        assert never.expire_time is None

    async def test_concurrent_updates_each_apply_whole(self, store: Store) -> None:
        await create(store)
        changes = [SessionChange(frozenset({"labels"}), NOW, labels={"a": str(n), "b": str(n)}) for n in range(12)]
        await asyncio.gather(*(store.update_session(TENANT, ref(), change) for change in changes))
        labels = dict((await store.get_session(TENANT, ref())).labels)
        assert labels["a"] == labels["b"]
        assert await ids(store, labels=labels) == ["s1"]
        for n in range(12):
            assert await ids(store, labels={"a": str(n)}) == (["s1"] if str(n) == labels["a"] else [])

    async def test_the_update_time_never_decreases(self, store: Store) -> None:
        await create(store)
        await append(store, draft("a"), now=NOW + 50)
        assert (await store.get_session(TENANT, ref())).update_time == NOW + 50
        await append(store, draft("a"), now=NOW + 20)
        changed = await store.update_session(TENANT, ref(), SessionChange(frozenset({"labels"}), NOW + 10))
        assert changed.update_time == NOW + 50

    async def test_a_deleted_session_leaves_nothing(self, store: Store) -> None:
        await session_with(store, draft("a"), draft("b"))
        assert await store.delete_session(TENANT, ref()) == 2
        with pytest.raises(SessionNotFound):
            await store.get_session(TENANT, ref())
        assert await read(store) == []
        assert await ids(store) == []
        assert await search(store, "a", UserScope("alice")) == []
        assert (await store.list_events(TENANT, ref(), EventQuery())).log_version == 0

    async def test_deleting_an_unknown_session_differs_from_deleting_an_empty_one(self, store: Store) -> None:
        assert await store.delete_session(TENANT, ref()) is None
        await create(store)
        assert await store.delete_session(TENANT, ref()) == 0

    async def test_a_deleted_id_can_be_used_again(self, store: Store) -> None:
        await session_with(store, draft("old", event_id="e1"), draft("older", event_id="e2"), labels={"a": "1"})
        old = await store.get_session(TENANT, ref())
        assert await store.delete_session(TENANT, ref(), old.uid) == 2
        assert await store.delete_session(TENANT, ref(), old.uid) is None
        new = await create(store)
        assert new.uid != old.uid
        with pytest.raises(VersionMismatch) as caught:
            await store.delete_session(TENANT, ref(), old.uid)
        assert caught.value.metadata == {"session_id": ref().session_id, "expected": old.uid, "actual": new.uid}
        assert (new.last_seq, new.log_version, dict(new.labels)) == (0, 0, {})
        assert await read(store) == []
        appended = await append(store, draft("new", event_id="e1"))
        assert [(event.seq, event.replayed) for event in appended.events] == [(1, False)]
        assert texts(await read(store)) == ["new"]
        assert await search(store, "old", UserScope("alice")) == []

    async def test_appends_and_recreations_in_turn_never_mix_sessions_of_one_name(self, store: Store) -> None:
        for life in range(5):
            await append(store, draft(f"life {life}"), create=new_session())
            assert texts(await read(store)) == [f"life {life}"]
            assert await store.delete_session(TENANT, ref()) == 1
            with pytest.raises(SessionNotFound):
                await append(store, draft("late"))

    async def test_sessions_are_found_by_their_user(self, store: Store) -> None:
        await create(store, "a1", user="alice")
        await create(store, "b1", user="bob")
        await create(store, "a2", user="alice")
        assert await ids(store, user_id="alice") == ["a2", "a1"]
        assert await ids(store, user_id="bob") == ["b1"]
        assert await ids(store, user_id="carol") == []

    async def test_sessions_are_listed_newest_first_by_app_user_and_every_label(self, store: Store) -> None:
        await create(store, "s1", app="shop", labels={"tier": "gold", "lang": "de"})
        await create(store, "s2", app="", labels={"tier": "gold"})
        await create(store, "s3", app="shop", user="bob", labels={"tier": "gold", "lang": "fr"})
        await create(store, "s4", app="shop")
        assert await ids(store) == ["s4", "s3", "s2", "s1"]
        assert await ids(store, app="shop") == ["s4", "s3", "s1"]
        assert await ids(store, app="") == ["s2"]
        assert await ids(store, app="shop", user_id="alice") == ["s4", "s1"]
        assert await ids(store, labels={"tier": "gold"}) == ["s3", "s2", "s1"]
        assert await ids(store, labels={"tier": "gold", "lang": "de"}) == ["s1"]
        assert await ids(store, app="shop", user_id="bob", labels={"lang": "fr"}) == ["s3"]
        assert await ids(store, labels={"tier": "Gold"}) == []
        assert await ids(store, labels={"gold": "tier"}) == []

    @pytest.mark.parametrize("limit", [1, 2, 3, 6, 7])
    async def test_listing_sessions_page_by_page_gives_each_once(self, store: Store, limit: int) -> None:
        for number in range(6):
            await create(store, f"s{number}", labels={"even": str(number % 2 == 0)}, create_time=NOW + number)
        await create(store, "other", user="bob")
        for labels, wanted in (({}, ["s5", "s4", "s3", "s2", "s1", "s0"]), ({"even": "True"}, ["s4", "s2", "s0"])):
            found: list[str] = []
            cursor = None
            while True:
                query = SessionQuery(user_id="alice", labels=labels, limit=limit, cursor=cursor)
                page = await store.list_sessions(TENANT, query)
                found += [session.ref.session_id for session in page.sessions]
                cursor = page.cursor
                if cursor is None:
                    break
                assert len(page.sessions) == limit
                later = f"later-{len(found)}-{limit}-{len(wanted)}"
                await create(store, later, labels=labels, create_time=NOW + 100)  # moves no page
            assert found == wanted

    async def test_an_imported_session_is_as_old_as_its_conversation_and_changed_now(self, store: Store) -> None:
        head = await settled(store)
        session = await create(store, began=NOW - HOUR)
        assert session == await store.get_session(TENANT, ref())
        assert (session.create_time, session.update_time) == (NOW - HOUR, NOW)
        await settled(store)
        [change] = (await store.changes(head, 10)).changes
        assert (change.time, change.after and change.after.create_time) == (NOW, NOW - HOUR)
        ahead = await create(store, "ahead", began=NOW + 5)
        assert (ahead.create_time, ahead.update_time) == (NOW + 5, NOW + 5)

    async def test_sessions_are_listed_by_when_they_began_and_then_by_when_they_were_made(self, store: Store) -> None:
        for name, began in {"b": NOW, "old": NOW - HOUR, "c": None, "oldest": 0, "d": NOW, "older": NOW - 2 * HOUR}.items():
            await create(store, name, began=began, app="shop" if name != "d" else "")
        assert await ids(store) == ["d", "c", "b", "old", "older", "oldest"]
        assert await ids(store, user_id="alice") == ["d", "c", "b", "old", "older", "oldest"]
        assert await ids(store, app="shop") == ["c", "b", "old", "older", "oldest"]

    @pytest.mark.parametrize("limit", [1, 2, 3, 5])
    async def test_sessions_with_past_times_made_between_pages_repeat_and_hide_nothing(self, store: Store, limit: int) -> None:
        """Those that go behind the page are listed, those that go before it are not."""
        for number in range(6):
            await create(store, f"s{number}", began=NOW - number // 2 * HOUR)
        found: list[str] = []
        behind: list[str] = []
        cursor = None
        while True:
            page = await store.list_sessions(TENANT, SessionQuery(limit=limit, cursor=cursor))
            found += [session.ref.session_id for session in page.sessions]
            if page.cursor is None:
                break
            assert len(page.sessions) == limit
            if cursor is None:
                behind = ["behind", "last"]
                await create(store, "before", began=page.sessions[-1].create_time + 1)
                await create(store, "same", began=page.sessions[-1].create_time)
                await create(store, "behind", began=page.sessions[-1].create_time - 1)
                await create(store, "last", began=1)
            cursor = page.cursor
        assert sorted(found) == sorted([*(f"s{number}" for number in range(6)), *behind])
        assert [name for name in found if name not in behind] == ["s1", "s0", "s3", "s2", "s5", "s4"]

    async def test_an_id_that_exists_is_refused_and_its_session_kept(self, store: Store) -> None:
        first = await create(store, metadata_json='{"first":1}')
        with pytest.raises(SessionAlreadyExists) as caught:
            await create(store, metadata_json='{"second":1}')
        assert caught.value.metadata == {"app": "shop", "user_id": "alice", "session_id": "s1"}
        assert await store.get_session(TENANT, ref()) == first

    async def test_return_existing_gives_the_loser_the_winners_session(self, store: Store) -> None:
        await session_with(store, draft("hello"), metadata_json='{"first":1}')
        session, created = await store.create_session(TENANT, new_session(metadata_json="{}"), return_existing=True)
        assert created is False
        assert session == await store.get_session(TENANT, ref())
        assert (session.metadata_json, session.last_seq) == ('{"first":1}', 1)

    async def test_one_id_may_belong_to_several_users_and_apps(self, store: Store) -> None:
        names = [ref(user="alice"), ref(user="bob"), ref(app="other"), ref(app="")]
        for name in names:
            await create(store, user=name.user_id, app=name.app)
            await append(store, draft(f"{name.app}/{name.user_id}"), to=name)
        for name in names:
            assert texts(await read(store, of=name)) == [f"{name.app}/{name.user_id}"]

    async def test_of_concurrent_creators_exactly_one_wins(self, store: Store) -> None:
        news = [new_session() for _ in range(16)]
        outcomes = await asyncio.gather(
            *(store.create_session(TENANT, new, return_existing=False) for new in news), return_exceptions=True
        )
        winners = [outcome[0] for outcome in outcomes if not isinstance(outcome, BaseException)]
        assert len(winners) == 1
        assert {type(outcome) for outcome in outcomes if isinstance(outcome, BaseException)} == {SessionAlreadyExists}
        assert await store.get_session(TENANT, ref()) == winners[0]

    async def test_concurrent_creators_that_return_existing_all_get_one_session(self, store: Store) -> None:
        outcomes = await asyncio.gather(*(store.create_session(TENANT, new_session(), return_existing=True) for _ in range(16)))
        assert [created for _, created in outcomes].count(True) == 1
        assert len({session.uid for session, _ in outcomes}) == 1

    async def test_totals_count_the_tenants_own(self, store: Store) -> None:
        assert (await store.info(TENANT, totals=True)).totals == Totals(0, 0)
        await session_with(store, draft("a"), draft("b"))
        await session_with(store, draft("c"), session_id="s2")
        await create(store, tenant="other")
        assert (await store.info(TENANT, totals=True)).totals == Totals(2, 3)
        assert (await store.info("other", totals=True)).totals == Totals(1, 0)
        assert (await store.info(TENANT, totals=False)).totals is None
        await store.delete_session(TENANT, ref())
        assert (await store.info(TENANT, totals=True)).totals == Totals(1, 1)

    async def test_info_describes_the_store(self, store: Store) -> None:
        info = await store.info(TENANT, totals=False)
        assert info.store_id
        assert info.engine
        assert info.durability
        assert info == await store.info("other", totals=False)
        await store.ping()


class NamingRows:
    """Bare refs and tenants."""

    async def test_a_bare_ref_finds_the_only_session_with_the_id(self, store: Store) -> None:
        names = await session_with(store, draft("hello", event_id="e1"))
        bare = ref(user="", app="")
        assert (await store.get_session(TENANT, bare)).ref == names
        assert texts(await read(store, of=bare)) == ["hello"]
        assert (await store.get_event(TENANT, bare, "e1")).seq == 1
        assert (await append(store, draft("again"), to=bare)).last_seq == 2
        assert [hit.ref for hit in await search(store, "again", bare)] == [names]
        change = SessionChange(frozenset({"labels"}), NOW, labels={"a": "b"})
        assert (await store.update_session(TENANT, bare, change)).ref == names
        assert await store.delete_session(TENANT, bare) == 2

    async def test_a_bare_ref_of_several_sessions_is_ambiguous_everywhere(self, store: Store) -> None:
        await create(store, user="alice")
        await create(store, user="bob")
        bare = ref(user="", app="")
        change = SessionChange(frozenset({"labels"}), NOW)
        for call in (
            store.get_session(TENANT, bare),
            store.list_events(TENANT, bare, EventQuery()),
            store.get_event(TENANT, bare, "e1"),
            append(store, draft("x"), to=bare),
            append(store, draft("x"), to=bare, create=new_session(user="carol")),
            search(store, "x", bare),
            store.update_session(TENANT, bare, change),
            store.delete_session(TENANT, bare),
        ):
            with pytest.raises(AmbiguousSession) as caught:
                await call
            assert caught.value.metadata == {"session_id": "s1"}
        assert len(await ids(store)) == 2

    async def test_ambiguity_ends_when_the_other_session_is_deleted_and_begins_when_one_is_made(self, store: Store) -> None:
        bare = ref(user="", app="")
        await create(store, user="alice")
        assert (await append(store, draft("x"), to=bare)).last_seq == 1
        await create(store, user="bob")
        with pytest.raises(AmbiguousSession):
            await append(store, draft("x"), to=bare)
        await store.delete_session(TENANT, ref(user="alice"))
        assert (await store.get_session(TENANT, bare)).ref == ref(user="bob")
        assert (await append(store, draft("y"), to=bare)).last_seq == 1

    @pytest.mark.parametrize("half", [ref(user=""), ref(app="")])
    async def test_a_ref_with_an_app_or_a_user_is_taken_as_given(self, store: Store, half: object) -> None:
        await create(store)
        with pytest.raises(SessionNotFound):
            await store.get_session(TENANT, half)  # type: ignore[arg-type]

    async def test_unknown_sessions_are_named_in_the_error(self, store: Store) -> None:
        change = SessionChange(frozenset({"labels"}), NOW)
        for names in (ref("nowhere"), ref("nowhere", user="", app="")):
            for call in (
                store.get_session(TENANT, names),
                store.get_event(TENANT, names, "e1"),
                append(store, draft("x"), to=names),
                search(store, "x", names),
                store.update_session(TENANT, names, change),
            ):
                with pytest.raises(SessionNotFound, match="nowhere"):
                    await call

    async def test_a_tenant_sees_nothing_of_another(self, store: Store) -> None:
        await session_with(store, draft("secret", event_id="e1"), expire_time=1, labels={"a": "b"})
        other, bare = "other", ref(user="", app="")
        assert await ids(store, tenant=other) == []
        assert await ids(store, tenant=other, labels={"a": "b"}) == []
        for names in (ref(), bare):
            for call in (
                store.get_session(other, names),
                store.get_event(other, names, "e1"),
                append(store, draft("x"), to=names, tenant=other),
                search(store, "secret", names, tenant=other),
            ):
                with pytest.raises(SessionNotFound):
                    await call
            assert list((await store.list_events(other, names, EventQuery())).events) == []
            assert await store.delete_session(other, names) is None
        assert await search(store, "secret", UserScope("alice"), tenant=other) == []
        assert await store.delete_expired(other, NOW, 100) == 0
        await create(store, tenant=other)
        assert (await append(store, draft("x", event_id="e1"), tenant=other)).last_seq == 1
        assert (await store.get_session(TENANT, bare)).last_seq == 1, "another tenant's session makes nothing ambiguous"
        assert texts(await read(store)) == ["secret"]
