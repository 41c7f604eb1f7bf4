"""The load generator, a process of its own: reads jobs as JSON lines, answers each with one JSON line.

The same code drives the baseline and the server under test, so that what it costs itself cancels out of the ratios.
"""

import asyncio
import itertools
import json
import sys
import traceback
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import uvloop

from tests.bench import echo, loads, payloads, questions, raw, subscribers, turns, windows
from tests.recall_bench.plain import PlainFts5

_CREATE_TOGETHER = 32
Job = dict[str, Any]


class Driver:
    """Runs one job at a time; keeps one channel per server."""

    def __init__(self) -> None:
        self._channels: dict[str, grpc.aio.Channel] = {}
        self._model = windows.SlowModel()
        self._subscribers = subscribers.Subscribers()

    def _channel(self, job: Job) -> grpc.aio.Channel:
        target = str(job["target"])
        if target not in self._channels:
            self._channels[target] = loads.connect(target)
        return self._channels[target]

    async def run(self, job: Job) -> Any:
        """The job's result."""
        operation: Callable[[Job], Awaitable[Any]] = getattr(self, f"do_{job['op']}")
        return await asyncio.wait_for(operation(job), float(job["timeout"]))

    async def close(self) -> None:
        """Closes every channel."""
        await self._subscribers.close()
        for channel in self._channels.values():
            await channel.close()
        await self._model.close()

    async def do_forget(self, job: Job) -> None:
        """Closes the channel to a server that is going away."""
        channel = self._channels.pop(str(job["target"]), None)
        if channel is not None:
            await channel.close()

    async def do_info(self, job: Job) -> dict[str, Any]:
        """What the server says about itself."""
        return await loads.info(self._channel(job))

    async def do_create(self, job: Job) -> None:
        """Makes the sessions."""
        call = loads.unary(self._channel(job), payloads.CREATE, [job.get("token", "")])
        for first in range(0, len(job["sessions"]), _CREATE_TOGETHER):
            names = job["sessions"][first : first + _CREATE_TOGETHER]
            await asyncio.gather(*(call(payloads.create(name), timeout=60) for name in names))

    async def do_create_new(self, job: Job) -> dict[str, Any]:
        """Creates sessions that do not exist."""
        call = loads.unary(self._channel(job), payloads.CREATE)
        return await loads.closed_loop(call, job, lambda: payloads.create(uuid.uuid4().hex))

    async def do_append(self, job: Job) -> dict[str, Any]:
        """Unary appends, every worker to its own sessions in turn; with `delta`, each changes state too."""
        delta = bool(job.get("delta"))
        templates = [payloads.append_template(name, job["batch"], delta=delta) for name in job["sessions"]]
        call = loads.unary(self._channel(job), payloads.APPEND, payloads.tokens(job))
        return await loads.closed_loop(call, job, _in_turn([t.fill for t in templates]))

    async def do_pop(self, job: Job) -> dict[str, Any]:
        """Pops of one event, of the sessions in turn."""
        templates = [payloads.pop_template(name) for name in job["sessions"]]
        return await loads.closed_loop(
            loads.unary(self._channel(job), payloads.POP), job, _in_turn([t.fill for t in templates])
        )

    async def do_list_sessions(self, job: Job) -> dict[str, Any]:
        """First pages of a user's sessions."""
        request = payloads.list_sessions(job["order"])
        return await loads.closed_loop(loads.unary(self._channel(job), payloads.LIST_SESSIONS), job, _same(request))

    async def do_echo(self, job: Job) -> dict[str, Any]:
        """The same requests as `append`, sent to the echo."""
        templates = [payloads.append_template(name, job["batch"]) for name in job["sessions"]]
        return await loads.closed_loop(loads.unary(self._channel(job), echo.UNARY), job, _in_turn([t.fill for t in templates]))

    async def do_last(self, job: Job) -> dict[str, Any]:
        """Reads of the last 50 events."""
        requests = [payloads.last(name) for name in job["sessions"]]
        call = loads.unary(self._channel(job), payloads.LIST, payloads.tokens(job))
        return await loads.closed_loop(call, job, _in_turn([_same(r) for r in requests]))

    async def do_context(self, job: Job) -> dict[str, Any]:
        """Contexts of 50 events."""
        requests = [windows.context(name) for name in job["sessions"]]
        call = loads.unary(self._channel(job), windows.CONTEXT, payloads.tokens(job))
        return await loads.closed_loop(call, job, _in_turn([_same(r) for r in requests]))

    async def do_archive(self, job: Job) -> None:
        """Leaves the newest events of each session active."""
        await windows.archive(self._channel(job), job)

    async def do_compact(self, job: Job) -> dict[str, Any]:
        """Compacts each session once."""
        return await windows.compact(self._channel(job), job)

    async def do_fork(self, job: Job) -> dict[str, Any]:
        """Forks of one session."""
        return await windows.fork(self._channel(job), job)

    async def do_append_while(self, job: Job) -> dict[str, Any]:
        """Unary appends to one session while another one is compacted or deleted."""
        return await windows.appends_beside(self._channel(job), job)

    async def do_timed(self, job: Job) -> dict[str, Any]:
        """The same long work on a session, and nothing else."""
        return await windows.timed(self._channel(job), job)

    async def do_turns(self, job: Job) -> dict[str, Any]:
        """Turns of conversations, through the agent kit or by hand."""
        return await turns.turns(job)

    async def do_model(self, job: Job) -> dict[str, Any]:
        """A model that takes `seconds` for a summary, and where it is."""
        return {"url": await self._model.url(job["seconds"])}

    async def do_append_while_summarizing(self, job: Job) -> dict[str, Any]:
        """Unary appends to one session, while it is summarized or not."""
        return await windows.appends_while_summarizing(self._channel(job), job, self.do_append(job))

    async def do_bytes(self, job: Job) -> dict[str, Any]:
        """Requests as long as those of `last`, answered by the echo with `size` bytes."""
        request = echo.bytes_request(job["size"], payloads.last("s00000")[4:])
        return await loads.closed_loop(loads.unary(self._channel(job), echo.BYTES), job, _in_turn([_same(request)]))

    async def do_search(self, job: Job) -> dict[str, Any]:
        """Searches of one term over the users in turn; the number of hits must be as expected."""
        call = loads.unary(self._channel(job), payloads.SEARCH)
        requests = [payloads.search(user, job["term"]) for user in job["users"]]
        hits = await loads.count_hits(call, requests[0])
        if hits != job["hits"]:
            raise ValueError(f"{job['term']!r} was found {hits} times, not {job['hits']} times")
        return await loads.closed_loop(call, job, _in_turn([_same(r) for r in requests]))

    async def do_ranked(self, job: Job) -> dict[str, Any]:
        """Ranked searches of a user's events."""
        return await questions.ranked(loads.unary(self._channel(job), payloads.SEARCH), job)

    async def do_make_fts5(self, job: Job) -> None:
        """The texts of sessions in a bare table."""
        questions.make_fts5(job)

    async def do_bare_ranked(self, job: Job) -> dict[str, Any]:
        """The same questions, answered by the bare table."""
        with PlainFts5(job["path"]) as table:
            return questions.bare_ranked(table, job)

    async def do_stream(self, job: Job) -> dict[str, Any]:
        """Append streams with acknowledgements."""
        channel = self._channel(job)
        return await loads.streams(channel, payloads.APPEND_STREAM, job, loads.count_results)

    async def do_echo_stream(self, job: Job) -> dict[str, Any]:
        """The same messages as `stream`, sent to the echo."""
        channel = self._channel(job)
        return await loads.streams(channel, echo.STREAM, job, lambda ack: int.from_bytes(ack, "big"))

    async def do_load(self, job: Job) -> dict[str, Any]:
        """Fills sessions with events."""
        return await loads.load(self._channel(job), job)

    async def do_drain(self, job: Job) -> dict[str, Any]:
        """Reads whole sessions page by page."""
        return await loads.drain(self._channel(job), job)

    async def do_subscribe(self, job: Job) -> None:
        """Opens a stream for each session; they stay until `unsubscribe`."""
        self._subscribers = subscribers.Subscribers()
        await self._subscribers.open(job["target"], job["kind"], job["sessions"])

    async def do_unsubscribe(self, job: Job) -> None:
        """Ends them."""
        await self._subscribers.close()
        self._subscribers = subscribers.Subscribers()

    async def do_publish(self, job: Job) -> dict[str, Any]:
        """Appends to the session that is subscribed to."""
        stream: Any = self._channel(job).stream_stream(payloads.APPEND_STREAM)()
        return await subscribers.publish(self._subscribers, stream, job, loads.count_results)

    async def do_bare_publish(self, job: Job) -> dict[str, Any]:
        """Sends the same messages as `publish` to the echo, which delivers as many bytes in as many messages."""
        stream: Any = self._channel(job).stream_stream(echo.PUBLISH)()
        await stream.write(echo.publish_request(job["per_message"], subscribers.message_of(job["change_bytes"])))
        return await subscribers.publish(self._subscribers, stream, job, lambda ack: int.from_bytes(ack, "big"))

    async def do_deliver(self, job: Job) -> dict[str, Any]:
        """Unary appends, one at a time, timed until they are delivered."""
        return await subscribers.deliver(self._subscribers, loads.unary(self._channel(job), payloads.APPEND), job)

    async def do_replay(self, job: Job) -> dict[str, Any]:
        """Reads the feed from its beginning."""
        return await subscribers.replay(self._channel(job), job)

    async def do_bare_replay(self, job: Job) -> dict[str, Any]:
        """Has the echo read the same events."""
        return await subscribers.bare_replay(self._channel(job), job)

    async def do_raw_sqlite(self, job: Job) -> dict[str, Any]:
        """Rows a second of sqlite3 alone."""
        return raw.sqlite(job["path"], job["batch"], job["seconds"])

    async def do_raw_postgres(self, job: Job) -> dict[str, Any]:
        """Rows a second of asyncpg alone."""
        return await raw.postgres(job["dsn"], job["batch"], job["seconds"], job["connections"])

    async def do_raw_sqlite_reads(self, job: Job) -> dict[str, Any]:
        """Reads of 50 rows a second of sqlite3 alone."""
        return raw.sqlite_reads(job["path"], job["seconds"])

    async def do_raw_postgres_reads(self, job: Job) -> dict[str, Any]:
        """Reads of 50 rows a second of asyncpg alone."""
        return await raw.postgres_reads(job["dsn"], job["seconds"])


def _same(request: bytes) -> Callable[[], bytes]:
    return lambda: request


def _in_turn(makers: list[Callable[[], bytes]]) -> Callable[[], bytes]:
    turn = itertools.cycle(makers)
    return lambda: next(turn)()


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, grpc.aio.AioRpcError):
        return f"{error.code().name}: {error.details()}"
    return f"{type(error).__name__}: {error}"


async def main() -> None:
    """Answers jobs until stdin ends."""
    reader = asyncio.StreamReader(limit=16 << 20)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    driver = Driver()
    while line := await reader.readline():
        try:
            answer = {"ok": await driver.run(json.loads(line))}
        except Exception as error:
            traceback.print_exc()
            answer = {"error": _reason(error)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    await driver.close()


if __name__ == "__main__":
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    asyncio.run(main())
