"""Sessions as lines of the export format, by the code of `threadkeep export` and `threadkeep import`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from threadkeep.cli.exporter import Exporter, destination
from threadkeep.cli.formats import ReadOptions
from threadkeep.cli.formats.reading import FileReader
from threadkeep.cli.importer import Importer
from threadkeep.errors import SessionNotFound, ThreadkeepError
from threadkeep.v1.session_pb2 import SessionRef as SessionName

from ...domain.model import Caller, SessionRef
from ...domain.roles import DATA
from ...service.retention.runner import Restored, TransferFailed
from ..rpc import Service
from .client import InProcessClient, single


class SessionTransfer:
    """Writes and reads sessions of any tenant. Files are read and written in the event loop, a page or a line at a time."""

    def __init__(self, services: Sequence[Service]) -> None:
        self._services = services

    async def write(self, tenant: str, ref: SessionRef, into: Path) -> int:
        client = self._client(tenant)
        named = SessionName(app=ref.app, user_id=ref.user_id, session_id=ref.session_id)
        try:
            session = await client.get_session(named)
            with destination(into) as out:
                done = await Exporter(client, out, "threadkeep", lambda _: None).run(single(session))
        except SessionNotFound:
            raise TransferFailed("the session was deleted meanwhile") from None
        except ThreadkeepError as error:
            raise TransferFailed(f"the session cannot be read: {error.message}") from None
        return done.events

    async def read(self, tenant: str, lines: Path) -> Restored:
        importer = Importer(self._client(tenant), exact=True)
        with lines.open("rb") as stream:
            tally = await importer.run([FileReader(stream, "archive", ReadOptions(), "threadkeep")])
        if tally.problems:
            raise TransferFailed(tally.problems[0].text)
        return Restored(tally.sessions_created > 0, tally.events_added, tally.events_found)

    def _client(self, tenant: str) -> InProcessClient:
        return InProcessClient(self._services, Caller(tenant, roles=DATA))
