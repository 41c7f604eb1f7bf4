"""Runs of the SDK that mirror their transcript to the store, also while the server dies."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from claude_agent_sdk import ResultMessage, SessionKey, import_session_to_store

from tests.integrations.suites.claude_agent.scripted import PROJECT, Process, run, spoken
from tests.integrations.suites.conftest import Server
from threadkeep import AsyncClient
from threadkeep.integrations.claude_agent import ThreadkeepSessionStore


@pytest.fixture
def key() -> SessionKey:
    return {"project_key": PROJECT, "session_id": str(uuid.uuid4())}


async def test_run_is_mirrored_line_by_line_and_goes_on_in_the_next(
    client: AsyncClient, key: SessionKey, tmp_path: Path
) -> None:
    store = ThreadkeepSessionStore(client)
    process = Process(tmp_path, key["session_id"])
    messages = await run(process, store, "What is here?")
    assert isinstance(messages[-1], ResultMessage)
    assert await store.load(key) == process.lines
    again = Process(tmp_path, key["session_id"])
    await run(again, store, "And now?")
    assert len(again.lines) == 10
    assert await store.load(key) == again.lines
    (summary,) = [each for each in await store.list_session_summaries(PROJECT) if each["session_id"] == key["session_id"]]
    assert summary["data"]["last_prompt"] == "And now?"


async def test_server_killed_in_a_run_and_started_again_loses_and_doubles_nothing(
    killable: Server, key: SessionKey, tmp_path: Path
) -> None:
    async def die() -> None:
        killable.kill()
        killable.start()

    async with AsyncClient(killable.address, user_id="ada") as client:
        process = Process(tmp_path, key["session_id"], during=die)
        messages = await run(process, ThreadkeepSessionStore(client), "What is here?")
        assert isinstance(messages[-1], ResultMessage)
        assert await ThreadkeepSessionStore(client).load(key) == process.lines


async def test_server_killed_in_a_run_and_started_later_resumes_from_the_local_transcript(
    killable: Server, key: SessionKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def die() -> None:
        killable.kill()

    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    async with AsyncClient(killable.address, user_id="ada", timeout=3) as client:
        first = Process(tmp_path, key["session_id"], during=die)
        messages = await run(first, ThreadkeepSessionStore(client, patience=0), "What is here?")
        assert "mirror_error" in [getattr(message, "subtype", "") for message in messages]
    killable.start()
    async with AsyncClient(killable.address, user_id="ada") as client:
        store = ThreadkeepSessionStore(client)
        stored = await store.load(key) or []
        assert stored == first.lines[: len(stored)]
        for _ in range(2):  # to repeat it is safe
            await import_session_to_store(key["session_id"], store)
        assert spoken(await store.load(key)) == spoken(first.lines)
        second = Process(tmp_path, key["session_id"])
        await run(second, store, "And now?")
        assert spoken(await store.load(key)) == spoken(second.lines)
