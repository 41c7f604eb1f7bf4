"""The steps of the first eight schemas: sessions, compactions, consumers, memories, and compactions that are not finished."""

from __future__ import annotations

from tests.support.models.vectors import DIMENSION, vectors
from threadkeep.v1 import message_pb2
from threadkeep_server.domain.feed import BEGINNING, FeedScope
from threadkeep_server.domain.memories import Forget, MemoryScope
from threadkeep_server.domain.model import Role, SessionChange, Usage
from threadkeep_server.store.contract.compaction import PolicyKey, PolicyScope, StoredPolicy
from threadkeep_server.store.contract.consumers import Consumer, ConsumerKey
from threadkeep_server.store.contract.vectors import Source

from .story import ALICE, APP, NEVER, OFF, SECOND, START, TENANT, Story, memory, ref

MAILER, ALICES = ConsumerKey(TENANT, "", "mailer"), ConsumerKey(TENANT, "alice", "mine")
MEMBER, MODEL = "m1", "small"


async def sessions(story: Story) -> None:
    await story.create("s1", metadata_json='{"topic": "shoes", "size": 42.0}', labels={"tier": "gold", "team": "ä"})
    await story.create("s2", "bob", expire_time=4 * START, context_bytes=4000)
    await story.create("gone")
    call = message_pb2.Part(tool_call=message_pb2.ToolCallPart(id="c1", name="find", arguments_json='{"size": 42.0}'))
    found = message_pb2.Part(tool_result=message_pb2.ToolResultPart(call_id="c1", name="find"))
    found.tool_result.parts.add().text = "Straße 5, 100% wool_socks"
    await story.append(
        "s1",
        story.draft("Be kind.", "prompt", role=Role.SYSTEM),
        story.draft("Do you have RED shoes? \U0001f600", "e1", time=START, metadata_json='{"a": 1.0}'),
        story.draft("One moment.", "e2", role=Role.ASSISTANT, author="seller", parts=[call], usage=Usage(5, 7, 12)),
    )
    await story.append("s1", story.draft(None, "e3", role=Role.TOOL, parts=[found]))
    await story.append("s1", story.draft("noted", "e4", role=Role.ASSISTANT, author="clerk", branch="seller.clerk"))
    await story.append("s1", story.draft("", "empty"), story.draft("x" * 130, "long", role=Role.ASSISTANT))
    await story.append("s2", story.draft("bob's red shoes", "e1"), user="bob")
    await story.append("gone", story.draft("red, and gone", "e1"))
    labels = SessionChange(frozenset({"labels"}), story.next(), labels={"tier": "silver"})
    await story.store.update_session(TENANT, ref("s2", "bob"), labels)
    await story.store.delete_session(TENANT, ref("gone"))


async def compactions(story: Story) -> None:
    await story.create("c1")
    await story.append("c1", story.draft("Be brief.", "c1-prompt", role=Role.SYSTEM))
    await story.converse("c1", 6)
    await story.compact("c1", ["c1-0", "c1-1"], "c1-2", "sum-1")
    await story.converse("c1", 4, first=6)
    await story.compact("c1", ["sum-1", "c1-2", "c1-3"], "c1-4", "sum-2")
    await story.converse("c1", 3, first=10)
    for scope, name, body in (
        (PolicyScope.USER_OF_APP, (APP, "alice"), NEVER),
        (PolicyScope.SESSION, ref("c1"), OFF),
        (PolicyScope.APP, (APP,), NEVER),
        (PolicyScope.APP, (APP,), None),
    ):
        await story.store.put_policy(StoredPolicy(PolicyKey(TENANT, scope, *name), body, story.next()))


async def consumers(story: Story) -> None:
    await story.create("watched", labels={"watched": "1"})
    await story.converse("watched", 4)
    await story.store.update_session(
        TENANT, ref("watched"), SessionChange(frozenset({"labels"}), story.next(), labels={"watched": "2"})
    )
    await story.compact("watched", ["watched-0"], "watched-1", "sum-w")
    changes = (await story.store.changes(BEGINNING, 1000, FeedScope(TENANT, APP, "alice", "watched"))).changes
    for key, scope, partitions in (
        (MAILER, FeedScope(TENANT, APP), 4),
        (ALICES, FeedScope(TENANT, APP, "alice", labels=(("watched", "2"),)), 1),
    ):
        consumer = Consumer(key, scope, b"", partitions, max_attempts=3, ack_timeout=60 * SECOND, create_time=story.next())
        until = story.now + 3600 * SECOND
        await story.store.join_consumer(consumer, BEGINNING, MEMBER, story.now, until)
        share = await story.store.balance(key, MEMBER, story.now, until)
        held = {each.number for each in share.partitions}
        for number in held:
            await story.store.reject(key, MEMBER, number, "refused")
        for change in changes if key == MAILER else changes[:1]:
            await story.store.park(key, MEMBER, change, f"failed on {change.kind.name}", story.next())
        parked = await story.store.parked(key, 100, 0)
        await story.store.replay_parked(key, [parked[0].parked_id])
        await story.store.acknowledge(key, MEMBER, {min(held): changes[-1].position})
    await story.store.leave(ALICES, MEMBER)


async def memories(story: Story) -> None:
    model = await story.store.vector_model(MODEL, DIMENSION)
    tea = memory("likes green TEA", "m1", metadata_json='{"kind": "taste", "weight": 1.5}', author="alice")
    await story.store.add_memories(TENANT, ALICE, [tea], story.next(), ingesting=False)
    more = [
        memory("é" * 70, "m2", event_time=START),
        memory("said red shoes", "uid-alice-s1/e1", session_id="s1", event_id="e1"),
        memory("said noted", "uid-alice-s1/e4", session_id="s1", event_id="e4"),
        memory("soon forgotten", "m3"),
    ]
    await story.store.add_memories(TENANT, ALICE, more, story.next(), ingesting=True)
    await story.store.add_memories(
        TENANT, MemoryScope("", "bob"), [memory("bob has no app", "m1")], story.next(), ingesting=False
    )
    await story.store.forget(TENANT, ALICE, Forget(names=["m3", "uid-alice-s1/e4"]), story.next())
    waiting = await story.store.unembedded(Source.MEMORIES, model, 2)
    made = vectors((each.text for each in waiting), MODEL)
    await story.store.put_embeddings(Source.MEMORIES, model, [each.key for each in waiting], made)


async def archivings(story: Story) -> None:
    """A compaction of more events than are archived at once: they are marked later."""
    await story.create("a1")
    await story.converse("a1", 10)
    await story.compact("a1", [f"a1-{number}" for number in range(7)], "a1-7", "sum-a1")
    await story.converse("a1", 2, first=10)


async def listings(story: Story) -> None:
    """The same of events that are no prefix."""
    await story.create("a2")
    await story.converse("a2", 12)
    await story.compact("a2", [f"a2-{number}" for number in range(0, 12, 2)], None, "sum-a2")
    await story.converse("a2", 1, first=12)
