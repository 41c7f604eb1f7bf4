"""google-adk: DatabaseSessionService, or our adapter in its place."""

import asyncio

import measuring
from google.adk.events import Event
from google.adk.sessions import BaseSessionService, DatabaseSessionService, Session
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types

NAMES = {"app_name": "bench", "user_id": "u1"}


class Adk:
    """One session of the service."""

    def __init__(self, service: BaseSessionService, session: Session) -> None:
        self._service = service
        self._session = session

    async def append(self, text: str) -> None:
        content = types.Content(role="user", parts=[types.Part(text=text)])
        await self._service.append_event(self._session, Event(author="user", invocation_id="run-1", content=content))

    async def _read(self, config: GetSessionConfig | None) -> int:
        session = await self._service.get_session(**NAMES, session_id=self._session.id, config=config)
        return len(session.events) if session else 0

    async def last(self, count: int) -> int:
        return await self._read(GetSessionConfig(num_recent_events=count))

    async def whole(self) -> int:
        return await self._read(None)


def service_at(url: str) -> BaseSessionService:
    """The service of a database's URL, or of the address of our server."""
    if "://" in url:
        url = url.replace("postgresql://", "postgresql+asyncpg://").replace("sqlite://", "sqlite+aiosqlite://")
        return DatabaseSessionService(db_url=url)
    from threadkeep import AsyncClient
    from threadkeep.integrations.adk import ThreadkeepSessionService

    return ThreadkeepSessionService(AsyncClient(url))


async def main() -> None:
    plan = measuring.plan()
    service = service_at(plan.url)
    session = await service.create_session(**NAMES, session_id="s1")
    await measuring.measure(measuring.installed("google-adk"), Adk(service, session), plan)


asyncio.run(main())
