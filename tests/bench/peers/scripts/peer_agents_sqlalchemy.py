"""openai-agents: SQLAlchemySession."""

import asyncio

import measuring
from agents.extensions.memory import SQLAlchemySession


class Agents:
    """One session."""

    def __init__(self, session: SQLAlchemySession) -> None:
        self._session = session

    async def append(self, text: str) -> None:
        await self._session.add_items([{"role": "user", "content": text}])

    async def last(self, count: int) -> int:
        return len(await self._session.get_items(limit=count))

    async def whole(self) -> int:
        return len(await self._session.get_items())


async def main() -> None:
    plan = measuring.plan()
    url = plan.url.replace("postgresql://", "postgresql+asyncpg://").replace("sqlite://", "sqlite+aiosqlite://")
    session = SQLAlchemySession.from_url("s1", url=url, create_tables=True)
    await session.get_items()
    await measuring.measure(measuring.installed("openai-agents"), Agents(session), plan)


asyncio.run(main())
