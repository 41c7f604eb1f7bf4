"""`threadkeep import` of transcripts in folders, compared with how the SDK itself reads them from the folders."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    InMemorySessionStore,
    get_session_messages,
    get_session_messages_from_store,
    import_session_to_store,
)

from threadkeep import AsyncClient, SessionRef
from threadkeep.integrations.claude_agent import ThreadkeepSessionStore

from ..importing import killed_import, log_of, run_import

Line = dict[str, Any]
CWD = "/home/ada/shop"
PROJECT = "-home-ada-shop"


@pytest.fixture
def user() -> str:
    return f"user-{uuid.uuid4().hex}"


@pytest.fixture
async def store(address: str, user: str) -> AsyncIterator[ThreadkeepSessionStore]:
    async with AsyncClient(address, user_id=user) as client:
        yield ThreadkeepSessionStore(client)


@pytest.fixture
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with the projects of Claude Code, for the SDK too."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / ".claude"))
    folder = tmp_path / ".claude" / "projects"
    (folder / PROJECT).mkdir(parents=True)
    return folder


def conversation(session_id: str, turns: int) -> list[Line]:
    """The lines of a session, as Claude Code writes them: an answer of the model is several lines with one usage."""
    lines: list[Line] = [{"type": "file-history-snapshot", "messageId": "m", "snapshot": {"n": 1.0}, "isSnapshotUpdate": False}]
    parent: str | None = None

    def add(kind: str, message: Any, **more: Any) -> None:
        nonlocal parent
        line = {
            "parentUuid": parent,
            "isSidechain": False,
            "cwd": CWD,
            "sessionId": session_id,
            "type": kind,
            "message": message,
        }
        own = str(uuid.uuid4())
        lines.append({**line, "uuid": own, "timestamp": f"2026-02-03T04:05:{len(lines) % 60:02}.678Z", **more})
        parent = own

    for n in range(turns):
        add("user", {"role": "user", "content": f"question {n} é 🌞"}, promptId=f"p{n}")
        answer = {"id": f"msg_{n}", "type": "message", "role": "assistant", "model": "claude", "usage": {"input_tokens": 3}}
        call = {"type": "tool_use", "id": f"toolu_{n}", "name": "Bash", "input": {"command": "ls"}}
        add("assistant", {**answer, "content": [{"type": "text", "text": f"let me look {n}"}]})
        add("assistant", {**answer, "content": [call], "usage": {"input_tokens": 3, "output_tokens": 9}})
        result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": "a file"}
        add("user", {"role": "user", "content": [result]}, toolUseResult={"stdout": "a file"})
    lines.append({"type": "custom-title", "customTitle": "A title", "sessionId": session_id})
    return lines


def write(path: Path, lines: Sequence[Line]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def with_subagent(projects: Path, session_id: str) -> None:
    """A session with a subagent's transcript and what Claude Code notes of it."""
    write(projects / PROJECT / f"{session_id}.jsonl", conversation(session_id, 3))
    agent = projects / PROJECT / session_id / "subagents" / "agent-a1.jsonl"
    write(agent, [{**line, "isSidechain": True, "agentId": "a1"} for line in conversation(session_id, 1)])
    agent.with_suffix(".meta.json").write_text(json.dumps({"agentType": "explorer", "toolUseId": "toolu_1"}))


