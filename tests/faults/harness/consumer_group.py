"""Consumer tests: member processes, and writers that make changes."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import threadkeep
from tests.support.servers.reconnect import RECONNECT
from threadkeep import compaction, errors

from .group_journal import CREATED, GONE, Deed, Invariants, Journal
from .group_member import APP, USER, Settings

NAME = "indexer"
_ENDS_WITHIN = 90.0
_REPOSITORY = Path(__file__).parents[3]


def connect(address: str) -> threadkeep.AsyncClient:
    """Returns a client that reconnects at once and does not retry."""
    options = (*RECONNECT, ("grpc.enable_retries", 0))
    return threadkeep.AsyncClient(address, app=APP, user_id=USER, timeout=30.0, options=options)


class Group:
    """Members of one consumer, their journal, and the invariants that it must satisfy."""

    def __init__(self, root: Path, **settings: Any) -> None:
        self.invariants = Invariants()
        self.cure = root / "cure"
        self._root = root
        self._journal = Journal(root / "journal")
        self._settings = settings
        self._members: dict[str, subprocess.Popen[bytes]] = {}
        self._names = count(1)

    @property
    def at_work(self) -> list[str]:
        """Returns the members that have handled a change."""
        return [name for name in self._members if self.invariants.handled[name]]

    def join(self, address: str, **more: Any) -> str:
        """Starts a member and returns its name."""
        name = f"member-{next(self._names)}"
        settings = Settings(address, NAME, name, str(self._root / "journal"), str(self.cure), **self._settings | more)
        command = [sys.executable, "-m", "tests.faults.harness.group_member", json.dumps(asdict(settings))]
        with (self._root / f"{name}.log").open("wb") as log:
            self._members[name] = subprocess.Popen(command, cwd=_REPOSITORY, stdout=log, stderr=log)
        return name

    def died(self) -> list[str]:
        """Removes members whose process has ended and returns their names."""
        died = [name for name, process in self._members.items() if process.poll() is not None]
        for name in died:
            del self._members[name]
        return died

    def kill(self, name: str) -> None:
        """Sends SIGKILL."""
        self._journal.note(name, Deed.ALL_KILLS)
        process = self._members.pop(name)
        process.kill()
        process.wait()

    async def leave(self, name: str) -> None:
        """Sends SIGTERM; the member must finish its work and exit with 0."""
        process = self._members.pop(name)
        process.terminate()
        status = await asyncio.to_thread(process.wait, _ENDS_WITHIN)
        log = (self._root / f"{name}.log").read_text()
        assert status == 0, f"{name} ended with {status}: {log[-2000:]}"

    async def stall(self, name: str, seconds: float) -> None:
        """Stops the process for this time."""
        process = self._members[name]
        self._journal.note(name, Deed.STOPPED)
        os.kill(process.pid, signal.SIGSTOP)
        await asyncio.sleep(seconds)
        if process.poll() is None:
            self._journal.note(name, Deed.CONTINUED)
            os.kill(process.pid, signal.SIGCONT)

    def look(self) -> Invariants:
        """Returns the invariants after checking everything that the members have recorded."""
        for line in self._journal.news():
            self.invariants.take(line)
        return self.invariants

    async def until(self, done: Callable[[Invariants], bool], seconds: float = 90) -> None:
        """Waits for the condition."""
        try:
            async with asyncio.timeout(seconds):
                while not done(self.look()):  # noqa: ASYNC110 - other processes do it
                    await asyncio.sleep(0.02)
        except TimeoutError as late:
            late.add_note(f"handled by each: {dict(self.invariants.handled)}\n{self._said()}")
            raise

    async def until_handled(self, more: int, seconds: float = 90) -> None:
        wanted = self.look().handled.total() + more
        await self.until(lambda invariants: invariants.handled.total() >= wanted, seconds)

    def _said(self) -> str:
        """Returns the end of each member's log."""
        logs = sorted(self._root.glob("member-*.log"))
        return "\n".join(f"{log.name}: {log.read_text(errors='replace')[-500:]}" for log in logs)

    def close(self) -> None:
        for process in self._members.values():
            process.kill()
            process.wait()
        self._journal.close()


