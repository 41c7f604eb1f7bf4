"""The transactions that copy events and earlier values of state, between which others write.

They read the origin while others change it. Its events may be archived, erased, renamed and, if they were inserted, moved
meanwhile: what a copy has of that is decided by the log version of the fork, and by its last transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import BigInteger, ColumnElement, Connection, Select

from ....domain.errors import SessionNotFound, StoreUnavailable
from ....domain.model import NO_COUNTERS, POSITION_STEP, Counters, Tools
from ...contract.forks import COPIED_AT_ONCE, copied_count
from ..encryption.codec import StoredCodec
from ..encryption.vault import is_encrypted
from ..log.rows import content_of
from ..schema.forks import unfinished_forks
from ..schema.history import past_archivings
from ..schema.state import past_values
from ..schema.tables import INSERTED, events, sessions
from .beginnings import Run

_e, _p, _u = events.c, past_values.c, unfinished_forks.c
_AS_THEY_ARE = (
    *("seq", "event_id", "time", "role", "author", "author_role", "branch", "synthetic", "turn_start", "size", "tokens"),
    *("body", "content_bytes", "tools", "added_version", "counters"),
)
_VALUES_AT_ONCE = 1000
REWOUND = "the session was rewound while it was copied; repeat the call"


@dataclass(frozen=True, slots=True)
class Part:
    """The events that one transaction copied: their number and bytes, the last seq, the lowest and the highest row id, and the
    counters and the content bytes of the active ones."""

    count: int
    size: int
    last_seq: int
    first: int
    last: int
    active: Counters
    content: int


def copy_events(connection: Connection, codec: StoredCodec, tenant: str, run: Run, after: int, until: int) -> Part:
    """Copies the next events after a seq; there are some. Raises SessionNotFound if the origin was deleted."""
    keep(connection, run, until)
    # Seqs have no gaps.
    most = min(after + COPIED_AT_ONCE, run.point.seq)
    sizes = connection.execute(_of_origin(run, after, most, [_e.seq, _e.size])).all()
    if not sizes:
        raise SessionNotFound(run.parent.ref)
    end = sorted(sizes)[copied_count([row.size for row in sorted(sizes)]) - 1].seq
    columns = [_e[name] for name in _AS_THEY_ARE]
    source = _of_origin(run, after, end, [*columns, *_decided(run)])
    names = ["session", *_AS_THEY_ARE, "position", "archived", "archived_version"]
    returned = (_e.id, _e.size, _e.turn_start, _e.tokens, _e.archived, _e.content_bytes)
    try:
        copied = connection.execute(events.insert().from_select(names, _with_session(run, source)).returning(*returned)).all()
    except sa.exc.IntegrityError:
        # Two versions of an event have one id: see endings.
        raise StoreUnavailable(REWOUND) from None
    if len(copied) != end - after:
        raise SessionNotFound(run.parent.ref)
    if codec.encrypts(tenant):
        _encrypt(connection, codec, tenant, [row.id for row in copied])
    active = [Counters(1, int(row.turn_start), row.size, row.tokens) for row in copied if not row.archived]
    content = sum(content_of(row) for row in copied if not row.archived)
    keys = [row.id for row in copied]
    size = sum(row.size for row in copied)
    return Part(len(copied), size, end, min(keys), max(keys), sum(active, NO_COUNTERS), content)


def keep(connection: Connection, run: Run, until: int) -> None:
    """Keeps the copy until then. Raises SessionNotFound if the origin was deleted, StoreUnavailable if another server has given
    up the copy."""
    kept = unfinished_forks.update().where(_u.session == run.session).values(until=until)
    if not connection.execute(kept).rowcount:
        raise StoreUnavailable("the copy of the session took too long between two parts; repeat the call")
    if connection.execute(sa.select(sessions.c.id).where(sessions.c.id == run.origin)).scalar() is None:
        raise SessionNotFound(run.parent.ref)


def _of_origin(run: Run, after: int, upto: int, columns: list[Any]) -> sa.CompoundSelect[Any]:
    """Selects columns of the origin's events with these seqs."""
    first, last = (after + 1) * POSITION_STEP, upto * POSITION_STEP
    appended = sa.select(*columns).where(
        _e.session == run.origin, _e.position.between(first, last), sa.text(f"NOT ({INSERTED})")
    )
    inserted = sa.select(*columns).where(_e.session == run.origin, sa.text(INSERTED), _e.seq.between(after + 1, upto))
    return sa.union_all(appended, inserted)


def _decided(run: Run) -> list[ColumnElement[Any]]:
    """Returns position, archived and archived_version of the copy."""
    then = sa.literal(run.point.log_version, BigInteger)
    archived = sa.and_(_e.archived, _e.archived_version <= then)
    p = past_archivings.c
    covers = (p.event == _e.id, p.since <= then, p.until > then)
    before = sa.select(p.since).where(*covers).correlate(events).scalar_subquery()
    erased = _e.tools == int(Tools.ERASED)
    # Inserted events may be moved between two transactions. The last one gives them their places.
    waiting = -(2 * _e.seq + 1)
    position = sa.case((sa.literal_column(INSERTED, sa.Boolean), waiting), else_=_e.position)
    version = sa.case(
        (archived, _e.archived_version),
        (before.is_not(None), before),
        (erased, then + 1),
        else_=sa.literal(0, BigInteger),
    )
    return [position.label("place"), sa.or_(archived, before.is_not(None), erased).label("gone"), version.label("version")]


def _with_session(run: Run, source: sa.CompoundSelect[Any]) -> Select[Any]:
    found = source.subquery("found")
    mine = sa.literal(run.session, BigInteger).label("session")
    return sa.select(mine, *found.c).order_by(found.c.seq)


def _encrypt(connection: Connection, codec: StoredCodec, tenant: str, keys: list[int]) -> None:
    """Encrypts what was stored before its tenant was to be encrypted: the Encrypter may have passed these row ids."""
    rows = connection.execute(sa.select(_e.id, _e.body).where(_e.id.in_(keys))).all()
    plain = [{"row": row.id, "sealed": codec.encrypt(tenant, row.body)} for row in rows if not is_encrypted(row.body)]
    if plain:
        sealed = sa.bindparam("sealed", type_=_e.body.type)
        connection.execute(events.update().where(_e.id == sa.bindparam("row")).values(body=sealed), plain)


def copy_values(
    connection: Connection, codec: StoredCodec, tenant: str, run: Run, after: tuple[bytes, int] | None, until: int
) -> tuple[tuple[bytes, int] | None, int]:
    """Copies the next earlier values of state, after a key and a version. Returns the last key and version, None if nothing is
    left, and how many it copied."""
    keep(connection, run, until)
    wanted = [_p.owner == run.origin, _p.until <= run.point.log_version]
    if after is not None:
        wanted.append(sa.tuple_(_p.key, _p.until) > sa.tuple_(sa.literal(after[0]), sa.literal(after[1], BigInteger)))
    query = sa.select(_p.key, _p.since, _p.until, _p.value).where(*wanted).order_by(_p.key, _p.until)
    rows = connection.execute(query.limit(_VALUES_AT_ONCE)).all()
    copies = []
    for row in rows:
        value = row.value if is_encrypted(row.value) else codec.encrypt(tenant, row.value)
        copies.append({"owner": run.session, "key": row.key, "since": row.since, "until": row.until, "value": value})
    if copies:
        connection.execute(past_values.insert(), copies)
    more = len(rows) == _VALUES_AT_ONCE
    return ((rows[-1].key, rows[-1].until) if more else None), len(rows)
