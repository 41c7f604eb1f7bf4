"""Units of work on named consumers, their members, and the progress of their partitions.

A transaction that assigns partitions, or creates or deletes a consumer, locks the consumer's row (see `hold`), so such
transactions run one after the other. A transaction that moves a partition locks the partition's row only. Rows of partitions
are locked in the order of their numbers, so there is no deadlock.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Row
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql import ColumnElement

from ....domain.errors import ConsumerMismatch, ConsumerNotFound
from ....domain.feed import FeedScope, Position
from ...contract.consumers import Consumer, ConsumerKey, ConsumerState, Member, Partition
from ..engine.base import Engine
from ..schema.tables import consumer_members, consumer_partitions, consumers, parked_changes

_c, _m, _p = consumers.c, consumer_members.c, consumer_partitions.c

FREE = {"owner": "", "until": 0}


# --- finding


def _named(key: ConsumerKey) -> ColumnElement[bool]:
    return sa.and_(_c.tenant == key.tenant, _c.owner == key.owner, _c.name == key.name)


def hold(connection: Connection, key: ConsumerKey) -> Row[Any]:
    """Returns the consumer's row, locked until the transaction ends. Raises ConsumerNotFound."""
    row = _held(connection, key)
    if row is None:
        raise ConsumerNotFound(key.name)
    return row


def _held(connection: Connection, key: ConsumerKey) -> Row[Any] | None:
    # NO KEY: rows that refer to it, such as parked changes, can still be inserted.
    return connection.execute(sa.select(consumers).where(_named(key)).with_for_update(key_share=True)).one_or_none()


def require(connection: Connection, key: ConsumerKey) -> Row[Any]:
    """Returns the consumer's row. Raises ConsumerNotFound."""
    row = connection.execute(sa.select(consumers).where(_named(key))).one_or_none()
    if row is None:
        raise ConsumerNotFound(key.name)
    return row


def consumer_of(row: Row[Any]) -> Consumer:
    scope = json.loads(row.scope_json)
    return Consumer(
        key=ConsumerKey(row.tenant, row.owner, row.name),
        scope=FeedScope(**scope | {"labels": tuple(map(tuple, scope["labels"]))}),
        filter=row.filter,
        partitions=row.partitions,
        max_attempts=row.max_attempts,
        ack_timeout=row.ack_timeout,
        create_time=row.create_time,
    )


def partition_from(row: Row[Any]) -> Partition:
    return Partition(row.number, Position(row.xid, row.change), row.owner, row.attempts, row.reason)


def storable(reason: str) -> str:
    """Returns the reason without NUL, which PostgreSQL's text columns cannot hold."""
    return reason.replace("\x00", "\ufffd")


# --- members


def join(connection: Connection, wanted: Consumer, start: Position, member_id: str, now: int, until: int) -> Consumer:
    while (row := _held(connection, wanted.key)) is None:
        _make(connection, wanted, start)
    stored = consumer_of(row)
    if stored.scope != wanted.scope:
        raise ConsumerMismatch(wanted.key.name, "scope")
    if stored.filter != wanted.filter:
        raise ConsumerMismatch(wanted.key.name, "filter")
    again = consumer_members.update().where(_m.consumer == row.id, _m.member_id == member_id)
    if not connection.execute(again.values(until=until)).rowcount:
        enter(connection, row.id, member_id, now, until)
    return stored


def _make(connection: Connection, wanted: Consumer, start: Position) -> None:
    """Creates the consumer, unless another transaction is faster."""
    values = {
        **wanted.key._asdict(),
        "scope_json": json.dumps(asdict(wanted.scope)).encode(),
        "filter": wanted.filter,
        "partitions": wanted.partitions,
        "max_attempts": wanted.max_attempts,
        "ack_timeout": wanted.ack_timeout,
        "create_time": wanted.create_time,
    }
    try:
        with connection.begin_nested():
            made = connection.execute(consumers.insert().values(values).returning(_c.id)).scalar_one()
    except IntegrityError:
        return
    unmoved = {"consumer": made, "xid": start.xid, "change": start.change, "attempts": 0, "reason": "", **FREE}
    connection.execute(consumer_partitions.insert(), [unmoved | {"number": number} for number in range(wanted.partitions)])


def enter(connection: Connection, consumer: int, member_id: str, now: int, until: int) -> None:
    entry = {"consumer": consumer, "member_id": member_id, "join_time": now, "until": until}
    connection.execute(consumer_members.insert().values(entry))


def leave(connection: Connection, key: ConsumerKey, member_id: str) -> None:
    consumer = hold(connection, key).id
    connection.execute(consumer_members.delete().where(_m.consumer == consumer, _m.member_id == member_id))
    _change(connection, sa.and_(_p.consumer == consumer, _p.owner == member_id), FREE)


# --- partitions


def _of(key: ConsumerKey, member_id: str) -> ColumnElement[bool]:
    """Selects the partitions that the member holds."""
    return sa.and_(_p.consumer == sa.select(_c.id).where(_named(key)).scalar_subquery(), _p.owner == member_id)


