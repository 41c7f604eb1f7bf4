"""The subscriptions of the load generator: it opens them, publishes to them, and counts what they receive.

Only the lengths in a message are read, and of a small message whether the subscriber has caught up. The bare streams carry
messages of the same form, so that both sides include the cost of reading them.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

import grpc

from tests.bench import echo, loads, payloads, stored
from threadkeep.v1 import subscription_pb2, subscription_service_pb2

WATCH_SESSION = "/threadkeep.v1.SubscriptionService/WatchSession"
WATCH_ALL = "/threadkeep.v1.SubscriptionService/WatchAll"
STREAMS_PER_CONNECTION = 100
_CHANGES_TAG = b"\x0a"
# Changes with an event are longer than this, all others shorter.
_LEAST_WITH_EVENTS = 768
Job = dict[str, Any]


def caught_up_message() -> bytes:
    """What a bare stream says first, so that its subscribers know that they are live."""
    checkpoint = subscription_pb2.Checkpoint(kind=subscription_pb2.CHECKPOINT_KIND_CAUGHT_UP)
    change = subscription_pb2.Change(checkpoint=checkpoint)
    return subscription_service_pb2.WatchSessionResponse(changes=[change]).SerializeToString()


def message_of(size: int) -> bytes:
    """A message of one change as long as this."""
    length, rest = bytearray(), size
    while rest > 0x7F:
        length.append(rest & 0x7F | 0x80)
        rest >>= 7
    length.append(rest)
    return _CHANGES_TAG + bytes(length) + bytes(size)


def changes_with_events(message: bytes) -> list[int]:
    """The lengths of the changes in the message that have events."""
    found = []
    at, end = 0, len(message)
    while at < end:
        at += len(_CHANGES_TAG)
        size = shift = 0
        more = True
        while more:
            byte = message[at]
            size |= (byte & 0x7F) << shift
            shift += 7
            at += 1
            more = byte > 0x7F
        if size > _LEAST_WITH_EVENTS:
            found.append(size)
        at += size
    return found


def is_caught_up(message: bytes) -> bool:
    """Whether the message ends with the checkpoint of a subscriber that has caught up."""
    if len(message) > 2 * _LEAST_WITH_EVENTS:
        return False
    changes = subscription_service_pb2.WatchSessionResponse.FromString(message).changes
    return bool(changes) and changes[-1].checkpoint.kind == subscription_pb2.CHECKPOINT_KIND_CAUGHT_UP


# How streams are opened: the method, and the request for a session.
def _watched(session: str) -> bytes:
    return subscription_service_pb2.WatchSessionRequest(session=payloads.session(session), live_only=True).SerializeToString()


def _bare(_session: str) -> bytes:
    return caught_up_message()


STREAMS: dict[str, tuple[str, Callable[[str], bytes]]] = {
    "watch": (WATCH_SESSION, _watched),
    "bare": (echo.SUBSCRIBE, _bare),
    "idle": (echo.IDLE, _bare),
}


class Subscribers:
    """Live streams of one server, each read by a task of its own; so many to a connection."""

    def __init__(self) -> None:
        self._channels: list[grpc.aio.Channel] = []
        self._calls: list[Any] = []
        self._tasks: list[asyncio.Task[None]] = []
        # How many subscribers have the n-th change since the streams were opened.
        self._reached: list[int] = []
        self._delivered = asyncio.Semaphore(0)
        self._failure: BaseException | None = None
        self.changes = 0
        self.messages = 0
        self.change_bytes = 0

    async def open(self, target: str, kind: str, sessions: Sequence[str]) -> None:
        """One stream for each session (a name may be there often); returns when all are live."""
        method, request = STREAMS[kind]
        for first in range(0, len(sessions), STREAMS_PER_CONNECTION):
            channel = loads.connect(target)
            self._channels.append(channel)
            calls = [
                loads.streamed(channel, method, request(name)) for name in sessions[first : first + STREAMS_PER_CONNECTION]
            ]
            self._calls += calls
            await asyncio.gather(*(self._until_live(call) for call in calls))
        self._tasks = [asyncio.create_task(self._read(call)) for call in self._calls]

    async def close(self) -> None:
        """Ends the streams and their connections."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for call in self._calls:
            call.cancel()
        for channel in self._channels:
            await channel.close()

    async def delivered(self) -> None:
        """Returns once one more change has come to every subscriber."""
        await self._delivered.acquire()
        if self._failure is not None:
            raise self._failure

    async def _until_live(self, call: Any) -> None:
        while not is_caught_up(await call.read()):
            pass

    async def _read(self, call: Any) -> None:
        seen = 0
        try:
            while (message := await call.read()) is not grpc.aio.EOF:
                sizes = changes_with_events(message)
                if not sizes:
                    continue
                self.changes += len(sizes)
                self.messages += 1
                self.change_bytes = sizes[-1]
                for number in range(seen, seen + len(sizes)):
                    self._reach(number)
                seen += len(sizes)
            raise EOFError("a subscription ended")
        except Exception as error:
            self._failure = error
            self._delivered.release()

    def _reach(self, number: int) -> None:
        if number == len(self._reached):
            self._reached.append(0)
        self._reached[number] += 1
        if self._reached[number] == len(self._calls):
            self._delivered.release()


