"""Events by their keys, with their neighbors."""

from __future__ import annotations

from tests.support.candidates import ALICE, ask, say, terms, twice
from tests.support.codec import CODEC, draft
from tests.support.sessions import TENANT, compact, placed, ref, session_with
from threadkeep_server.domain.filters import ALL, EventFilter
from threadkeep_server.domain.model import Role
from threadkeep_server.domain.scopes import EventScope, UserScope
from threadkeep_server.domain.search import Field
from threadkeep_server.store.contract.store import Store


class FoundEventRows:
    async def keys(self, store: Store) -> list[int]:
        """Of every event of the session, in window order."""
        found = (await ask(store, "animal", ref())).found
        return [each.key for each in sorted(found, key=lambda each: each.position)]

    async def test_events_are_returned_in_the_order_of_the_keys(self, store: Store) -> None:
        await say(store, *(draft(f"animal {number}", role=Role(1 + number % 2), time=9) for number in range(5)))
        keys = await self.keys(store)
        assert len(keys) == 5
        order = [keys[3], 1 << 40, keys[0], -1, keys[4]]
        found = await store.events_by_key(TENANT, ref(), order)
        assert [each.key for each in found] == [keys[3], keys[0], keys[4]]
        assert [each.event.seq for each in found] == [4, 1, 5]
        assert {(each.ref, each.time) for each in found} == {(ref(), 9)}
        assert await store.events_by_key(TENANT, ref(), []) == []
        users = EventFilter(roles=frozenset({Role.USER}))
        assert [each.event.seq for each in await store.events_by_key(TENANT, ref(), keys, users)] == [1, 3, 5]
        named = EventFilter(keyword="animal 3")
        async for _ in twice(store):
            assert [each.event.seq for each in await store.events_by_key(TENANT, ref(), keys, named)] == [4]

    async def around(
        self, store: Store, wanted: EventFilter = ALL, neighbors: int = 1
    ) -> list[tuple[list[int], int, list[int]]]:
        """Seqs before, of and after each event."""
        found = await store.events_by_key(TENANT, ALICE, await self.keys(store), wanted, neighbors=neighbors)
        return [([e.seq for e in each.before], each.event.seq, [e.seq for e in each.after]) for each in found]

    async def test_neighbors_are_in_window_order(self, store: Store) -> None:
        await say(store, *(draft("animal") for _ in range(4)))
        await session_with(store, draft("animal"), session_id="s2")
        assert await self.around(store, neighbors=0) == [([], seq, []) for seq in (1, 2, 3, 4)]
        assert await self.around(store) == [([], 1, [2]), ([1], 2, [3]), ([2], 3, [4]), ([3], 4, [])]
        assert (await self.around(store, neighbors=2))[2] == ([1, 2], 3, [4])
        assert (await self.around(store, neighbors=100))[1] == ([1], 2, [3, 4])

    async def test_neighbors_match_view_and_branch_but_no_other_condition(self, store: Store) -> None:
        await say(
            store,
            draft("animal", event_id="a"),
            draft("animal", branch="kitchen"),
            draft("animal", event_id="c"),
            draft("animal", role=Role.ASSISTANT),
        )
        await compact(store, ["a"], placed("c", draft("animal summary", synthetic=True, role=Role.ASSISTANT)))
        assert await self.around(store) == [([], 1, [2]), ([1], 2, [5]), ([2], 5, [3]), ([5], 3, [4]), ([3], 4, [])]
        active = EventFilter(exclude_archived=True)
        assert await self.around(store, active) == [([], 2, [5]), ([2], 5, [3]), ([5], 3, [4]), ([3], 4, [])]
        hall = EventFilter(branch="hall", exclude_synthetic=True, roles=frozenset({Role.USER}), exclude_archived=True)
        assert await self.around(store, hall, 2) == [([5], 3, [4])]

    async def test_the_turn_of_an_event_begins_at_the_last_start_before_it(self, store: Store) -> None:
        await say(
            store,
            draft("animal", role=Role.SYSTEM),
            draft("animal", event_id="start"),
            draft("animal", role=Role.ASSISTANT),
            draft("animal", branch="side"),
            draft("animal", synthetic=True),
            draft("animal"),
        )
        await compact(store, ["start"])
        keys = await self.keys(store)
        found = await store.events_by_key(TENANT, ref(), keys, EventFilter(exclude_archived=True))
        assert [each.turn for each in found] == [0, *[keys[1]] * 3, keys[5]]

    async def test_large_bodies_are_received_completely(self, store: Store) -> None:
        large = "animal " + "x" * 100_000
        await say(store, draft(large), draft("animal"), draft(large))
        found = await store.events_by_key(TENANT, ref(), await self.keys(store), neighbors=1)
        assert [CODEC.text(each.event.body) for each in found] == [large, "animal", large]
        assert [CODEC.text(event.body) for event in (*found[1].before, *found[1].after)] == [large, large]

    async def test_events_of_several_sessions_have_neighbors_of_their_own_session(self, store: Store) -> None:
        for name in ("s1", "s2"):
            await session_with(store, *(draft(f"animal {name} {number}") for number in range(3)), session_id=name)
        found = (await ask(store, "animal", ALICE)).found
        events = await store.events_by_key(TENANT, ALICE, [each.key for each in found], neighbors=2)
        for each in events:
            beside = [CODEC.text(event.body) for event in (*each.before, each.event, *each.after)]
            assert beside == [f"animal {each.ref.session_id} {number}" for number in range(3)]

    async def test_neighbor_candidates_are_adjacent_in_the_view_and_match_the_filter(self, store: Store) -> None:
        await say(
            store,
            draft("animal", event_id="a"),
            draft("animal", branch="kitchen"),
            draft("animal", role=Role.ASSISTANT),
            draft("animal"),
            draft("animal"),
        )
        keys = await self.keys(store)
        await compact(store, ["a"])

        async def beside(places: list[int], wanted: EventFilter = ALL, scope: EventScope = ALICE) -> list[int]:
            found = await store.neighbor_candidates(TENANT, scope, [keys[place - 1] for place in places], Field.TEXT, wanted)
            assert all(each.words.startswith(terms("animal")[0]) for each in found)
            return sorted(each.position >> 20 for each in found)

        async for _ in twice(store):
            assert await beside([]) == []
            assert await beside([3]) == [2, 4]
            assert await beside([1, 5]) == [2, 4]
            assert await beside([3, 4]) == [2, 3, 4, 5]
            assert await beside([3], EventFilter(branch="hall")) == [1, 4]
            assert await beside([2], EventFilter(exclude_archived=True)) == [3]
            assert await beside([2, 4], EventFilter(roles=frozenset({Role.USER}))) == [1, 5]
            assert await beside([3], ALL, UserScope("bob")) == []