@dataclass
class Writers:
    """Writes to sessions at random, each session by one writer: appends, compactions, and sometimes a deletion, after which a
    session with another name replaces it."""

    sessions: int = 40
    pause: float = 0.03
    problems: Counter[str] = field(default_factory=Counter)
    names: list[str] = field(default_factory=list)
    _generation: Counter[int] = field(default_factory=Counter)

    @asynccontextmanager
    async def at_work(self, addresses: Sequence[str], writers: int = 3) -> AsyncIterator[None]:
        """Runs writers on these servers until the context ends; then no call is in flight."""
        over = asyncio.Event()
        async with AsyncExitStack() as stack:
            tasks = []
            for number in range(writers):
                client = await stack.enter_async_context(connect(addresses[number % len(addresses)]))
                tasks.append(asyncio.create_task(self._write(client, range(number, self.sessions, writers), over)))
            try:
                yield
            finally:
                over.set()
                await asyncio.wait(tasks)
            await asyncio.gather(*tasks)

    async def _write(self, client: threadkeep.AsyncClient, numbers: Sequence[int], over: asyncio.Event) -> None:
        while not over.is_set():
            number = random.choice(numbers)
            name = f"s{number}-{self._generation[number]}"
            try:
                await self._do_something(client, number, name)
            except threadkeep.ThreadkeepError as error:
                self.problems[error.reason or error.code.name] += 1
            await asyncio.sleep(random.uniform(0, 2 * self.pause))

    async def _do_something(self, client: threadkeep.AsyncClient, number: int, name: str) -> None:
        if name not in self.names:
            self.names.append(name)  # before the call: the outcome is determined later
            await client.append(name, threadkeep.user("begin"), create_if_missing=True)
            return
        what = random.random()
        if what < 0.03:
            self._generation[number] += 1
            await client.delete_session(name)
        elif what < 0.1:
            await client.compact(name, compaction.sliding_window(4))
        else:
            events = (threadkeep.user(f"{name} {n}") for n in range(random.choice((1, 1, 2, 5))))
            await client.append(name, *events, create_if_missing=True)

    async def facts(self, address: str) -> Facts:
        """Returns the final state."""
        facts = Facts()
        async with connect(address) as client:
            for name in self.names:
                try:
                    session = await client.get_session(name)
                except errors.SessionNotFound:
                    facts.gone.append(name)
                else:
                    facts.alive[name] = session.log_version, session.last_seq
        return facts


@dataclass
class Facts:
    """`alive`: log_version and last seq of sessions; `gone`: sessions that were deleted or never created."""

    alive: dict[str, tuple[int, int]] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)

    def all_handled(self, invariants: Invariants) -> bool:
        """Reports whether every change was handled, except those removed by a deletion of their session."""
        whole = all(invariants.done[name].keys() == _changes(version) for name, (version, _) in self.alive.items())
        return whole and all(not invariants.done[name] or GONE in invariants.done[name] for name in self.gone)

    def missing(self, invariants: Invariants) -> dict[str, list[int]]:
        """Returns the missing changes, for error messages."""
        left = {name: sorted(_changes(version) ^ invariants.done[name].keys()) for name, (version, _) in self.alive.items()}
        left |= {name: [GONE] for name in self.gone if invariants.done[name] and GONE not in invariants.done[name]}
        return {name: changes for name, changes in left.items() if changes}

    def check(self, invariants: Invariants) -> None:
        """Checks that every event was handled exactly once."""
        for name, (_, last_seq) in self.alive.items():
            seqs = [seq for change in sorted(invariants.done[name]) for seq in invariants.done[name][change]]
            assert seqs == list(range(1, last_seq + 1)), name


def _changes(log_version: int) -> set[int]:
    return set(range(CREATED, log_version + 1))
