"""An agent on the kit with kill -9: it resumes from its session without lost turns, results without calls, or duplicates.

The number of kills on each engine is a third of THREADKEEP_KILLS.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import threadkeep
from tests.chat.conversations import lines
from tests.support.models.model_endpoint import served
from tests.support.runs.printed import Say
from tests.support.runs.thoroughness import KILLS as ALL_KILLS
from tests.support.servers.server_process import url_settings
from threadkeep.chat.memory.events import from_event
from threadkeep.v1.event_pb2 import SessionEvent

from ..conftest import ServerMaker
from ..harness.agent import APP, SESSION, USER, Settings
from ..harness.tool_calling_endpoint import CALLS, ROUNDS, ToolCallingEndpoint

KILLS = max(2, ALL_KILLS // 3)
_ANSWERED_EACH_LIFE = 2
_LIVES_AT_MOST_S = 0.15


class Agents:
    """Runs one agent after the other."""

    def __init__(self, parent: Process, settings: Settings) -> None:
        self._parent = parent
        self._settings = settings

    async def begin(self, questions: int | None = None) -> int:
        """Starts an agent and returns its process id. `questions`: the number for this agent."""
        assert self._parent.stdin is not None
        settings = self._settings if questions is None else replace(self._settings, questions=questions)
        self._parent.stdin.write(json.dumps(asdict(settings)).encode() + b"\n")
        return await self._said()

    async def end(self) -> int:
        """Returns the exit status: 0 if every question was answered."""
        return await self._said()

    async def _said(self) -> int:
        assert self._parent.stdout is not None
        async with asyncio.timeout(60):
            return int(await self._parent.stdout.readline())


@asynccontextmanager
async def agents(settings: Settings) -> AsyncIterator[Agents]:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.faults.harness.agent", stdin=PIPE, stdout=PIPE, cwd=Path(__file__).parents[3]
    )
    try:
        yield Agents(parent, settings)
    finally:
        parent.kill()
        await parent.wait()


@pytest.mark.timeout(600 + 6 * KILLS)
async def test_a_killed_agent_resumes_at_the_end_of_its_session(
    make_server: ServerMaker, database_url: str | None, tmp_path: Path, say: Say
) -> None:
    server = make_server(**url_settings(database_url)).start()
    journal = tmp_path / "agents.log"
    killed = open_when_killed = 0
    async with (
        served(ToolCallingEndpoint()) as endpoint,
        threadkeep.AsyncClient(server.address, app=APP, user_id=USER) as client,
    ):
        settings = Settings(server.address, endpoint.url, str(journal), KILLS * _ANSWERED_EACH_LIFE)
        async with agents(settings) as lives:
            for _ in range(KILLS):
                endpoint.requested.clear()
                pid = await lives.begin()
                async with asyncio.timeout(60):
                    await endpoint.requested.wait()
                await asyncio.sleep(random.uniform(0, _LIVES_AT_MOST_S))
                with suppress(ProcessLookupError):  # the agent has ended
                    os.kill(pid, signal.SIGKILL)
                status = await lives.end()
                assert status in (0, -signal.SIGKILL), journal.read_text()
                killed += status != 0
                open_when_killed += _is_open([event.pb async for event in client.events(SESSION)])
            await lives.begin()
            assert await lives.end() == 0, journal.read_text()
        events = [event.pb async for event in client.events(SESSION)]
    assert not endpoint.problems
    _check(events, settings.questions)
    engine = "sqlite" if database_url is None else "postgresql"
    say(f"{engine}: agent kills={killed} in the middle of a turn={open_when_killed} events={len(events)}")
    assert open_when_killed > 0, "no kill hit a turn: the test shows nothing"


@pytest.mark.timeout(600 + 6 * KILLS)
async def test_two_agents_that_resume_one_turn_store_it_once(
    make_server: ServerMaker, database_url: str | None, tmp_path: Path, say: Say
) -> None:
    """Two processes run at once; one is killed at times, and the other ends the turn."""
    server = make_server(**url_settings(database_url)).start()
    journal = tmp_path / "agents.log"
    requested = open_when_killed = killed_resuming = 0
    async with (
        served(ToolCallingEndpoint()) as endpoint,
        threadkeep.AsyncClient(server.address, app=APP, user_id=USER) as client,
    ):
        settings = Settings(server.address, endpoint.url, str(journal), questions=0)
        async with agents(settings) as one, agents(settings) as other:
            for _ in range(KILLS):
                endpoint.requested.clear()
                pid = await one.begin(requested + 1)
                async with asyncio.timeout(60):
                    await endpoint.requested.wait()
                await asyncio.sleep(random.uniform(0, _LIVES_AT_MOST_S / 3))
                with suppress(ProcessLookupError):  # the agent has ended
                    os.kill(pid, signal.SIGKILL)
                await one.end()
                events = [event.pb async for event in client.events(SESSION)]
                open_when_killed += _is_open(events)
                requested = sum(each.startswith("user: ") for each in lines_of(events))
                rival, _ = await asyncio.gather(one.begin(requested), other.begin(requested))
                if random.random() < 0.5:
                    await asyncio.sleep(random.uniform(0, _LIVES_AT_MOST_S / 3))
                    with suppress(ProcessLookupError):  # the agent has ended
                        os.kill(rival, signal.SIGKILL)
                statuses = await asyncio.gather(one.end(), other.end())
                assert statuses[0] in (0, -signal.SIGKILL), journal.read_text()
                assert statuses[1] == 0, journal.read_text()
                killed_resuming += statuses[0] != 0
                _check([event.pb async for event in client.events(SESSION)], requested)
    assert not endpoint.problems
    engine = "sqlite" if database_url is None else "postgresql"
    say(f"{engine}: turns resumed by two={open_when_killed} one of them killed={killed_resuming} turns={requested}")
    assert open_when_killed > 0, "no kill hit a turn: the test shows nothing"


def _is_open(events: Sequence[SessionEvent]) -> bool:
    return bool(events) and not lines_of(events)[-1].startswith("assistant: answer")


def lines_of(events: Sequence[SessionEvent]) -> list[str]:
    return lines(from_event(event) for event in events)


def _check(events: Sequence[SessionEvent], questions: int) -> None:
    """Checks that the log has every question once and in order, with its rounds of calls and results, and its answer."""
    turns = iter(events)
    seen: set[str] = set()
    for number in range(questions):
        assert lines_of([next(turns)]) == [f"user: question {number}"]
        for _ in range(ROUNDS):
            calls, results = next(turns), next(turns)
            requested = [part.tool_call.id for part in calls.message.parts if part.HasField("tool_call")]
            answered = [part.tool_result.call_id for part in results.message.parts if part.HasField("tool_result")]
            assert len(requested) == CALLS
            assert requested == answered
            assert not seen.intersection(requested)
            seen.update(requested)
        assert lines_of([next(turns)]) == [f"assistant: answer {number}"]
    assert next(turns, None) is None
