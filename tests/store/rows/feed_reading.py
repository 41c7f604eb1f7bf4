"""Reading the feed: pages, positions, scopes and events."""

from __future__ import annotations

import asyncio

import pytest

from tests.store.rows.feed import relabel
from tests.support.clock import NOW
from tests.support.codec import CODEC, draft
from tests.support.feed import OURS, events_of, follow, kinds, pages, seqs_of, settled
from tests.support.sessions import TENANT, append, compact, create, placed, read, ref, session_with
from threadkeep_server.domain.feed import BEGINNING, Change, FeedScope, Position
from threadkeep_server.domain.model import Role
from threadkeep_server.store.contract.store import Store


async def busy(store: Store) -> list[Change]:
    """A feed with something of everything; what can be read of it, everybody's."""
    for number in range(4):
        name, tenant = f"s{number}", TENANT if number % 2 else "other"
        await create(store, name, tenant=tenant)
        await append(store, draft("a", event_id="e1"), draft("b"), to=ref(name), tenant=tenant)
    await relabel(store, {"a": "1"})
    await compact(store, ["e1"], placed(None, draft("sum")))
    await store.delete_session(TENANT, ref("s3"))
    await append(store, draft("c"))
    return await follow(store, None)


class FeedPagingRows:
    @pytest.mark.parametrize("limit", [1, 2, 3, 7, 1000])
    async def test_the_feed_is_the_same_in_pages_of_any_size(self, store: Store, limit: int) -> None:
        changes = await busy(store)
        assert kinds(changes) == (
            "created appended created appended created appended updated compacted deleted appended"  # but for what s3 had
        )
        assert await follow(store, None, limit=limit) == changes
        read = await pages(store, limit=limit)
        assert [change for page in read for change in page.changes] == [each for each in changes if each.tenant == TENANT]
        assert [page.more for page in read] == [True] * (len(read) - 1) + [False]
        assert read[-1].reached == await settled(store)

    @pytest.mark.parametrize("limit", [1, 3])
    async def test_the_feed_continues_after_any_change(self, store: Store, limit: int) -> None:
        changes = await busy(store)
        for number, change in enumerate(changes):
            assert await follow(store, None, after=change.position, limit=limit) == changes[number + 1 :]

    async def test_the_feed_ends_at_upto(self, store: Store) -> None:
        changes = await busy(store)
        places = [BEGINNING, *(change.position for change in changes)]
        for first, after in enumerate(places):
            for last, upto in enumerate(places[first:], first):
                for limit in (1, 1000):
                    assert await follow(store, None, after=after, upto=upto, limit=limit) == changes[first:last]

    async def test_the_feed_advances_where_a_scope_admits_nothing(self, store: Store) -> None:
        await busy(store)
        read = await pages(store, FeedScope("nobody"), limit=2)
        assert [change for page in read for change in page.changes] == []
        assert read[-1].reached == await settled(store)
        assert not read[-1].more

    async def test_the_feed_has_no_change_after_its_head_before_the_next_commit(self, store: Store) -> None:
        await busy(store)
        head = await settled(store)
        (page,) = await pages(store, None, after=head)
        assert (page.changes, page.reached, page.more, page.unsettled) == ([], head, False, False)
        assert (await append(store, draft("next"))).last_seq == 5
        (change,) = await follow(store, None, after=head)
        assert change.position > head
        assert change.last_seq == 5
        assert await settled(store) == change.position

    async def test_the_feed_of_a_new_store_is_empty(self, store: Store) -> None:
        assert await follow(store, None) == []
        state = await store.feed_state()
        assert (state.floor, state.head, state.unsettled, state.oldest_time) == (BEGINNING, BEGINNING, 0, None)
        assert await store.feed_head() == await store.feed_floor() == BEGINNING

    async def test_the_feed_has_facts_for_operators(self, store: Store) -> None:
        await create(store, create_time=NOW + 3)
        await append(store, draft("a"), now=NOW + 9)
        head = await settled(store)
        state = await store.feed_state()
        assert (state.floor, state.head, state.unsettled, state.oldest_time) == (BEGINNING, head, 0, NOW + 3)

    async def test_the_feed_gets_no_change_before_one_that_was_read(self, store: Store) -> None:
        """Readers that follow while others write see what those see who read later."""
        writing = asyncio.gather(
            *(session_with(store, *(draft(str(n)) for n in range(10)), session_id=f"w{writer}") for writer in range(8))
        )
        seen: list[Change] = []
        after = BEGINNING
        while not writing.done():
            page = await store.changes(after, 3, OURS)
            seen += page.changes
            after = page.reached
            await asyncio.sleep(0)
        await writing
        seen += await follow(store, after=after)
        assert seen == await follow(store)
        assert len(seen) == 8 * 11


