"""Redis: a stream per session."""

import asyncio

import measuring
from redis.asyncio import Redis


class Stream:
    """One stream."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def append(self, text: str) -> None:
        await self._redis.xadd("s1", {"role": "user", "text": text})

    async def last(self, count: int) -> int:
        return len(await self._redis.xrevrange("s1", count=count))

    async def whole(self) -> int:
        return len(await self._redis.xrange("s1"))


async def main() -> None:
    plan = measuring.plan()
    async with Redis.from_url(plan.url) as redis:
        version = (await redis.info("server"))["redis_version"]
        found = await redis.config_get("appendonly", "appendfsync")
        setting = f"appendonly {found['appendonly']}, appendfsync {found['appendfsync']}"
        await measuring.measure(version, Stream(redis), plan, setting)


asyncio.run(main())
