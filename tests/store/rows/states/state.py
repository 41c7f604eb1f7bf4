"""State of sessions, users and apps."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest

from tests.support.clock import NOW
from tests.support.codec import draft
from tests.support.feed import follow, kinds
from tests.support.runs.thoroughness import size
from tests.support.sessions import TENANT, append, compact, create, new_session, ref
from threadkeep_server.domain.erasure import Erasure, ErasureScope
from threadkeep_server.domain.errors import SessionNotFound, StateTooLarge, VersionMismatch
from threadkeep_server.domain.feed import Change, ChangeKind, FeedScope
from threadkeep_server.domain.model import SessionRef
from threadkeep_server.domain.state.state import (
    MAX_PATCHED_KEYS,
    MAX_STATE_KEYS,
    MAX_VALUE_BYTES,
    MOST_SHOWN_BYTES,
    StateName,
    StatePage,
    StatePatch,
    StateQuery,
    StateScope,
)
from threadkeep_server.store.contract.store import Store

SESSION = StateName(StateScope.SESSION, ref())
USER = StateName(StateScope.USER, SessionRef("shop", "alice", ""))
APP = StateName(StateScope.APP, SessionRef("shop", "", ""))
HARD = {"big": "9007199254740993", "huge": "1e400", "order": '{"z": 1, "a": [1.0, null]}', "none": "null", "key é": '"\\u0000"'}


async def patch(
    store: Store, name: StateName = SESSION, *remove: str, at: int | None = None, tenant: str = TENANT, **values: Any
) -> int:
    return await store.patch_state(tenant, name, StatePatch(values, remove), NOW + 1, expected_version=at)


async def put(store: Store, values: Mapping[str, str], name: StateName = SESSION) -> int:
    return await store.patch_state(TENANT, name, StatePatch(values), NOW + 1)


async def state(store: Store, name: StateName = SESSION, *, tenant: str = TENANT, **query: Any) -> StatePage:
    return await store.get_state(tenant, name, StateQuery(**query))


async def values(store: Store, name: StateName = SESSION, **query: Any) -> dict[str, str]:
    return dict((await state(store, name, **query)).values)


def states(changes: list[Change]) -> list[tuple[str, int, dict[str, str], tuple[str, ...]]]:
    """Returns the session, version, values set and keys removed of each change of state."""
    found = [(each.ref.session_id, each.state) for each in changes if each.state is not None]
    return [(name, record.version, dict(record.patch.set), record.patch.remove) for name, record in found]


class StateRows:
    @pytest.mark.parametrize("name", [SESSION, USER, APP], ids=["session", "user", "app"])
    async def test_values_are_stored_verbatim_and_a_removed_key_is_not_a_null(self, store: Store, name: StateName) -> None:
        await create(store)
        assert await state(store, name) == StatePage()
        assert await put(store, HARD, name) == 1
        assert await state(store, name) == StatePage(HARD, 1)
        assert await patch(store, name, "big", "unknown", order="1.0") == 2
        assert await values(store, name) == {key: value for key, value in HARD.items() if key != "big"} | {"order": "1.0"}
        others = {SESSION, USER, APP} - {name}
        assert [await state(store, other) for other in others] == [StatePage(), StatePage()]

    async def test_a_patch_that_changes_nothing_keeps_the_version_and_is_no_change(self, store: Store) -> None:
        await create(store)
        assert await patch(store, a="1", b="2") == 1
        assert await patch(store, SESSION, "unknown", a="1") == 1
        assert await patch(store) == 1
        assert kinds(await follow(store)) == "created state"

    async def test_state_of_an_unknown_session_is_refused(self, store: Store) -> None:
        with pytest.raises(SessionNotFound):
            await state(store)
        with pytest.raises(SessionNotFound):
            await patch(store, a="1")

    async def test_state_is_found_by_the_session_id_alone(self, store: Store) -> None:
        await create(store)
        bare = StateName(StateScope.SESSION, SessionRef("", "", "s1"))
        await patch(store, bare, a="1")
        assert await values(store, bare) == await values(store) == {"a": "1"}

    async def test_a_patch_of_a_session_is_its_last_update(self, store: Store) -> None:
        await create(store)
        await patch(store, a="1")
        session = await store.get_session(TENANT, ref())
        assert (session.update_time, session.log_version, session.last_seq) == (NOW + 1, 0, 0)

    async def test_names_of_tenants_apps_and_users_are_apart(self, store: Store) -> None:
        bob, other_app = (
            StateName(StateScope.USER, SessionRef(app, user, "")) for app, user in (("shop", "bob"), ("", "alice"))
        )
        await patch(store, USER, a="1")
        await patch(store, APP, a="2")
        await patch(store, bob, a="3")
        await patch(store, other_app, a="4")
        await patch(store, USER, tenant="other", a="5")
        found = [await values(store, name) for name in (USER, APP, bob, other_app)]
        assert found == [{"a": "1"}, {"a": "2"}, {"a": "3"}, {"a": "4"}]
        assert (await state(store, USER, tenant="other")).values == {"a": "5"}

    async def test_pages_are_in_the_order_of_bytes(self, store: Store) -> None:
        await create(store)
        keys = ["B", "a", "a.1", "a.2", "z", "é", "\U0001f600"]  # "é" is one of many that databases sort otherwise
        await put(store, dict.fromkeys(keys, "1"))
        first = await state(store, limit=3)
        assert (list(first.values), first.more) == (keys[:3], True)
        assert list((await state(store, after="a.1", limit=9)).values) == keys[3:]
        assert await state(store, prefix="a.") == StatePage({"a.1": "1", "a.2": "1"}, 1)
        assert await state(store, keys=("z", "B", "unknown")) == StatePage({"B": "1", "z": "1"}, 1)
        assert await state(store, prefix="zz") == StatePage({}, 1)
        limited = await state(store, max_bytes=5)
        assert (list(limited.values), limited.more) == (keys[:2], True)

    async def test_a_page_has_a_value_however_large_it_is(self, store: Store) -> None:
        await create(store)
        await patch(store, a='"long"', b="1")
        page = await state(store, max_bytes=1)
        assert (dict(page.values), page.more) == ({"a": '"long"'}, True)

    async def test_state_that_would_be_too_large_is_refused_as_a_whole(self, store: Store) -> None:
        await create(store)
        large = '"' + "x" * (MAX_VALUE_BYTES - 2) + '"'
        await patch(store, a=large, b=large, c=large)
        with pytest.raises(StateTooLarge, match="bytes"):
            await patch(store, d=large, e="1")
        with pytest.raises(StateTooLarge, match="bytes"):
            await append(store, draft("x"), state={StateScope.SESSION: StatePatch({"d": large})})
        assert (await store.get_session(TENANT, ref())).last_seq == 0
        assert list(await values(store)) == ["a", "b", "c"]
        assert await patch(store, SESSION, "a", d=large) == 2

    async def test_more_keys_than_a_scope_may_have_are_refused(self, store: Store) -> None:
        for start in range(0, MAX_STATE_KEYS, MAX_PATCHED_KEYS):
            await put(store, {f"k{n}": "1" for n in range(start, start + MAX_PATCHED_KEYS)}, APP)
        with pytest.raises(StateTooLarge, match="keys"):
            await patch(store, APP, one="more")
        assert await patch(store, APP, "k0", one="more") == 11

    async def test_a_session_begins_with_the_state_it_is_created_with(self, store: Store) -> None:
        new = new_session()
        new.state = {"a": "1", "b": "null"}
        await store.create_session(TENANT, new, return_existing=False)
        assert await state(store) == StatePage({"a": "1", "b": "null"}, 1)
        assert await patch(store, SESSION, "b", a="1", c="3") == 2
        changes = await follow(store)
        assert kinds(changes) == "created state state"
        assert states(changes) == [("s1", 1, {"a": "1", "b": "null"}, ()), ("s1", 2, {"c": "3"}, ("b",))]

    async def test_a_session_that_is_deleted_loses_its_state(self, store: Store) -> None:
        await create(store)
        await patch(store, a='"old"')
        await append(
            store, draft("x"), state={StateScope.SESSION: StatePatch({"a": "2"}), StateScope.USER: StatePatch({"u": "1"})}
        )
        await store.delete_session(TENANT, ref())
        with pytest.raises(SessionNotFound):
            await state(store)
        await create(store)
        assert await state(store) == StatePage()
        assert await values(store, as_of=0) == {}
        assert kinds(await follow(store)) == "state deleted created"
        assert await values(store, USER) == {"u": "1"}


class StateHistoryRows:
    async def test_the_values_of_every_log_version_are_kept(self, store: Store) -> None:
        new = new_session()
        new.state = {"a": '"first"', "gone": "1"}
        await store.create_session(TENANT, new, return_existing=False)
        known = [await values(store)]
        deltas = [StatePatch({"a": "1", "b": "1"}), StatePatch({"a": "2"}, ("gone",)), StatePatch({"b": "2", "gone": "2"})]
        for n, delta in enumerate(deltas):
            await append(store, draft(str(n), event_id=f"e{n}"), state={StateScope.SESSION: delta})
            await patch(store, SESSION, c=str(n))
            await patch(store, SESSION, c=str(n + 1))  # of the same log version
            known.append(await values(store))
        await compact(store, ["e0"])
        await patch(store, SESSION, "a", "b")
        known.append(await values(store))
        assert [await values(store, as_of=version) for version in range(5)] == known
        assert await values(store, as_of=99) == known[-1]
        assert await values(store, as_of=1, prefix="a") == {"a": "1"}
        page = await state(store, as_of=1, limit=2)
        assert (dict(page.values), page.more, page.version) == ({"a": "1", "b": "1"}, True, 9)


class StateDeltaRows:
    async def test_a_delta_is_committed_with_its_events_and_once(self, store: Store) -> None:
        await create(store)
        delta = {
            StateScope.SESSION: StatePatch({"s": "1"}),
            StateScope.USER: StatePatch({"u": "1"}),
            StateScope.APP: StatePatch({"a": "1"}),
        }
        sent = draft("x", event_id="e1")
        await append(store, sent, state=delta)
        await patch(store, s="2")
        replay = await append(store, sent, state=delta)
        assert replay.events[0].replayed
        assert [await state(store, name) for name in (SESSION, USER, APP)] == [
            StatePage({"s": "2"}, 2),
            StatePage({"u": "1"}, 1),
            StatePage({"a": "1"}, 1),
        ]

    async def test_an_append_that_is_refused_changes_no_state(self, store: Store) -> None:
        await create(store)
        delta = {StateScope.SESSION: StatePatch({"s": "1"}), StateScope.APP: StatePatch({"a": "1"})}
        with pytest.raises(VersionMismatch):
            await append(store, draft("x"), expected_log_version=7, state=delta)
        assert [await state(store, name) for name in (SESSION, APP)] == [StatePage(), StatePage()]
        assert kinds(await follow(store)) == "created"

    async def test_an_append_that_would_make_state_too_large_creates_no_session(self, store: Store) -> None:
        large = '"' + "x" * (MAX_VALUE_BYTES - 2) + '"'
        delta = {StateScope.APP: StatePatch(dict.fromkeys("abcde", large)), StateScope.SESSION: StatePatch({"s": "1"})}
        await create(store, "s2")
        outcomes = await asyncio.gather(
            append(store, draft("x"), create=new_session(), state=delta),
            append(store, draft("y"), to=ref("s2")),
            return_exceptions=True,
        )
        assert isinstance(outcomes[0], StateTooLarge)
        assert not isinstance(outcomes[1], BaseException)
        with pytest.raises(SessionNotFound):
            await store.get_session(TENANT, ref())
        assert await state(store, APP) == StatePage()

    async def test_an_append_creates_a_session_with_state_and_changes_it(self, store: Store) -> None:
        new = new_session()
        new.state = {"a": "1", "b": "1"}
        delta = {StateScope.SESSION: StatePatch({"a": "2"}, ("b",))}
        await append(store, draft("x"), create=new, state=delta)
        assert await state(store) == StatePage({"a": "2"}, 2)
        assert await values(store, as_of=0) == {"a": "1", "b": "1"}

    async def test_appends_of_one_group_change_state_in_order(self, store: Store) -> None:
        await create(store)
        await create(store, "s2")
        requests = [
            append(store, draft(f"{n}"), to=ref("s2" if n % 3 else "s1"), state={StateScope.USER: StatePatch({"n": str(n)})})
            for n in range(20)
        ]
        await asyncio.gather(*requests)
        assert await state(store, USER) == StatePage({"n": "19"}, 20)
        changes = [change for change in await follow(store) if change.kind is ChangeKind.STATE]
        assert [each[:3] for each in states(changes)] == [("", n + 1, {"n": str(n)}) for n in range(20)]


class StateConcurrencyRows:
    @pytest.mark.parametrize(("name", "writers"), [(SESSION, 64), (APP, size(64, 16))], ids=["session", "app"])
    async def test_of_many_writers_with_a_version_none_is_lost(self, store: Store, name: StateName, writers: int) -> None:
        await create(store)

        async def count() -> None:
            while True:
                seen = await state(store, name)
                with suppress(VersionMismatch):
                    await patch(store, name, at=seen.version, count=str(int(seen.values.get("count", "0")) + 1))
                    return

        await asyncio.gather(*(count() for _ in range(writers)))
        assert await state(store, name) == StatePage({"count": str(writers)}, writers)

    async def test_patches_and_appends_of_one_scope_leave_the_state_of_the_last_change(self, store: Store) -> None:
        await create(store)

        async def write(n: int) -> None:
            if n % 2:
                await put(store, {f"k{n % 5}": str(n)}, USER)
            else:
                await append(store, draft(str(n)), state={StateScope.USER: StatePatch({f"k{n % 5}": str(n)})})

        await asyncio.gather(*(write(n) for n in range(40)))
        replayed: dict[str, str] = {}
        for _, _, changed, _ in states(await follow(store)):
            replayed |= changed
        assert await state(store, USER) == StatePage(replayed, 40)


class StateFeedRows:
    async def test_every_change_of_state_is_in_the_feed_in_order(self, store: Store) -> None:
        await create(store)
        await patch(store, USER, u="1")
        await append(
            store, draft("a"), state={StateScope.SESSION: StatePatch({"s": "1"}), StateScope.APP: StatePatch({"a": "1"})}
        )
        await patch(store, SESSION, "s", t="2")
        changes = await follow(store)
        assert kinds(changes) == "created state appended state state"
        assert states(changes) == [
            ("", 1, {"u": "1"}, ()),
            ("s1", 1, {"s": "1"}, ()),
            ("", 1, {"a": "1"}, ()),
            ("s1", 2, {"t": "2"}, ("s",)),
        ]
        assert [change.ref for change in changes] == [ref(), USER.ref, ref(), APP.ref, ref()]
        assert [change.log_version for change in changes] == [0, 0, 1, 0, 1]

    async def test_scopes_have_the_state_that_they_cover(self, store: Store) -> None:
        await create(store)
        await patch(store, SESSION, s="1")
        await patch(store, USER, u="1")
        await patch(store, APP, a="1")
        await patch(store, StateName(StateScope.USER, SessionRef("shop", "bob", "")), b="1")

        async def seen(app: str | None = None, user: str | None = None, session: str | None = None, **labels: str) -> list[str]:
            scope = FeedScope(TENANT, app, user, session, labels=tuple(labels.items()))
            return [key for _, _, changed, _ in states(await follow(store, scope)) for key in changed]

        assert await seen() == ["s", "u", "a", "b"]
        assert await seen("shop") == ["s", "u", "a", "b"]
        assert await seen("other") == []
        assert await seen(None, "alice") == ["s", "u"]
        assert await seen("shop", "bob") == ["b"]
        assert await seen("shop", "alice", "s1") == ["s"]
        assert await seen(label="x") == []

    async def test_a_large_patch_is_reported_without_its_values(self, store: Store) -> None:
        large = '"' + "x" * MOST_SHOWN_BYTES + '"'
        await patch(store, APP, a=large)
        (change,) = await follow(store)
        assert change.state is not None
        assert (change.state.version, change.state.omitted, change.state.patch) == (1, True, StatePatch())


class StateErasureRows:
    async def erase(self, store: Store, **scope: Any) -> None:
        wanted = Erasure(TENANT, "", ErasureScope(memories=True, **scope), NOW)
        assert (await store.erase(wanted, 60)).finish_time is not None

    async def test_the_state_of_an_erased_user_is_gone_and_its_deletion_is_reported(self, store: Store) -> None:
        bob = StateName(StateScope.USER, SessionRef("shop", "bob", ""))
        for name in (USER, APP, bob):
            await patch(store, name, a="1")
        await self.erase(store, user_id="alice")
        assert [await state(store, name) for name in (USER, APP, bob)] == [
            StatePage(),
            StatePage({"a": "1"}, 1),
            StatePage({"a": "1"}, 1),
        ]
        last = (await follow(store))[-1]
        assert last.state is not None
        assert (last.ref, last.state.deleted, last.state.patch) == (USER.ref, True, StatePatch())
        assert len(await follow(store)) == 3
        assert await patch(store, USER, a="2") == 1

    async def test_the_state_of_an_erased_app_is_gone(self, store: Store) -> None:
        other = StateName(StateScope.USER, SessionRef("other", "alice", ""))
        for name in (USER, APP, other):
            await patch(store, name, a="1")
        await self.erase(store, app="shop")
        assert [dict((await state(store, name)).values) for name in (USER, APP, other)] == [{}, {}, {"a": "1"}]
