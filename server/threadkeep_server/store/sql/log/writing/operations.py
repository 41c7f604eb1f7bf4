"""Operation ids: what a mutation did is stored with it, in its transaction, so that it can be repeated."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from .....domain.errors import OperationConflict, ThreadkeepError
from .....domain.removals import OPERATIONS_KEPT, OPERATIONS_KEPT_NS, Operation, Outcome, decode_outcome
from ....contract.events import Appended, replayed_append
from ....contract.removals import check_operation
from ...schema.removals import operations

_o = operations.c


def outcome_of(connection: Connection, session: int, operation: Operation, now: int) -> Outcome | None:
    """Returns what an earlier call with the operation id did; None if there was none, or if it is too old. Raises
    OperationConflict."""
    same = (_o.session == session, _o.operation_id == operation.operation_id, _o.time >= now - OPERATIONS_KEPT_NS)
    row = connection.execute(sa.select(_o.fingerprint, _o.outcome).where(*same)).one_or_none()
    if row is None:
        return None
    check_operation(operation, row.fingerprint)
    return decode_outcome(row.outcome)


def remember(connection: Connection, session: int, operation: Operation, outcome: Outcome, now: int) -> None:
    """Stores the outcome, and forgets the oldest of the session."""
    newest = sa.select(_o.id).where(_o.session == session).order_by(_o.id.desc())
    last_kept = newest.limit(1).offset(OPERATIONS_KEPT - 1).scalar_subquery()
    outdated = sa.or_(_o.id <= last_kept, _o.time < now - OPERATIONS_KEPT_NS)
    connection.execute(operations.delete().where(_o.session == session, outdated))
    row: dict[str, Any] = {"session": session, "operation_id": operation.operation_id, "time": now}
    row |= {"fingerprint": operation.fingerprint, "outcome": outcome.encode()}
    connection.execute(operations.insert(), row)


class Operations:
    """The operation ids of a group of appends. Costs nothing for appends without one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._decided: dict[tuple[int, str], tuple[Operation, int, Outcome]] = {}

    def known(self, session: int, operation: Operation, now: int) -> Appended | ThreadkeepError | None:
        """Returns what an earlier append with the operation id did, also one of this group."""
        try:
            decided = self._decided.get((session, operation.operation_id))
            if decided is None:
                outcome = outcome_of(self._connection, session, operation, now)
            else:
                check_operation(operation, decided[0].fingerprint)
                outcome = decided[2]
        except OperationConflict as conflict:
            return conflict
        return None if outcome is None else replayed_append(outcome)

    def decided(self, session: int, operation: Operation, now: int, result: Appended | ThreadkeepError) -> None:
        """Notes the result of a new append."""
        if isinstance(result, Appended):
            self._decided[session, operation.operation_id] = operation, now, result.outcome

    def write(self) -> None:
        """Stores the outcomes, after the events."""
        for (session, _), (operation, now, outcome) in self._decided.items():
            remember(self._connection, session, operation, outcome, now)
