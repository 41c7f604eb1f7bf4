"""The steps of the schemas since the ninth: erasures, removals, namespaces, state, forks and moves."""

from __future__ import annotations

from typing import Any

from threadkeep_server.domain.erasure import Erasure, ErasureScope
from threadkeep_server.domain.memory.writes import MemoryWrite
from threadkeep_server.domain.model import Role, SessionChange
from threadkeep_server.domain.removals import Operation
from threadkeep_server.domain.state.state import StatePatch, StateScope, state_name
from threadkeep_server.store.contract.compaction import PolicyKey, PolicyScope, StoredPolicy
from threadkeep_server.store.contract.forks import ForkRequest
from threadkeep_server.store.contract.history import AsOf
from threadkeep_server.store.contract.moves import MoveRequest
from threadkeep_server.store.contract.removals import Chosen, Clear, Pop, RemovalRequest, Rewind, Suffix, Upsert, What

from .story import ALICE, OFF, START, TENANT, Story, memory, ref

LEAVING = ErasureScope(labels={"leaving": "1"}, memories=True)
POPPED, UPDATED, APPENDED = (Operation(name, b"fingerprint") for name in ("pop", "update", "append"))


def erasure(now: int = START) -> Erasure:
    return Erasure(TENANT, "request-1", LEAVING, now)


async def erasures(story: Story) -> None:
    """An erasure that has ended, and its receipt."""
    await story.create("leaving", labels={"leaving": "1"})
    await story.converse("leaving", 4)
    await story.store.erase(erasure(story.next()), 60)


async def remove(story: Story, session_id: str, what: What, **options: Any) -> None:
    await story.store.remove(RemovalRequest(TENANT, ref(session_id), story.next(), what, **options))


async def removals(story: Story) -> None:
    await story.create("r1")
    await story.converse("r1", 10)
    await remove(story, "r1", Pop(2), operation=POPPED)
    await remove(story, "r1", Chosen(["r1-1", "r1-4"]), erase=True)
    await remove(story, "r1", Suffix(["r1-7"], [story.draft("r1 says better", "r1-7", role=Role.ASSISTANT)]))
    await remove(story, "r1", Upsert([story.draft("r1 says other", "r1-2")]))
    await story.compact("r1", ["r1-0"], "r1-3", "sum-r1")
    await story.append("r1", *story.turns("r1", [20, 21]), operation=APPENDED)
    await story.create("r2")
    await story.converse("r2", 6)
    await remove(story, "r2", Clear())
    await story.converse("r2", 2, first=6)


async def clears(story: Story) -> None:
    """A log that is cleared and erased: its events are erased later."""
    await story.create("r3")
    await story.converse("r3", 8)
    await remove(story, "r3", Clear(), erase=True)
    await story.converse("r3", 2, first=8)


async def namespaces(story: Story) -> None:
    tea, trip = ("profile", "taste"), ("trips",)
    first = [
        MemoryWrite(memory("namespaces: oolong tea", "n1", namespace=tea, metadata_json='{"weight": 2}')),
        MemoryWrite(memory("namespaces: to Lisbon", "n2", namespace=trip, ttl=4 * START)),
        MemoryWrite(memory("namespaces: replaced", "n3")),
    ]
    await story.store.write_memories(TENANT, ALICE, first, story.next(), replacing=False)
    again = [MemoryWrite(memory("namespaces: it is new", "n3", metadata_json='{"weight": 3}'))]
    await story.store.write_memories(TENANT, ALICE, again, story.next(), replacing=True)


def session_state(**values: str) -> dict[StateScope, StatePatch]:
    return {StateScope.SESSION: StatePatch(values)}


async def states(story: Story) -> None:
    await story.create("st1", state={"color": '"red"', "size": "42.0"})
    await story.append("st1", *story.turns("st1", [0]), state=session_state(color='"blue"'))
    shared = {StateScope.USER: StatePatch({"name": '"Älice"'}), StateScope.APP: StatePatch({"motd": "[1e400]", "old": "1"})}
    await story.append("st1", *story.turns("st1", [1]), state=shared | session_state(cart="[]"))
    for scope, patch in (
        (StateScope.SESSION, StatePatch({"cart": '["shoes"]'}, ("size",))),
        (StateScope.APP, StatePatch({}, ("old",))),
        (StateScope.SESSION, StatePatch({"size": "43"})),
    ):
        await story.store.patch_state(TENANT, state_name(scope, ref("st1")), patch, story.next(), expected_version=None)
    await story.converse("st1", 2, first=2)


async def updates(story: Story) -> None:
    await story.create("u1")
    change = SessionChange(frozenset({"labels"}), story.next(), labels={"updated": "1"})
    await story.store.update_session(TENANT, ref("u1"), change, UPDATED)


async def fork(story: Story, session_id: str, of: str, **at: int) -> None:
    name = Operation(f"fork to {session_id}", b"fork")
    request = ForkRequest(TENANT, ref(of), session_id, f"uid-alice-{session_id}", story.next(), name, AsOf(**at, prefix="at_"))
    await story.store.fork(request)


async def forks(story: Story) -> None:
    await fork(story, "f1", "c1", seq=8)
    await story.converse("f1", 2)
    await fork(story, "f2", "st1", log_version=2)
    await story.create("w1", state={"step": "0"})
    await story.converse("w1", 6, state=session_state(step="1"))
    await story.compact("w1", ["w1-0", "w1-1"], "w1-2", "sum-w1")
    await story.converse("w1", 2, first=6, state=session_state(step="2"))
    await remove(story, "w1", Rewind(AsOf(log_version=2, prefix="at_")), operation=Operation("rewind", b"rewind"))
    await story.converse("w1", 2, first=8)
    await remove(story, "w1", Rewind(AsOf(log_version=4, prefix="at_")))


MOVED = Operation("move", b"move")


async def moves(story: Story) -> None:
    await story.create("m1", labels={"moved": "1"}, state={"owner": '"alice"'})
    await story.converse("m1", 4)
    key = PolicyKey(TENANT, PolicyScope.SESSION, *ref("m1"))
    await story.store.put_policy(StoredPolicy(key, OFF, story.next()))
    await story.store.move_session(MoveRequest(TENANT, ref("m1"), "bob", story.next(), MOVED))
    await story.converse("m1", 2, first=4, user="bob")
