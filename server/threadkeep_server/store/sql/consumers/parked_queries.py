"""Units of work on parked changes. They are stored whole: the feed may trim them, and their sessions may be deleted."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row
from sqlalchemy.sql import ColumnElement

from ....domain.feed import Change, ChangeKind, Position
from ....domain.model import Compaction, Counters, Parent, Session, SessionRef, Usage
from ...contract.consumers import MOST_REPLAYS, ConsumerKey, Parked, partition_of
from ..encryption.codec import StoredCodec
from ..log.change_details import removal_of
from ..schema.tables import consumer_partitions, consumers, parked_changes, sessions
from ..state.records import read as read_state
from ..state.records import sealed
from .consumer_queries import hold, require, storable

_p, _k = consumer_partitions.c, parked_changes.c

_NUMBERS = (
    "session",
    "time",
    "first",
    "last",
    "size",
    "log_version",
    "window_version",
    "last_seq",
    "window_events",
    "window_turns",
    "window_bytes",
    "window_tokens",
)


def park(
    connection: Connection, codec: StoredCodec, key: ConsumerKey, member_id: str, change: Change, reason: str, now: int
) -> bool:
    """The tenant is `ready`, if the change is one of state."""
    consumer = require(connection, key)
    number = partition_of(change.session, consumer.partitions)
    mine = (_p.consumer == consumer.id, _p.number == number, _p.owner == member_id)
    partition = connection.execute(sa.select(consumer_partitions).where(*mine).with_for_update()).one_or_none()
    if partition is None:
        require(connection, key)  # deleted in the meantime?
        return False
    if Position(partition.xid, partition.change) >= change.position:
        return True  # done by an earlier call whose answer was lost
    moved = {"xid": change.position.xid, "change": change.position.change, "attempts": 0, "reason": ""}
    connection.execute(consumer_partitions.update().where(*mine).values(moved))
    entry = {
        "consumer": consumer.id,
        "number": number,
        "attempts": partition.attempts,
        "reason": storable(reason),
        "park_time": now,
        "replaying": False,
    }
    connection.execute(parked_changes.insert().values(entry | _columns(codec, change)))
    return True


def listed(connection: Connection, codec: StoredCodec, key: ConsumerKey, limit: int, after: int) -> Sequence[Parked]:
    consumer = require(connection, key).id
    return _found(connection, codec, consumer, _k.id > after, limit)


def replays(connection: Connection, codec: StoredCodec, consumer: int, partitions: Collection[int]) -> Sequence[Parked]:
    """Returns the changes to replay in these partitions, the oldest first."""
    if not partitions:
        return ()
    return _found(connection, codec, consumer, sa.and_(_k.replaying, _k.number.in_(partitions)), MOST_REPLAYS)


def _found(
    connection: Connection, codec: StoredCodec, consumer: int, which: ColumnElement[bool], limit: int
) -> Sequence[Parked]:
    """Leaves out changes of sessions that the consumer's user does not own any more: see FeedScope.admits."""
    query = sa.select(parked_changes).where(_k.consumer == consumer, which).order_by(_k.id).limit(limit)
    scope = connection.execute(sa.select(consumers.c.scope_json).where(consumers.c.id == consumer)).scalar_one()
    if json.loads(scope)["user_id"] is not None:
        left = sa.exists().where(sessions.c.id == _k.session, sessions.c.user_id != _k.user_id)
        query = query.where(sa.or_(_k.kind == int(ChangeKind.DELETED), ~left))
    return [
        Parked(row.id, row.number, _change(codec, row), row.attempts, row.reason, row.park_time, row.replaying)
        for row in connection.execute(query)
    ]


def finish_replay(connection: Connection, key: ConsumerKey, parked_id: int, failed: str | None, now: int) -> None:
    this = (_k.consumer == require(connection, key).id, _k.id == parked_id)
    if failed is None:
        connection.execute(parked_changes.delete().where(*this))
        return
    values = {"attempts": _k.attempts + 1, "reason": storable(failed), "park_time": now, "replaying": False}
    connection.execute(parked_changes.update().where(*this).values(values))


# Locks the consumer, so that two calls on several rows do not deadlock: see hold.


def replay(connection: Connection, key: ConsumerKey, parked_ids: Sequence[int] | None) -> int:
    those = _chosen(connection, key, parked_ids)
    return connection.execute(parked_changes.update().where(*those).values(replaying=True)).rowcount


def delete(connection: Connection, key: ConsumerKey, parked_ids: Sequence[int] | None) -> int:
    those = _chosen(connection, key, parked_ids)
    return connection.execute(parked_changes.delete().where(*those)).rowcount


def _chosen(connection: Connection, key: ConsumerKey, parked_ids: Sequence[int] | None) -> list[ColumnElement[bool]]:
    of_consumer = _k.consumer == hold(connection, key).id
    return [of_consumer] if parked_ids is None else [of_consumer, _k.id.in_(parked_ids)]


# --- changes, whole


def _columns(codec: StoredCodec, change: Change) -> dict[str, Any]:
    detail = {
        "labels": dict(change.labels),
        "labels_before": None if change.labels_before is None else dict(change.labels_before),
        "expired": change.expired,
        "moved": change.moved,
        "after": None if change.after is None else asdict(replace(change.after, labels=dict(change.after.labels))),
        "compaction": None if change.compaction is None else asdict(change.compaction),
        "removal": None if change.removal is None else asdict(change.removal),
    }
    return {
        "change_xid": change.position.xid,
        "change_id": change.position.change,
        "kind": int(change.kind),
        "tenant": change.tenant,
        **change.ref._asdict(),
        **{name: getattr(change, name) for name in _NUMBERS},
        "detail": json.dumps(detail).encode(),
        "state": None if change.state is None else sealed(codec, change.tenant, change.state),
    }


def _change(codec: StoredCodec, row: Row[Any]) -> Change:
    detail = json.loads(row.detail)
    after, compaction, removal = detail["after"], detail["compaction"], detail.get("removal")
    return Change(
        position=Position(row.change_xid, row.change_id),
        kind=ChangeKind(row.kind),
        tenant=row.tenant,
        ref=SessionRef(row.app, row.user_id, row.session_id),
        **{name: getattr(row, name) for name in _NUMBERS},
        labels=detail["labels"],
        labels_before=detail["labels_before"],
        expired=detail["expired"],
        moved=detail.get("moved", False),
        after=None if after is None else _session(after),
        compaction=None if compaction is None else _compaction(compaction),
        state=read_state(codec, row.state),
        removal=None if removal is None else removal_of(removal),
    )


def _session(data: dict[str, Any]) -> Session:
    parent = data.get("parent")
    nouns = {"ref": SessionRef(*data["ref"]), "window": Counters(**data["window"]), "usage": Usage(**data["usage"])}
    return Session(**data | nouns | {"parent": None if parent is None else Parent(**parent)})


def _compaction(data: dict[str, Any]) -> Compaction:
    counters = {when: Counters(**data[when]) for when in ("before", "after")}
    return Compaction(**data | counters | {"inserted": tuple(data["inserted"]), "usage": Usage(**data["usage"])})
