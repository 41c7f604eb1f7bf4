"""Finds a moment in the history of a session."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, Connection

from ....domain.errors import HistoryUnknown
from ....domain.model import NO_COUNTERS, NOWHERE, POSITION_STEP, Counters, SessionRef, Versions
from ...contract.history import AsOf
from ..engine.statements import Record, Statements
from ..log.rows import counters_of
from ..schema.history import COUNTED_EVERY, COUNTS, FLOORS
from ..schema.tables import APPENDED, COUNTED, INSERTED

_STATE = ("log_version", "window_version", "last_seq", *(f"window_{what}" for what in COUNTED))
_THEN = (*_STATE, *FLOORS, "migrated", "counted_seq", "counters", *COUNTED, "appended_seq")

# The newest change of the window until then, the newest event until then that has counters, and what was appended after both:
# fewer than COUNTED_EVERY events, as every COUNTED_EVERY-th event either has counters or was inserted by a change.
_MOMENT = f"""
WITH change AS (
    SELECT * FROM window_changes WHERE session = :session AND log_version <= :then ORDER BY log_version DESC LIMIT 1
), counted AS (
    SELECT seq AS counted_seq, counters FROM events WHERE session = :session AND {COUNTS} AND added_version <= :then
    ORDER BY added_version DESC, seq DESC LIMIT 1
), base AS (
    SELECT coalesce(max(seq), 0) AS seq
    FROM (SELECT last_seq AS seq FROM change UNION ALL SELECT counted_seq FROM counted) AS known
), appended AS (
    SELECT count(*) AS events, CAST(coalesce(sum(CASE WHEN turn_start THEN 1 ELSE 0 END), 0) AS BIGINT) AS turns,
        CAST(coalesce(sum(size), 0) AS BIGINT) AS bytes, CAST(coalesce(sum(tokens), 0) AS BIGINT) AS tokens,
        max(seq) AS appended_seq
    FROM events WHERE session = :session AND position > (SELECT seq FROM base) * {POSITION_STEP}
        AND position <= ((SELECT seq FROM base) + {COUNTED_EVERY}) * {POSITION_STEP}
        AND NOT ({INSERTED}) AND added_version <= :then
)
SELECT {", ".join((*_STATE, *FLOORS))},
    (SELECT migrated FROM window_changes WHERE session = :session ORDER BY log_version LIMIT 1) AS migrated,
    counted_seq, counters, {", ".join(COUNTED)}, appended_seq
FROM appended LEFT JOIN change ON true LEFT JOIN counted ON true
"""  # noqa: S608 - constants
_VERSION_OF = f"""
SELECT added_version FROM events WHERE session = :session AND position = :seq * {POSITION_STEP}
UNION ALL SELECT added_version FROM events WHERE session = :session AND {INSERTED} AND seq = :seq
"""  # noqa: S608 - constants
# What the feed has kept of a session that an older server wrote.
_RECORDED_VERSION_OF = f"""
SELECT log_version FROM changes
WHERE session = :session AND kind = {APPENDED} AND first <= :seq AND last >= :seq AND log_version > 0
"""  # noqa: S608 - constants
_RECORDED = f"""
SELECT {", ".join(_STATE)} FROM changes WHERE session = :session AND log_version = :then LIMIT 1
"""  # noqa: S608 - constants
_OLDEST_RECORDED = """
SELECT min(log_version) AS log_version FROM changes
WHERE session = :session AND window_version = :window_version AND log_version > 0
"""
_BEGINNING = f"""
SELECT {", ".join((*_STATE, *FLOORS))} FROM window_changes WHERE session = :session AND migrated
"""  # noqa: S608 - constants


@dataclass(frozen=True, slots=True)
class Moment:
    """The versions of a session at a moment. The positions of the events that were active then are above the floors."""

    versions: Versions
    conversation_floor: int = 0
    summaries_floor: int = 0
    prompts_floor: int = 0

    @property
    def params(self) -> dict[str, int]:
        """Returns the parameters of the conditions on events as of then: see `conditions`."""
        last_seq = self.versions.last_seq
        return {"then": self.versions.log_version, "then_seq": last_seq, "then_end": (last_seq + 1) * POSITION_STEP}

    @property
    def floors(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in FLOORS}


class Moments:
    """Finds the moments of a session. `head`: its row."""

    def __init__(self, connection: Connection, statements: Statements, ref: SessionRef, head: Record) -> None:
        self._connection = connection
        self._statements = statements
        self._ref = ref
        self._head = head

    def find(self, as_of: AsOf) -> Moment:
        """Raises InvalidField for the future, HistoryUnknown."""
        as_of.refuse_future(self._head.last_seq, self._head.log_version)
        version = self._version_of(as_of.seq) if as_of.log_version is None else as_of.log_version
        if version == 0:
            return Moment(NOWHERE)
        found = self._run(_MOMENT, _THEN, then=version)[0]
        if found.log_version is None and found.migrated:
            return self._before_the_beginning(version)
        return _moment(version, found)

    def _version_of(self, seq: int | None) -> int:
        """Returns the log version of the change that stored the event."""
        assert seq is not None  # noqa: S101 - of the two forms of AsOf this is the other one
        for query, column in ((_VERSION_OF, "added_version"), (_RECORDED_VERSION_OF, "log_version")):
            found = self._run(query, (column,), seq=seq)
            if found and found[0][0]:
                return int(found[0][0])
        raise self._unknown()

    # --- sessions that an older server wrote

    def _before_the_beginning(self, version: int) -> Moment:
        """Returns a moment that the feed has kept, if nothing was archived between it and the migration."""
        beginning = self._beginning()
        recorded = self._run(_RECORDED, _STATE, then=version)
        if not recorded or recorded[0].window_version != beginning.window_version:
            raise self._unknown()
        return Moment(_versions(recorded[0]), **{name: getattr(beginning, name) for name in FLOORS})

    def _beginning(self) -> Record:
        """Returns the session as the migration found it."""
        return self._run(_BEGINNING, (*_STATE, *FLOORS))[0]

    def _unknown(self) -> HistoryUnknown:
        beginning = self._beginning()
        oldest = self._run(_OLDEST_RECORDED, ("log_version",), window_version=beginning.window_version)[0].log_version
        return HistoryUnknown(self._ref, min(oldest or beginning.log_version, beginning.log_version))

    def _run(self, query: str, columns: tuple[str, ...], **params: int) -> list[Record]:
        def build() -> sa.TextualSelect:
            typed = [sa.bindparam(name, type_=BigInteger) for name in ("session", *params)]
            return sa.text(query).bindparams(*typed).columns(*map(sa.column, columns))

        return self._statements.get(query, self._connection, build).run(self._connection, {"session": self._head.id, **params})


def _moment(version: int, found: Record) -> Moment:
    appended = Counters(*(getattr(found, what) for what in COUNTED))
    changed_seq = found.last_seq or 0
    if found.counted_seq is not None and found.counted_seq > changed_seq:
        base, last_seq = Counters(*json.loads(found.counters)), found.counted_seq
    else:
        base, last_seq = NO_COUNTERS if found.log_version is None else counters_of(found), changed_seq
    versions = Versions(version, found.window_version or 0, found.appended_seq or last_seq, base + appended)
    return Moment(versions, **{name: getattr(found, name) or 0 for name in FLOORS})


def _versions(row: Any) -> Versions:
    return Versions(row.log_version, row.window_version, row.last_seq, counters_of(row))
