"""openai-agents: SQLiteSession, in the agent's own process."""

import asyncio

import measuring
from agents import SQLiteSession


class Agents:
    """One session."""

    def __init__(self, session: SQLiteSession) -> None:
        self._session = session

    async def append(self, text: str) -> None:
        await self._session.add_items([{"role": "user", "content": text}])

    async def last(self, count: int) -> int:
        return len(await self._session.get_items(limit=count))

    async def whole(self) -> int:
        return len(await self._session.get_items())


async def main() -> None:
    plan = measuring.plan()
    session = SQLiteSession("s1", plan.url.removeprefix("sqlite:///"))
    await measuring.measure(measuring.installed("openai-agents"), Agents(session), plan)
    session.close()


asyncio.run(main())
