"""Consumer groups whose members join, leave and die at random: the guarantees hold in every run."""

from __future__ import annotations

import asyncio
import random

import pytest

from tests.support.runs.thoroughness import size
from tests.support.simulated import simulate
from tests.unit.service.feed.group import CALLER, NAME, Group, Record, Worker
from threadkeep_server.domain.feed import BEGINNING, Position
from threadkeep_server.domain.model import SECOND_NS
from threadkeep_server.feed.consumers.partition import Delivery
from threadkeep_server.service.feed.consumers import Join

SESSIONS, CHANGES, MEMBERS = 12, size(400, 120), 4
# So many attempts that nothing is parked because its members died.
JOIN = Join(NAME, from_beginning=True, partitions=8, max_attempts=1000, max_outstanding=20, ack_timeout=60 * SECOND_NS)


class Chaos:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.group = Group()
        self.record = Record()
        self.handled: set[Position] = set()
        self.done = asyncio.Event()
        self.members = 0

    async def run(self) -> None:
        for number in range(SESSIONS):
            await self.group.session(f"s{number}")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.write())
            for _ in range(MEMBERS):
                tasks.create_task(self.work())

    async def write(self) -> None:
        for number in range(CHANGES):
            await self.group.write(f"text {number}", session=f"s{self.chance.randrange(SESSIONS)}")
            if self.chance.random() < 0.5:
                await asyncio.sleep(self.chance.random())

    async def handle(self, delivery: Delivery) -> str:
        await asyncio.sleep(self.chance.choice([0.0, 0.01, 0.3]))
        if self.chance.random() < 0.03:
            return "not today"
        self.handled.add(delivery.change.position)
        if len(self.handled) == SESSIONS + CHANGES:
            self.done.set()
        return ""

    async def work(self) -> None:
        """One member after the other, each with its own end."""
        while not self.done.is_set():
            self.members += 1
            async with self.group.service.consume(CALLER, JOIN) as membership:
                server = next(task for task, each in self.group.service._working.items() if each is membership)
                worker = Worker(f"w{self.members}", membership, self.record, self.handle)
                running = asyncio.create_task(worker.run())
                await asyncio.wait([asyncio.create_task(self.done.wait())], timeout=self.chance.choice([0.5, 2.0, 5.0, 20.0]))
                if not self.done.is_set() and self.chance.random() < 0.7:
                    server.cancel()
                    running.cancel()
                worker.stop()
                membership.leave()
                await asyncio.wait([running, server])
                assert worker.error is None


@pytest.mark.parametrize("seed", range(8))
def test_every_change_is_handled_in_order_and_once_confirmed_never_again(seed: int) -> None:
    async def scenario() -> None:
        chaos = Chaos(seed)
        async with asyncio.timeout(50_000):
            await chaos.run()
        expected: dict[int, list[Position]] = {}
        for change in (await chaos.group.store.changes(BEGINNING, 10_000)).changes:
            expected.setdefault(change.session, []).append(change.position)
        assert chaos.record.first_order() == expected
        assert chaos.record.repeated, "nothing came again: the members were not disturbed"

    simulate(scenario())