SCOPES = [
    (FeedScope(TENANT), "one two three four five"),
    (FeedScope("other"), "six"),
    (FeedScope("nobody"), ""),
    (FeedScope(TENANT, app="shop"), "one two five"),
    (FeedScope(TENANT, app=""), "three four"),
    (FeedScope(TENANT, app="SHOP"), ""),
    (FeedScope(TENANT, user_id="alice"), "one four"),
    (FeedScope(TENANT, user_id="bob"), "two three"),
    (FeedScope(TENANT, app="", user_id="bob"), "three"),
    (FeedScope(TENANT, app="shop", user_id="alice", session_id="one"), "one"),
    (FeedScope(TENANT, app="shop", user_id="bob", session_id="one"), ""),
    (FeedScope("other", app="shop", user_id="alice", session_id="one"), ""),
    (FeedScope("other", app="shop", user_id="alice", session_id="six"), "six"),
    (FeedScope(TENANT, labels=(("team", "blue"),)), "one four"),
    (FeedScope(TENANT, labels=(("team", "it's \"%_"),)), "five"),
    (FeedScope(TENANT, labels=(("team", "blue"), ("x", "1"))), "four"),
    (FeedScope(TENANT, user_id="alice", app="shop", labels=(("team", "blue"),)), "one"),
    (FeedScope("other", labels=(("team", "blue"),)), "six"),
    (FeedScope(TENANT, labels=(("x", ""),)), ""),
]


class FeedScopeRows:
    @pytest.mark.parametrize(("scope", "names"), SCOPES)
    async def test_the_feed_of_a_scope_has_the_changes_that_the_scope_admits(
        self, store: Store, scope: FeedScope, names: str
    ) -> None:
        blue = {"team": "blue"}
        await create(store, "one", labels=blue)
        await create(store, "two", user="bob")
        await create(store, "three", user="bob", app="", labels={"team": "red", "x": "1"})
        await create(store, "four", app="", labels=blue | {"x": "1"})
        await create(store, "five", user="it's", labels={"team": "it's \"%_"})
        await create(store, "six", tenant="other", labels=blue)
        for session in reversed(await follow(store, None)):
            await append(store, draft("a"), to=session.ref, tenant=session.tenant)
        everybodys = await follow(store, None)
        for limit in (1, 1000):
            found = await follow(store, scope, limit=limit)
            assert found == [change for change in everybodys if scope.admits(change)]
        assert sorted(change.ref.session_id for change in found) == sorted(names.split() * 2)

    async def test_the_feed_separates_sessions_of_one_name(self, store: Store) -> None:
        refs = [ref(), ref(user="bob"), ref(app="x"), ref(app="", user="alice"), ref(app="shop", user="")]
        for name in refs:
            await create(store, user=name.user_id, app=name.app)
        for name in refs:
            scope = FeedScope(TENANT, name.app, name.user_id, name.session_id)
            assert scope.ref == name
            assert [change.ref for change in await follow(store, scope)] == [name]

    async def test_the_feed_of_labels_has_the_update_that_removes_them(self, store: Store) -> None:
        await create(store, labels={"team": "blue"})
        await append(store, draft("a"))
        blue, red = (FeedScope(TENANT, labels=(("team", colour),)) for colour in ("blue", "red"))
        assert (kinds(await follow(store, blue)), kinds(await follow(store, red))) == ("created appended", "")
        left = await settled(store)
        await relabel(store, {"team": "red"})
        await append(store, draft("b"))
        assert kinds(await follow(store, blue, after=left)) == kinds(await follow(store, blue)) == "updated"
        assert kinds(await follow(store, red)) == "created appended updated appended"
        await relabel(store, {"team": "green"})
        assert [kinds(await follow(store, scope)) for scope in (blue, red)] == ["updated", "updated"]

    async def test_the_feed_of_labels_has_the_deletion_of_a_session_with_them(self, store: Store) -> None:
        await create(store, labels={"team": "blue"})
        await relabel(store, {"team": "red"})
        await store.delete_session(TENANT, ref())
        assert kinds(await follow(store, FeedScope(TENANT, labels=(("team", "red"),)))) == "deleted"
        assert await follow(store, FeedScope(TENANT, labels=(("team", "blue"),))) == []


