"""After any calls of members the SQL stores have the state of the reference; without further calls the shares become even."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.store.conftest import Both
from tests.store.rows.consumers import KEY, LEASE, START, balance, change, give_back, named, parked
from tests.support.clock import NOW
from tests.support.runs.thoroughness import on_stores
from threadkeep_server.domain.feed import Position
from threadkeep_server.store.contract.consumers import ConsumerKey, Parked, Share, fair_share
from threadkeep_server.store.contract.store import Store

EXAMPLES = on_stores(40)
_names = count(1)

MEMBERS = st.sampled_from("mnopq")
NUMBERS = st.integers(0, 8)
STEPS = st.one_of(
    st.tuples(st.just("pass"), st.integers(1, LEASE)),
    st.tuples(st.sampled_from(["join", "balance", "balance", "give_back", "leave"]), MEMBERS),
    st.tuples(st.sampled_from(["acknowledge", "release", "lose"]), MEMBERS, st.frozensets(NUMBERS, max_size=4)),
    st.tuples(st.sampled_from(["reject", "park"]), MEMBERS, NUMBERS),
    st.tuples(st.sampled_from(["replay", "handled", "failed", "forget"]), st.integers(0, 3)),
)
CONSUMERS = st.integers(1, 9)


class Run:
    """One consumer on one store, and what happens to it."""

    def __init__(self, store: Store, key: ConsumerKey, partitions: int) -> None:
        self._store = store
        self._key = key
        self._partitions = partitions
        self._at = START.change
        self.now = NOW

    async def do(self, step: tuple[Any, ...]) -> Any:
        name, *arguments = step
        self._at += 1
        return await getattr(self, f"_{name}")(*arguments)

    async def state(self) -> Any:
        return await self._store.consumer(self._key), [_alike(each) for each in await parked(self._store, self._key)]

    async def round(self, members: Sequence[str], dice: Random) -> None:
        """Each member balances once, in any order, and releases its surplus."""
        for member_id in dice.sample(members, len(members)):
            await self._give_back(member_id)

    async def _pass(self, time: int) -> None:
        self.now += time

    async def _join(self, member_id: str) -> Any:
        wanted = named(self._key, partitions=self._partitions)
        return await self._store.join_consumer(wanted, START, member_id, self.now, self.now + LEASE)

    async def _balance(self, member_id: str) -> Share:
        share = await balance(self._store, member_id, key=self._key, now=self.now)
        return replace(share, partitions=list(share.partitions), replays=[_alike(each) for each in share.replays])

    async def _give_back(self, member_id: str) -> None:
        await give_back(self._store, member_id, key=self._key, now=self.now)

    async def _leave(self, member_id: str) -> None:
        await self._store.leave(self._key, member_id)

    async def _acknowledge(self, member_id: str, numbers: Collection[int]) -> set[int]:
        positions = dict.fromkeys(numbers, Position(START.xid, self._at))
        return set(await self._store.acknowledge(self._key, member_id, positions))

    async def _release(self, member_id: str, numbers: Collection[int]) -> None:
        await self._store.release_partitions(self._key, member_id, numbers, lost=False)

    async def _lose(self, member_id: str, numbers: Collection[int]) -> None:
        await self._store.release_partitions(self._key, member_id, numbers, lost=True, reason="slow")

    async def _reject(self, member_id: str, number: int) -> int:
        return await self._store.reject(self._key, member_id, number, f"no {self._at}")

    async def _park(self, member_id: str, session: int) -> bool:
        return await self._store.park(self._key, member_id, change(session, self._at), "never", self.now)

    async def _replay(self, index: int) -> int:
        return await self._store.replay_parked(self._key, await self._chosen(index))

    async def _forget(self, index: int) -> int:
        return await self._store.delete_parked(self._key, await self._chosen(index))

    async def _handled(self, index: int) -> None:
        for parked_id in await self._chosen(index):
            await self._store.finish_replay(self._key, parked_id, failed=None, now=self.now)

    async def _failed(self, index: int) -> None:
        for parked_id in await self._chosen(index):
            await self._store.finish_replay(self._key, parked_id, failed="again", now=self.now)

    async def _chosen(self, index: int) -> list[int]:
        return [each.parked_id for each in await parked(self._store, self._key)][index : index + 1]


def _alike(each: Parked) -> Parked:
    """Without its id: each store counts for itself."""
    return replace(each, parked_id=0)


def _key() -> ConsumerKey:
    """The examples of a test share a store."""
    return KEY._replace(name=f"c{next(_names)}")


@EXAMPLES
@given(partitions=CONSUMERS, steps=st.lists(STEPS, max_size=30))
def test_every_store_keeps_the_same(both: Both, partitions: int, steps: list[tuple[Any, ...]]) -> None:
    key = _key()
    tested, reference = (Run(store, key, partitions) for store in (both.tested, both.reference))
    for step in [("join", "m"), ("join", "n"), ("balance", "m"), *steps]:
        answers = [both.runner.run(each.do(step)) for each in (tested, reference)]
        assert answers[0] == answers[1], step
        states = [both.runner.run(each.state()) for each in (tested, reference)]
        assert states[0] == states[1], step


@EXAMPLES
@given(partitions=CONSUMERS, steps=st.lists(STEPS, max_size=20), members=st.sets(MEMBERS, min_size=1), dice=st.randoms())
def test_from_any_state_members_reach_equal_shares(
    both: Both, partitions: int, steps: list[tuple[Any, ...]], members: set[str], dice: Random
) -> None:
    async def work(run: Run) -> None:
        for step in [("join", "m"), ("balance", "m"), *steps]:
            await run.do(step)
        for each in set("mnopq") - members:
            await run.do(("leave", each))
        for _ in range(4):
            run.now += 1
            await run.round(sorted(members), dice)
        state, _ = await run.state()
        taken = [part.owner for part in state.partitions]
        shares = {member.member_id: len(member.partitions) for member in state.members}
        assert {member: taken.count(member) for member in members} == shares
        assert sum(shares.values()) == partitions, "every partition is held"
        assert max(shares.values()) - min(shares.values()) <= 1
        assert {fair_share(partitions, shares, member).surplus for member in members} == {0}

    for store in (both.tested, both.reference):
        both.runner.run(work(Run(store, _key(), partitions)))
