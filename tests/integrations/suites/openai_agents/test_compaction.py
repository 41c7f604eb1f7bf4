"""Compaction by the provider, and encryption: the sessions of the SDK that wrap this one."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from agents import OpenAIResponsesCompactionSession, Runner, SessionSettings, TResponseInputItem
from agents.extensions.memory import EncryptedSession
from agents.testing import assistant_message
from cryptography.fernet import Fernet

from tests.integrations.suites.openai_agents.scripted import QUIET, Compactor, agent
from tests.integrations.suites.openai_agents.test_session import contents, said
from threadkeep import AsyncClient, assistant, tool_call
from threadkeep.integrations.openai_agents import ThreadkeepSession

COMPACTED = {"type": "compaction", "id": "cmp_1", "encrypted_content": "Zm9v"}
KEY = Fernet.generate_key().decode("ascii")


def compacting(session: Any, compactor: Compactor) -> OpenAIResponsesCompactionSession:
    return OpenAIResponsesCompactionSession(
        session.session_id,
        session,
        client=compactor.client,
        compaction_mode="input",
        should_trigger_compaction=lambda context: True,
    )


@pytest.fixture
def session(client: AsyncClient) -> ThreadkeepSession:
    return ThreadkeepSession(client, "s1")


async def test_snapshot_has_newest_items_and_says_whether_they_are_all(session: ThreadkeepSession) -> None:
    await session.add_items(said("1", "2", "3"))
    for limit, items, complete in ((2, ["2", "3"], False), (3, ["1", "2", "3"], True), (9, ["1", "2", "3"], True)):
        snapshot = await session._get_compaction_snapshot(limit)
        assert snapshot is not None
        assert (contents(snapshot.items), snapshot.complete) == (items, complete)


async def test_replace_suffix_keeps_what_is_before_it(session: ThreadkeepSession, client: AsyncClient) -> None:
    await session.add_items(said("1", "2", "3"))
    snapshot = await session._get_compaction_snapshot(2)
    assert snapshot is not None
    assert await snapshot.replace_suffix(1, said("three"))
    assert contents(await session.get_items()) == ["1", "2", "three"]
    assert not await snapshot.replace_suffix(1, said("again")), "a snapshot is good for one replacement"
    assert not await snapshot.replace_suffix(2, said("beyond"))
    assert [each.text async for each in client.events("s1")] == ["1", "2", "3", "three"], "the replaced item is archived"


async def test_replace_suffix_of_a_long_history_replaces_all_of_it(session: ThreadkeepSession) -> None:
    await session.add_items(said(*map(str, range(1_200))))
    snapshot = await session._get_compaction_snapshot(2_000)
    assert snapshot is not None
    await session.add_items(said("late"))
    assert not await snapshot.replace_suffix(0, said("short"))
    snapshot = await session._get_compaction_snapshot(2_000)
    assert snapshot is not None
    assert await snapshot.replace_suffix(100, said("short"))
    assert contents(await session.get_items()) == [*map(str, range(100)), "short"]


async def test_replace_suffix_within_a_message_of_another_framework_keeps_its_beginning(
    session: ThreadkeepSession, client: AsyncClient
) -> None:
    await client.append("s1", assistant(["a", tool_call("c1", "f", {})]), create_if_missing=True)
    snapshot = await session._get_compaction_snapshot(1)
    assert snapshot is not None
    assert not snapshot.complete
    assert await snapshot.replace_suffix(0, said("b"))
    assert contents(await session.get_items()) == ["a", "b"]


@pytest.mark.parametrize("change", ["append", "pop", "clear"])
async def test_replace_suffix_after_change_by_another_instance_does_nothing(
    client: AsyncClient, session: ThreadkeepSession, change: str
) -> None:
    await session.add_items(said("1", "2"))
    snapshot = await session._get_compaction_snapshot(5)
    other = ThreadkeepSession(client, "s1")
    changes: dict[str, Callable[[], Awaitable[object]]] = {
        "append": lambda: other.add_items(said("3")),
        "pop": other.pop_item,
        "clear": other.clear_session,
    }
    await changes[change]()
    assert snapshot is not None
    assert not await snapshot.replace_suffix(0, said("compacted"))
    assert contents(await session.get_items()) == {"append": ["1", "2", "3"], "pop": ["1"], "clear": []}[change]


async def test_derived_class_has_no_snapshot(client: AsyncClient) -> None:
    class Derived(ThreadkeepSession):
        pass

    assert await Derived(client, "s1")._get_compaction_snapshot(5) is None


async def test_runner_compacts_whole_history(session: ThreadkeepSession, client: AsyncClient) -> None:
    compactor = Compactor(COMPACTED)
    ended = await Runner.run(
        agent([assistant_message("Hello!")]), "Hi", session=compacting(session, compactor), run_config=QUIET
    )
    assert ended.final_output == "Hello!"
    assert await session.get_items() == [COMPACTED]
    assert len(compactor.inputs[0]) == 2
    events = [each async for each in client.events("s1")]
    assert [each.archived for each in events] == [True, True, False]
    assert (events[-1].synthetic, events[-1].compaction_source) == (True, "openai.responses.compact")


async def test_runner_compacts_suffix_that_the_model_saw(session: ThreadkeepSession) -> None:
    await session.add_items(said("old", "seen"))
    compactor = Compactor(COMPACTED)
    limited = replace(QUIET, session_settings=SessionSettings(limit=1))
    await Runner.run(agent([assistant_message("Hello!")]), "Hi", session=compacting(session, compactor), run_config=limited)
    assert await session.get_items() == [said("old")[0], COMPACTED]
    assert len(compactor.inputs[0]) == 3


@pytest.mark.parametrize("change", ["append", "pop", "clear"])
async def test_change_by_another_instance_during_compaction_loses_nothing(
    client: AsyncClient, session: ThreadkeepSession, change: str
) -> None:
    other = ThreadkeepSession(client, "s1")
    changes: dict[str, Callable[[], Awaitable[object]]] = {
        "append": lambda: other.add_items(said("late")),
        "pop": other.pop_item,
        "clear": other.clear_session,
    }
    wrapped = compacting(session, Compactor(COMPACTED, meanwhile=changes[change]))
    await Runner.run(agent([assistant_message("Hello!")]), "Hi", session=wrapped, run_config=QUIET)
    left = await session.get_items()
    assert COMPACTED not in left
    assert len(left) == {"append": 3, "pop": 1, "clear": 0}[change]


async def test_mutation_between_append_and_compaction_revokes_it(
    session: ThreadkeepSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    compactor = Compactor(COMPACTED)
    wrapped = compacting(session, compactor)
    add = wrapped._add_items_with_generation

    async def then_another(write_items: Callable[[], Awaitable[None]], *, expected_generation: int | None) -> int | None:
        generation = await add(write_items, expected_generation=expected_generation)
        await wrapped.add_items(said("meanwhile"))
        return generation

    monkeypatch.setattr(wrapped, "_add_items_with_generation", then_another)
    await Runner.run(agent([assistant_message("Hello!")]), "Hi", session=wrapped, run_config=QUIET)
    assert compactor.inputs == []
    assert "meanwhile" in contents(await session.get_items())


async def test_manual_compaction_replaces_whole_history(session: ThreadkeepSession) -> None:
    await session.add_items(said("1", "2"))
    await compacting(session, Compactor(COMPACTED)).run_compaction({"force": True})
    assert await session.get_items() == [COMPACTED]


def encrypted(session: Any, **options: Any) -> EncryptedSession:
    return EncryptedSession(session.session_id, session, KEY, **options)


async def test_encrypted_items_are_opaque_to_the_server(session: ThreadkeepSession, client: AsyncClient) -> None:
    hidden = encrypted(session)
    items: list[TResponseInputItem] = [
        *said("a secret"),
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    ]
    await hidden.add_items(items)
    assert await hidden.get_items() == items
    stored = [each async for each in client.events("s1")]
    assert all(b"secret" not in each.pb.SerializeToString() for each in stored)
    assert [len(each.pb.message.parts) for each in stored] == [0, 0]
    assert await hidden.pop_item() == items[1]
    await hidden.clear_session()
    assert await hidden.get_items() == []


async def test_limit_counts_readable_items_of_encrypted_session(session: ThreadkeepSession) -> None:
    hidden = encrypted(session, max_scan_items=64)
    await hidden.add_items(said("1", "2"))
    await session.add_items(said(*["plain"] * 5))
    await hidden.add_items(said("3"))
    assert contents(await hidden.get_items(2)) == ["2", "3"]


async def test_expired_items_of_encrypted_session_are_skipped_and_pruned_by_compaction(
    session: ThreadkeepSession, client: AsyncClient
) -> None:
    hidden = encrypted(compacting(session, Compactor(COMPACTED)))
    old = hidden.cipher.encrypt_at_time(b'{"role": "user", "content": "old"}', int(time.time()) - 3_600).decode()
    envelope: Any = {"__enc__": 1, "v": 1, "kid": "hkdf-v1", "payload": old}
    await session.add_items([envelope, envelope])
    assert await hidden.get_items() == []
    await Runner.run(agent([assistant_message("Hello!")]), "Hi", session=hidden, run_config=QUIET)
    assert await hidden.get_items() == [COMPACTED]
    assert (await client.get_session("s1")).window.events == 1