class FeedEventRows:
    async def test_the_feed_gives_events_with_their_facts(self, store: Store) -> None:
        drafts = [
            draft("one ä", role=Role.ASSISTANT, author="x", author_role="y", branch="a.b", time=77, synthetic=True),
            draft("two\x00", role=Role.TOOL),
        ]
        await create(store)
        await append(store, *drafts, now=NOW + 5)
        change = (await follow(store))[-1]
        one, two = await events_of(store, change)
        assert (one.seq, one.time, one.role, one.author, one.author_role, one.branch) == (
            1,
            77,
            Role.ASSISTANT,
            "x",
            "y",
            "a.b",
        )
        assert (one.synthetic, one.archived, one.text) == (True, False, "one ä")
        assert (two.seq, two.time, two.role, two.author, two.branch, two.synthetic) == (2, NOW + 5, Role.TOOL, "", "", False)
        assert two.text == "two\x00"
        assert [one.body, two.body] == [event.body for event in await read(store)]
        assert [type(each.role) for each in (one, two)] == [Role, Role]

    async def test_the_feed_returns_text_only_on_request(self, store: Store) -> None:
        await session_with(store, draft("one"))
        change = (await follow(store))[-1]
        (bare,) = await events_of(store, change, with_text=False)
        (full,) = await events_of(store, change, with_text=True)
        assert (bare.text, full.text) == ("", "one")
        assert CODEC.text(bare.body) == "one"
        assert bare.body == full.body

    async def test_the_feed_gives_events_of_many_changes_to_each_its_own(self, store: Store) -> None:
        for name in ("s1", "s2"):
            await create(store, name)
            await append(store, draft("a", event_id="e1"), to=ref(name))
        await append(store, draft("b"), draft("c"))
        await relabel(store, {"a": "1"})
        await compact(store, ["e1"], placed(None, draft("top"), draft("more")))
        await append(store, draft("d"))
        changes = await follow(store)
        assert kinds(changes) == "created appended created appended appended updated compacted appended"
        expected = [[], [1], [], [1], [2, 3], [], [4, 5], [6]]
        assert await seqs_of(store, changes) == expected
        assert await seqs_of(store, changes[::-1]) == expected[::-1]
        assert await seqs_of(store, []) == []
        assert await seqs_of(store, [changes[1], changes[1]]) == [[1], [1]]

    async def test_the_feed_returns_inserted_events_by_seq_from_any_place(self, store: Store) -> None:
        await session_with(store, *(draft(name, event_id=name) for name in ("e1", "e2", "e3")))
        places = [placed("e3", draft("late", synthetic=True)), placed("e2", draft("early"), draft("then"))]
        await compact(store, ["e1"], *places)
        await compact(store, (), placed("e3", draft("later")))
        *_, one, two = await follow(store)
        assert [event.text for event in await events_of(store, one)] == ["late", "early", "then"]
        assert await seqs_of(store, [one, two]) == [[4, 5, 6], [7]]
        assert [event.synthetic for event in await events_of(store, one)] == [True, False, False]

    async def test_the_feed_gives_events_as_archived_as_they_are_when_read(self, store: Store) -> None:
        await create(store)
        await append(store, draft("a", event_id="e1"), draft("b", event_id="e2"))
        await compact(store, ["e1"], placed("e2", draft("sum", event_id="sum")))
        await compact(store, ["sum"])
        _, appended, compacted, _ = await follow(store)
        assert [event.archived for event in await events_of(store, appended)] == [True, False]
        assert [event.archived for event in await events_of(store, compacted)] == [True]

    async def test_the_feed_has_no_events_of_a_deleted_session(self, store: Store) -> None:
        await session_with(store, draft("a"))
        await session_with(store, draft("b"), session_id="s2")
        changes = await follow(store)
        await store.delete_session(TENANT, ref())
        await session_with(store, draft("c"))
        assert await seqs_of(store, changes) == [[], [], [], [1]]

    async def test_the_feed_resumed_anywhere_across_a_compaction_has_every_event_once(self, store: Store) -> None:
        await session_with(store, *(draft(name, event_id=name) for name in ("e1", "e2", "e3")))
        early = await follow(store)
        await compact(store, ["e1", "e2"], placed("e3", draft("sum", synthetic=True)))
        await append(store, draft("e4"), draft("e5"))
        everything = sorted(event.seq for event in await read(store))
        late = await follow(store)
        assert late[: len(early)] == early

        async def seqs(changes: list[Change]) -> list[int]:
            return [seq for each in await seqs_of(store, changes) for seq in each]

        places = [Position(0, 0), *(change.position for change in late)]
        for number, place in enumerate(places):
            assert await seqs(late[:number]) + await seqs(await follow(store, after=place)) == everything
