"""The unit of work that balances a consumer's partitions over its members. Each member runs it repeatedly."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row

from ...contract.consumers import LOST, ConsumerKey, Partition, Share, fair_share
from ..encryption.codec import StoredCodec
from ..schema.tables import consumer_members, consumer_partitions
from .consumer_queries import FREE, enter, hold, partition_from
from .parked_queries import replays

_m, _p = consumer_members.c, consumer_partitions.c


def balance(connection: Connection, codec: StoredCodec, key: ConsumerKey, member_id: str, now: int, until: int) -> Share:
    consumer = hold(connection, key)
    members = _live_members(connection, consumer.id, now)
    concerned = _unheld_or_own(connection, consumer.id, member_id, now)
    _take_back(connection, consumer.id, [row for row in concerned if row.owner and row.until <= now])
    if member_id not in members:
        enter(connection, consumer.id, member_id, now, until)
        return Share(())
    mine = [row.number for row in concerned if row.owner == member_id and row.until > now]
    free = [row.number for row in concerned if row.number not in mine]
    held = dict.fromkeys(members, 0) | _held_by_others(connection, consumer.id, member_id) | {member_id: len(mine)}
    share = fair_share(consumer.partitions, held, member_id)
    mine += free[: share.take]
    _extend(connection, consumer.id, member_id, until)
    leased = _lease(connection, consumer.id, member_id, mine, until)
    return Share(leased, share.surplus, replays(connection, codec, consumer.id, mine))


def _live_members(connection: Connection, consumer: int, now: int) -> Sequence[str]:
    """Returns the live members; deletes the others."""
    connection.execute(consumer_members.delete().where(_m.consumer == consumer, _m.until <= now))
    return connection.execute(sa.select(_m.member_id).where(_m.consumer == consumer)).scalars().all()


def _unheld_or_own(connection: Connection, consumer: int, member_id: str, now: int) -> Sequence[Row[Any]]:
    """Returns the partitions that are free or the member's own, locked. Partitions of others stay unlocked."""
    concerned = sa.or_(_p.owner.in_(("", member_id)), _p.until <= now)
    query = sa.select(consumer_partitions).where(_p.consumer == consumer, concerned)
    return connection.execute(query.order_by(_p.number).with_for_update()).all()


def _held_by_others(connection: Connection, consumer: int, member_id: str) -> dict[str, int]:
    others = (_p.consumer == consumer, _p.owner.not_in(("", member_id)))
    query = sa.select(_p.owner, sa.func.count().label("held")).where(*others).group_by(_p.owner)
    return {row.owner: row.held for row in connection.execute(query)}


def _take_back(connection: Connection, consumer: int, lost: Sequence[Row[Any]]) -> None:
    if lost:
        those = (_p.consumer == consumer, _p.number.in_([row.number for row in lost]))
        values = FREE | {"attempts": _p.attempts + 1, "reason": LOST}
        connection.execute(consumer_partitions.update().where(*those).values(values))


def _extend(connection: Connection, consumer: int, member_id: str, until: int) -> None:
    this = (_m.consumer == consumer, _m.member_id == member_id)
    connection.execute(consumer_members.update().where(*this).values(until=until))


def _lease(connection: Connection, consumer: int, member_id: str, numbers: Sequence[int], until: int) -> Sequence[Partition]:
    those = (_p.consumer == consumer, _p.number.in_(numbers))
    update = consumer_partitions.update().where(*those).values(owner=member_id, until=until)
    rows = connection.execute(update.returning(*_p)).all()
    return sorted((partition_from(row) for row in rows), key=attrgetter("number"))
