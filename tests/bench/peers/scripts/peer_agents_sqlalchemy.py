"""openai-agents: SQLAlchemySession, or our adapter in its place."""

import asyncio

import measuring
from agents.memory import Session


class Agents:
    """One session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def append(self, text: str) -> None:
        await self._session.add_items([{"role": "user", "content": text}])

    async def last(self, count: int) -> int:
        return len(await self._session.get_items(limit=count))

    async def whole(self) -> int:
        return len(await self._session.get_items())


def session_at(url: str) -> Session:
    """The session of a database's URL, or of the address of our server."""
    if "://" in url:
        from agents.extensions.memory import SQLAlchemySession

        url = url.replace("postgresql://", "postgresql+asyncpg://").replace("sqlite://", "sqlite+aiosqlite://")
        return SQLAlchemySession.from_url("s1", url=url, create_tables=True)
    from threadkeep import AsyncClient
    from threadkeep.integrations.openai_agents import ThreadkeepSession

    return ThreadkeepSession(AsyncClient(url, app="bench", user_id="u1"), "s1")


async def main() -> None:
    plan = measuring.plan()
    session = session_at(plan.url)
    await session.get_items()
    await measuring.measure(measuring.installed("openai-agents"), Agents(session), plan)


asyncio.run(main())
