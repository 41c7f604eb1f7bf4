"""The process of Claude Code itself, which the SDK brings, with a scripted model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, SessionKey, project_key_for_directory, query

from tests.integrations.suites.claude_agent.model import Model, options
from tests.integrations.suites.claude_agent.scripted import spoken
from tests.integrations.suites.conftest import Server
from threadkeep import AsyncClient, assistant, user
from threadkeep.integrations.claude_agent import ThreadkeepSessionStore


async def run(prompt: str, opted: ClaudeAgentOptions) -> str:
    """Runs to the end, and returns the id of the session."""
    messages = [message async for message in query(prompt=prompt, options=opted)]
    assert "mirror_error" not in [getattr(message, "subtype", "") for message in messages]
    result = messages[-1]
    assert isinstance(result, ResultMessage)
    assert result.result == "It says hi."
    return result.session_id


def local_lines(folder: Path, session_id: str) -> list[dict[str, Any]]:
    """The lines of the conversation in the transcript that the process wrote."""
    (file,) = (folder / "projects").glob(f"*/{session_id}.jsonl")
    return spoken([json.loads(line) for line in file.read_text().splitlines()])


async def test_another_machine_resumes_what_was_mirrored_and_what_other_frameworks_said(
    client: AsyncClient, tmp_path: Path
) -> None:
    here, there, work = (tmp_path / name for name in ("here", "there", "work"))
    work.mkdir()
    store, model = ThreadkeepSessionStore(client), Model()
    with model.serving() as address:
        session_id = await run("Say hi.", options(store, here, work, address))
        key: SessionKey = {"project_key": project_key_for_directory(work), "session_id": session_id}
        assert spoken(await store.load(key)) == local_lines(here, session_id)
        session = client.session(store._handle(key).ref)
        usage = (await session.get()).usage
        assert (usage.input_tokens, usage.output_tokens) == (20, 10), "an answer in several lines counts once"
        await session.append(user("From elsewhere."), assistant("Noted elsewhere."))
        before = await store.load(key) or []
        again = await run("Again.", options(ThreadkeepSessionStore(client), there, work, address, resume=session_id))
    assert again == session_id
    sent = json.dumps(model.requests[2]["messages"])
    assert all(text in sent for text in ("Say hi.", "It says hi.", "From elsewhere.", "Noted elsewhere.", "Again."))
    after = await store.load(key) or []
    assert after[: len(before)] == before
    ids = [line["uuid"] for line in spoken(after)]
    assert len(ids) == len(set(ids))


async def test_server_killed_in_a_run_and_started_again_has_the_whole_transcript(killable: Server, tmp_path: Path) -> None:
    def die() -> None:
        killable.kill()
        killable.start()

    folder, work = tmp_path / "config", tmp_path / "work"
    work.mkdir()
    async with AsyncClient(killable.address, user_id="ada") as client:
        store = ThreadkeepSessionStore(client, patience=50)
        with Model(during=die).serving() as address:
            session_id = await run("Say hi.", options(store, folder, work, address))
        key: SessionKey = {"project_key": project_key_for_directory(work), "session_id": session_id}
        assert spoken(await ThreadkeepSessionStore(client).load(key)) == local_lines(folder, session_id)
