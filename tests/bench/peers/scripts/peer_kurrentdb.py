"""KurrentDB: a stream per session, through its Python client."""

import asyncio
import json

import measuring
from kurrentdbclient import AsyncKurrentDBClient, NewEvent, StreamState


class Stream:
    """One stream."""

    def __init__(self, client: AsyncKurrentDBClient) -> None:
        self._client = client

    async def append(self, text: str) -> None:
        event = NewEvent(type="message", data=json.dumps({"role": "user", "text": text}).encode())
        await self._client.append_to_stream("s1", current_version=StreamState.ANY, events=[event])

    async def last(self, count: int) -> int:
        return len(await self._client.get_stream("s1", backwards=True, limit=count))

    async def whole(self) -> int:
        return len(await self._client.get_stream("s1"))


async def main() -> None:
    plan = measuring.plan()
    client = AsyncKurrentDBClient(plan.url)
    await client.connect()
    version = f"(client {measuring.installed('kurrentdbclient')})"
    await measuring.measure(version, Stream(client), plan, "flushes to disk, its default")
    await client.close()


asyncio.run(main())
