"""Members of a consumer on the store in memory, in simulated time."""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from tests.support.codec import CODEC, draft
from tests.support.sessions import TENANT, append, create, ref
from tests.support.simulated import clock, simulate
from threadkeep_server.domain.errors import ThreadkeepError
from threadkeep_server.domain.feed import ChangeKind, Position
from threadkeep_server.domain.filters import EventFilter
from threadkeep_server.domain.model import SECOND_NS, Caller
from threadkeep_server.feed.consumers.checkpoints import Pace
from threadkeep_server.feed.consumers.member import Member, MemberUpdate
from threadkeep_server.feed.consumers.partition import Delivery
from threadkeep_server.service.feed.consumers import ConsumerService, Join
from threadkeep_server.service.feed.subscriptions import Quota
from threadkeep_server.store.contract.consumers import Parked
from threadkeep_server.store.inmemory import InMemoryStore

CALLER = Caller(TENANT)
LEASE_S = 15.0
NAME = "indexer"


class HintedWake:
    """Wakes by the store's hints alone."""

    def __init__(self, store: InMemoryStore) -> None:
        self._store = store
        self._heard = asyncio.Event()
        store.on_change(self._heard.set)

    async def wait_beyond(self, position: Position, timeout: float) -> None:
        try:
            async with asyncio.timeout(timeout):
                while await self._store.feed_head() <= position:
                    self._heard.clear()
                    await self._heard.wait()
        except TimeoutError:
            pass


class Group:
    """A store, a service on it, and ways to work for a consumer."""

    def __init__(self, *, most_members: int = 100) -> None:
        self.store = InMemoryStore(CODEC, clock)
        self._ids = count(1)
        self.quota = Quota("subscriptions", most=most_members, most_per_caller=most_members)
        self.service = self.server()

    def server(self) -> ConsumerService:
        """One more server on the store."""
        return ConsumerService(
            self.store, HintedWake(self.store), self.quota, clock, self.new_id, round(LEASE_S * SECOND_NS), Pace()
        )

    def new_id(self) -> str:
        return f"id-{next(self._ids)}"

    async def write(self, *texts: str, session: str = "s1", user: str = "alice") -> None:
        """Appends each to the session."""
        for text in texts:
            await append(self.store, draft(text), to=ref(session, user=user), now=clock())

    async def session(self, session: str = "s1", **fields: Any) -> None:
        await create(self.store, session, **fields)

    @asynccontextmanager
    async def member(self, caller: Caller = CALLER, **join: Any) -> AsyncIterator[Working]:
        """A member that has its first partitions, unless it fails at once."""
        wish: dict[str, Any] = {"name": NAME, "from_beginning": True}
        async with self.service.consume(caller, Join(**wish | join)) as membership:
            yield Working(membership)

    def crash(self) -> None:
        """Every server dies, with its members."""
        for task in list(self.service._working):
            task.cancel()


class Working:
    """A member that does as the test says."""

    def __init__(self, membership: Member) -> None:
        self.membership = membership
        self._updates = membership.updates()
        self.confirmed: set[int] = set()
        self.beats = 0

    async def hear(self) -> MemberUpdate:
        """The next update. Raises the error that ended the stream, or StopAsyncIteration."""
        update = await anext(self._updates)
        self.confirmed |= set(update.acknowledged)
        self.beats += not update.acknowledged and not update.deliveries
        return update

    async def deliveries(self, number: int, *, within: float = 60.0) -> list[Delivery]:
        """The next deliveries, exactly so many of them."""
        got: list[Delivery] = []
        async with asyncio.timeout(within):
            while len(got) < number:
                got += (await self.hear()).deliveries
        assert len(got) == number
        return got

    async def nothing(self, seconds: float) -> None:
        """For so long, no delivery."""
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            hearing = asyncio.ensure_future(self.hear())
            await asyncio.wait([hearing], timeout=max(0.0, end - asyncio.get_running_loop().time()))
            if not hearing.done():
                hearing.cancel()
                await asyncio.wait([hearing])
                self._updates = self.membership.updates()
                return
            assert not hearing.result().deliveries

    async def acknowledge(self, *deliveries: Delivery) -> None:
        """Until it is confirmed."""
        ids = [each.delivery_id for each in deliveries]
        self.membership.acknowledge(ids)
        while not self.confirmed.issuperset(ids):
            assert not (await self.hear()).deliveries

    async def handle(self, number: int) -> list[Delivery]:
        """Takes so many deliveries and acknowledges each as it comes."""
        got: list[Delivery] = []
        async with asyncio.timeout(600):
            while len(got) < number or not self.confirmed.issuperset(each.delivery_id for each in got):
                reported = await self.hear()
                got += reported.deliveries
                self.membership.acknowledge([each.delivery_id for each in reported.deliveries])
        assert len(got) == number
        return got

    async def ended(self) -> ThreadkeepError | None:
        """What ends the stream."""
        try:
            async with asyncio.timeout(3600):
                while True:
                    await self.hear()
        except StopAsyncIteration:
            return None
        except ThreadkeepError as error:
            return error


