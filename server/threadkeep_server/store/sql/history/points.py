"""Finds the end of a part of a log."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Connection

from ....domain.model import SessionRef, Versions
from ...contract.history import AsOf, LogPoint
from ..engine.statements import Record, Statements
from ..schema.history import window_changes
from .moments import Moment, Moments

_w = window_changes.c


def find_point(
    connection: Connection, statements: Statements, ref: SessionRef, head: Record, at: AsOf
) -> tuple[LogPoint, Moment]:
    """Returns the point, and the moment of its log version. `head`: the row of the session. Raises InvalidField for the future,
    HistoryUnknown."""
    moment = Moments(connection, statements, ref, head).find(at)
    then = moment.versions
    seq = then.last_seq if at.seq is None or _is_whole(connection, head.id, then) else at.seq
    return LogPoint(seq, then.log_version, then.window_version), moment


def _is_whole(connection: Connection, session: int, then: Versions) -> bool:
    """Whether another change than a plain append led to these versions."""
    mine = (_w.session == session, _w.log_version == then.log_version, sa.not_(_w.migrated))
    return connection.execute(sa.select(_w.log_version).where(*mine)).scalar() is not None