def _change(connection: Connection, which: ColumnElement[bool], values: Mapping[str, Any]) -> int:
    """Updates partitions, locked in order. Returns their number."""
    locked = sa.select(_p.consumer, _p.number).where(which).order_by(_p.number).with_for_update().cte("locked").c
    those = (_p.consumer == locked.consumer, _p.number == locked.number)
    update = consumer_partitions.update().where(*those).values(values)
    # Counts returned rows: a driver that looks for UPDATE at the start of a statement reports no rowcount.
    return len(connection.execute(update.returning(_p.number)).all())


def acknowledge(connection: Connection, key: ConsumerKey, member_id: str, positions: Mapping[int, Position]) -> Collection[int]:
    values: dict[str, Any] = {"tenant": key.tenant, "consumer_owner": key.owner, "name": key.name, "member": member_id}
    for index, (number, position) in enumerate(positions.items()):
        values |= {f"number_{index}": number, f"xid_{index}": position.xid, f"change_{index}": position.change}
    moved = connection.execute(_moving(len(positions)), values).scalars().all() if positions else ()
    left = positions.keys() - set(moved)
    if not left and positions:
        return ()
    # Not the member's, or already further, because acknowledgments may arrive out of order; or there is no consumer.
    require(connection, key)
    held = connection.execute(sa.select(_p.number).where(_of(key, member_id), _p.number.in_(left))).scalars()
    return left - set(held)


@cache
def _moving(count: int) -> sa.sql.dml.ReturningUpdate[tuple[int]]:
    """Moves partitions of one member forward, never back, in one statement. Returns the moved ones."""
    columns = (_p.number, _p.xid, _p.change)
    rows = [
        sa.select(*(sa.bindparam(f"{column.name}_{row}", type_=column.type).label(column.name) for column in columns))
        for row in range(count)
    ]
    to = sa.union_all(*rows).cte("moved").c
    named = (_c.tenant == sa.bindparam("tenant"), _c.owner == sa.bindparam("consumer_owner"), _c.name == sa.bindparam("name"))
    locked = (
        sa.select(_p.consumer, *to)
        .where(
            _p.consumer == sa.select(_c.id).where(*named).scalar_subquery(),
            _p.owner == sa.bindparam("member"),
            _p.number == to.number,
            sa.tuple_(_p.xid, _p.change) <= sa.tuple_(to.xid, to.change),
        )
        .order_by(_p.number)
        .with_for_update(of=consumer_partitions)
        .cte("locked")
        .c
    )
    return (
        consumer_partitions.update()
        .where(_p.consumer == locked.consumer, _p.number == locked.number)
        .values(xid=locked.xid, change=locked.change, attempts=0, reason="")
        .returning(_p.number)
    )


def reject(connection: Connection, key: ConsumerKey, member_id: str, number: int, reason: str) -> int:
    values = {"attempts": _p.attempts + 1, "reason": storable(reason)}
    update = consumer_partitions.update().where(_of(key, member_id), _p.number == number).values(values)
    attempts = connection.execute(update.returning(_p.attempts)).scalar_one_or_none()
    if attempts is None:
        require(connection, key)
    return attempts or 0


def release(
    connection: Connection, key: ConsumerKey, member_id: str, numbers: Collection[int], *, lost: bool, reason: str
) -> None:
    values = FREE | ({"attempts": _p.attempts + 1, "reason": storable(reason)} if lost else {})
    if not _change(connection, sa.and_(_of(key, member_id), _p.number.in_(numbers)), values):
        require(connection, key)


# --- consumers


def listed(connection: Connection, engine: Engine, tenant: str, owner: str, limit: int, after: str) -> Sequence[Consumer]:
    # PostgreSQL's index of names has another order, so there a page reads all consumers of the owner: 100,000 take 40 ms.
    name = engine.sql.by_code_point(_c.name)
    query = sa.select(consumers).where(_c.tenant == tenant, _c.owner == owner, name > after).order_by(name).limit(limit)
    return [consumer_of(row) for row in connection.execute(query)]


def state(connection: Connection, key: ConsumerKey) -> ConsumerState:
    row = require(connection, key)
    partitions = sa.select(consumer_partitions).where(_p.consumer == row.id).order_by(_p.number)
    stored = [partition_from(each) for each in connection.execute(partitions)]
    members = sa.select(consumer_members).where(_m.consumer == row.id).order_by(_m.join_time, _m.member_id)
    parked = sa.select(sa.func.count()).where(parked_changes.c.consumer == row.id)
    return ConsumerState(
        consumer=consumer_of(row),
        members=[
            Member(each.member_id, each.join_time, [part.number for part in stored if part.owner == each.member_id])
            for each in connection.execute(members)
        ],
        partitions=stored,
        parked=connection.execute(parked).scalar_one(),
    )


def delete(connection: Connection, key: ConsumerKey) -> bool:
    row = _held(connection, key)
    if row is None:
        return False
    # Waits for transactions that move a partition or park: they lock the partition and may then refer to the consumer.
    connection.execute(sa.select(_p.number).where(_p.consumer == row.id).order_by(_p.number).with_for_update()).all()
    connection.execute(consumers.delete().where(_c.id == row.id))
    return True