class Record:
    """What a group did with each change, and the checks that must hold in every run."""

    def __init__(self) -> None:
        self.handled: list[Delivery] = []
        self.confirmed: set[Position] = set()
        self.repeated = 0
        self._busy: dict[int, str] = {}

    def begin(self, worker: str, delivery: Delivery) -> None:
        change = delivery.change
        assert change.position not in self.confirmed, "delivered again although its acknowledgement was confirmed"
        assert change.session not in self._busy, "two members work on one session"
        self._busy[change.session] = worker
        self.repeated += delivery.attempt > 1

    def finish(self, worker: str, delivery: Delivery, *, handled: bool) -> None:
        if self._busy.get(delivery.change.session) == worker:
            del self._busy[delivery.change.session]
            if handled:
                self.handled.append(delivery)

    def confirm(self, deliveries: list[Delivery]) -> None:
        self.confirmed |= {each.change.position for each in deliveries}

    def first_order(self) -> dict[int, list[Position]]:
        """By session: its changes in the order in which they were handled first."""
        order: dict[int, dict[Position, None]] = {}
        for each in self.handled:
            order.setdefault(each.change.session, {})[each.change.position] = None
        return {session: list(positions) for session, positions in order.items()}


class Worker:
    """A member as the SDK is one: partitions side by side, one delivery of each at a time, in order."""

    def __init__(self, name: str, member: Member, record: Record, handle: Callable[[Delivery], Awaitable[str]]) -> None:
        self.name = name
        self._member = member
        self._record = record
        self._handle = handle
        self._queues: dict[int, deque[Delivery]] = {}
        self._lanes: dict[int, asyncio.Task[None]] = {}
        self._told: dict[int, Delivery] = {}
        self.error: Exception | None = None

    async def run(self) -> None:
        try:
            async for reported in self._member.updates():
                self._record.confirm([self._told.pop(each) for each in reported.acknowledged])
                for delivery in reported.deliveries:
                    self._told[delivery.delivery_id] = delivery
                    self._queues.setdefault(delivery.partition, deque()).append(delivery)
                    if delivery.partition not in self._lanes:
                        self._lanes[delivery.partition] = asyncio.create_task(self._lane(delivery.partition))
        except ThreadkeepError as error:
            self.error = error
        finally:
            self.stop()

    def stop(self) -> None:
        """What is being handled is dropped."""
        for number, lane in self._lanes.items():
            lane.cancel()
            for delivery in self._queues[number]:
                self._record.finish(self.name, delivery, handled=False)
            self._queues[number].clear()

    async def _lane(self, number: int) -> None:
        queue = self._queues[number]
        while queue:
            delivery = queue[0]
            self._record.begin(self.name, delivery)
            problem = await self._handle(delivery)
            if not queue:
                return  # stopped meanwhile
            queue.popleft()
            self._record.finish(self.name, delivery, handled=not problem)
            if problem:
                queue.clear()
                self._member.reject(delivery.delivery_id, problem)
            else:
                self._member.acknowledge([delivery.delivery_id])
        del self._lanes[number]


def simulated(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """Runs the test in simulated time."""

    @functools.wraps(test)
    def run() -> None:
        async def scenario() -> None:
            await test()

        simulate(scenario())

    del run.__wrapped__  # or pytest takes it for asynchronous
    return run


def seconds() -> float:
    return asyncio.get_running_loop().time()


def kinds(deliveries: Sequence[Delivery]) -> list[ChangeKind]:
    return [each.change.kind for each in deliveries]


def places(deliveries: Sequence[Delivery]) -> list[int]:
    """Which changes of the feed they are."""
    return [each.change.position.change for each in deliveries]


async def parked(group: Group) -> list[Parked]:
    page = await group.service.parked(CALLER, NAME, 100, 1 << 20, 0, lambda _: EventFilter())
    return [each for each, _ in page.parked]


async def filled(*texts: str, **options: Any) -> Group:
    """One session with an append for each text: changes 1 (its creation), 2, 3, ..."""
    group = Group(**options)
    await group.session()
    await group.write(*texts)
    return group