async def test_transcripts_of_a_folder_are_those_that_the_sdk_reads(
    projects: Path, address: str, user: str, store: ThreadkeepSessionStore
) -> None:
    one, two = str(uuid.uuid4()), str(uuid.uuid4())
    with_subagent(projects, one)
    write(projects / PROJECT / f"{two}.jsonl", conversation(two, 1))
    write(projects / "-other" / f"{one}.jsonl", conversation(one, 2))
    first = run_import(projects, address, "--user", user)
    assert (first.code, first.counts, first.summary["problems"]) == (0, (3, 0, 14 + 7 + 6 + 10, 0), [])
    assert run_import(projects, address, "--user", user).counts == (0, 3, 0, 37)
    reference = InMemorySessionStore()
    for session_id in (one, two):
        await import_session_to_store(session_id, reference, directory=CWD)
        key: Any = {"project_key": PROJECT, "session_id": session_id}
        assert await store.load(key) == await reference.load(key)
        assert await store.list_subkeys(key) == await reference.list_subkeys(key)
        for subpath in await reference.list_subkeys(key):
            sub: Any = {**key, "subpath": subpath}
            assert await store.load(sub) == await reference.load(sub)
        found = await get_session_messages_from_store(store, session_id, directory=CWD)
        assert found == get_session_messages(session_id, directory=CWD)
    assert {each["session_id"] for each in await store.list_sessions(PROJECT)} == {one, two}


async def test_events_have_the_text_and_count_the_usage_of_an_answer_once(projects: Path, address: str, user: str) -> None:
    session_id = str(uuid.uuid4())
    path = projects / PROJECT / f"{session_id}.jsonl"
    write(path, conversation(session_id, 2))
    assert run_import(path, address, "--user", user).code == 0
    events = await log_of(address, SessionRef(app=PROJECT, user_id=user, session_id=session_id))
    assert [json.loads(event.pb.native.content) for event in events] == conversation_of(path)
    assert [event.pb.usage.output_tokens for event in events] == [0, 0, 0, 9, 0, 0, 0, 9, 0, 0]
    assert events[1].pb.message.parts[0].text == "question 0 é 🌞"
    assert events[1].pb.event_time.ToJsonString() == "2026-02-03T04:05:01.678Z"


def conversation_of(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_a_transcript_that_has_grown_is_continued(projects: Path, address: str, user: str) -> None:
    session_id = str(uuid.uuid4())
    path, lines = projects / PROJECT / f"{session_id}.jsonl", conversation(session_id, 4)
    write(path, lines[:9])
    assert run_import(projects / PROJECT, address, "--user", user).counts == (1, 0, 9, 0)
    write(path, lines)
    assert run_import(projects, address, "--user", user).counts == (0, 1, 9, 9)
    events = await log_of(address, SessionRef(app=PROJECT, user_id=user, session_id=session_id))
    assert [json.loads(event.pb.native.content) for event in events] == lines


async def test_a_killed_import_that_is_run_again_stores_everything_once(projects: Path, killable: Any, user: str) -> None:
    session_id = str(uuid.uuid4())
    path, lines = projects / PROJECT / f"{session_id}.jsonl", conversation(session_id, 1_500)
    write(path, lines)
    ref = SessionRef(app=PROJECT, user_id=user, session_id=session_id)
    before = await killed_import(projects, killable.address, ref, "--user", user)
    assert 0 < before < len(lines), "it was killed in the middle"
    done = run_import(projects, killable.address, "--user", user)
    sessions_created, sessions_there, added, there = done.counts
    assert (done.code, sessions_created, sessions_there, added) == (0, 0, 1, len(lines) - there)
    assert before <= there < len(lines)
    assert [json.loads(event.pb.native.content) for event in await log_of(killable.address, ref)] == lines


async def test_a_truncated_line_is_named_or_skipped(projects: Path, address: str, user: str) -> None:
    session_id = str(uuid.uuid4())
    path, lines = projects / PROJECT / f"{session_id}.jsonl", conversation(session_id, 1)
    write(path, lines)
    path.write_text(path.read_text()[:-20])
    stopped = run_import(projects, address, "--user", user)
    assert (stopped.code, stopped.counts) == (1, (1, 0, 5, 0))
    assert stopped.error["metadata"].items() >= {"file": str(path), "line": 6}.items()
    skipped = run_import(projects, address, "--user", user, "--on-error", "skip")
    assert (skipped.code, skipped.counts, len(skipped.summary["problems"])) == (1, (0, 1, 0, 5), 1)