async def publish(subscribers: Subscribers, stream: Any, job: Job, acknowledged: Callable[[bytes], int]) -> dict[str, Any]:
    """Appends to one session, by one stream, with at most `window` of them not yet with every subscriber.

    `count` and `rate` are of events delivered, however many of them a message holds.
    """
    first, rest = payloads.stream_templates(job["sessions"][0], job["batch"])
    message = first.fill()
    before = (subscribers.changes, subscribers.messages)
    sent = 0

    async def acknowledge() -> int:
        total = 0
        while (answer := await stream.read()) is not grpc.aio.EOF:
            total += acknowledged(answer)
        return total

    reader = asyncio.create_task(acknowledge())
    begin = time.perf_counter()
    end = begin + job["seconds"]
    while time.perf_counter() < end:
        if sent >= job["window"]:
            await subscribers.delivered()
        await stream.write(message)
        message = rest.fill()
        sent += 1
    await stream.done_writing()
    for _ in range(min(sent, job["window"])):
        await subscribers.delivered()
    seconds = time.perf_counter() - begin
    if (found := await reader) != sent:
        raise ValueError(f"{sent} appends sent, {found} acknowledged")
    changes, messages = subscribers.changes - before[0], subscribers.messages - before[1]
    return {
        "count": changes * job["batch"],
        "seconds": seconds,
        "rate": changes * job["batch"] / seconds,
        "per_message": changes / messages,
        "change_bytes": subscribers.change_bytes,
    }


async def deliver(subscribers: Subscribers, append: loads.Unary, job: Job) -> dict[str, Any]:
    """One append at a time; the times from its sending until the subscribers have it. The next waits for both."""
    template = payloads.append_template(job["sessions"][0])
    begin = time.perf_counter() + job["warmup"]
    end = begin + job["seconds"]
    times: list[float] = []
    while (before := time.perf_counter()) < end:
        answer = append(template.fill(), timeout=loads.CALL_SECONDS)
        await subscribers.delivered()
        after = time.perf_counter()
        await answer
        if before >= begin:
            times.append(after - before)
    return loads.summary(times, time.perf_counter() - begin, 1, 0)


async def replay(channel: grpc.aio.Channel, job: Job) -> dict[str, Any]:
    """Every change of the tenant from the beginning until it has caught up; they must be as many as expected."""
    request = subscription_service_pb2.WatchAllRequest(from_beginning=True).SerializeToString()
    begin = time.perf_counter()
    call = loads.streamed(channel, WATCH_ALL, request)
    count = messages = size = 0
    while not is_caught_up(message := await call.read()):
        found = len(changes_with_events(message))
        count += found
        messages += bool(found)
        size += len(message)
    seconds = time.perf_counter() - begin
    call.cancel()
    return _replayed(job, count, messages, size, seconds)


async def bare_replay(channel: grpc.aio.Channel, job: Job) -> dict[str, Any]:
    """The bodies of the same events, `page` rows a message, read by the echo from the same database."""
    begin = time.perf_counter()
    call = loads.streamed(channel, echo.STORED, stored.request(job["url"], job["page"]))
    messages = size = 0
    while (message := await call.read()) is not grpc.aio.EOF:
        messages += 1
        size += len(message)
    seconds = time.perf_counter() - begin
    return _replayed(job, stored.rows(await call.trailing_metadata()), messages, size, seconds)


def _replayed(job: Job, count: int, messages: int, size: int, seconds: float) -> dict[str, Any]:
    if count != job["expected"]:
        raise ValueError(f"{count:,} changes were replayed, not {job['expected']:,}")
    return {"count": count, "seconds": seconds, "rate": count / seconds, "per_message": count / messages, "bytes": size}
