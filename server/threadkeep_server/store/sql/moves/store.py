"""Changes of owners in the SQL store."""

from __future__ import annotations

from ...contract.moves import Moved, MoveRequest
from ...notifier import CommitNotifier
from ..log.unit_runner import UnitRunner
from .move_queries import move


class SqlMoves:
    """MoveStore on a database."""

    def __init__(self, units: UnitRunner, commits: CommitNotifier) -> None:
        self._units = units
        self._commits = commits

    async def move_session(self, request: MoveRequest) -> Moved:
        engine, statements = self._units.engine, self._units.statements
        done = await self._units.of(request.tenant).write(lambda connection: move(connection, engine, statements, request))
        self._commits.committed()
        return done
