"""A partition of a member: which deliveries count, its progress, and where reading continues."""

from __future__ import annotations

from tests.support.sessions import TENANT, ref
from threadkeep_server.domain.feed import BEGINNING, Change, ChangeKind, Position
from threadkeep_server.feed.consumers.assignment import Assignment
from threadkeep_server.feed.consumers.partition import MOST_QUEUED, Delivery, OwnedPartition, Read, State
from threadkeep_server.store.contract.consumers import Parked, Partition


def at(number: int) -> Position:
    return Position(0, number)


def change(number: int) -> Change:
    return Change(at(number), ChangeKind.CREATED, TENANT, ref(), session=0, time=0)


def found(*numbers: int, reached: int | None = None, to_the_end: bool = False) -> Read:
    """Returns a read with these changes, and no others up to `reached`."""
    return Read([(change(number), ()) for number in numbers], at(reached or numbers[-1]), to_the_end)


def partition(*, attempts: int = 0, max_attempts: int = 3) -> OwnedPartition:
    return OwnedPartition(Partition(0, BEGINNING, attempts=attempts, reason="why"), max_attempts)


def sent(owned: OwnedPartition, read: Read) -> list[Delivery]:
    """Queues and sends the changes; ids are the numbers of the changes."""
    deliveries = owned.take(read)
    for each in deliveries:
        each.state, each.delivery_id = State.SENT, each.change.position.change
    return deliveries


def test_the_position_follows_the_first_that_is_not_acknowledged() -> None:
    owned = partition()
    one, two, three = sent(owned, found(1, 2, 3, reached=9))
    owned.acknowledge(three)
    owned.acknowledge(one)
    assert owned.due() == (at(1), [1])
    owned.is_stored(*owned.due())
    assert not owned.is_due
    owned.acknowledge(two)
    # With nothing outstanding, changes that do not match count as handled.
    assert owned.due() == (at(9), [2, 3])


def test_acknowledgements_during_a_write_are_due_afterwards() -> None:
    owned = partition()
    one, two = sent(owned, found(1, 2))
    owned.acknowledge(one)
    due = owned.due()
    owned.acknowledge(two)
    owned.is_stored(*due)
    assert owned.due() == (at(2), [2])


def test_a_rejection_voids_later_deliveries_and_reads_them_again() -> None:
    owned = partition()
    one, two, three = sent(owned, found(1, 2, 3))
    owned.acknowledge(three)
    owned.reject(two, "no", park=False)
    assert (three.state, owned.blocked, owned.wants(0.0)) == (State.VOID, True, False)
    assert owned.rejected() is None, "what is before it comes first"
    owned.acknowledge(one)
    assert owned.rejected() is two
    owned.retry(1, 5.0)
    assert (owned.read_to, owned.wants(4.9), owned.wants(5.0)) == (at(1), False, True)
    assert [each.attempt for each in owned.take(found(2, 3))] == [2, 1]


def test_a_rejection_that_parks_keeps_later_deliveries() -> None:
    owned = partition(max_attempts=1)
    one, two, _ = sent(owned, found(1, 2, 3))
    owned.reject(one, "no", park=False)
    assert owned.rejected() is one
    assert one.rejection is not None
    assert one.rejection.park, "its only attempt"
    owned.acknowledge(two)
    owned.skip(one)
    assert owned.due() == (at(2), [2])
    assert not owned.blocked


def test_a_change_without_attempts_left_is_not_sent() -> None:
    owned = partition(attempts=3)
    [behind] = owned.take(found(1, 2))
    assert (behind.change.position, behind.attempt) == (at(2), 1)
    dead = owned.rejected()
    assert dead is not None
    assert dead.rejection == ("why", True, True)


def test_attempts_are_reset_when_the_partition_is_idle() -> None:
    owned = partition(attempts=2)
    owned.take(found(reached=5))
    owned.pass_idle()
    assert (owned.attempts, owned.is_due) == (2, False), "what comes next may be further on"
    owned.take(found(reached=7, to_the_end=True))
    owned.pass_idle()
    assert (owned.attempts, owned.due()) == (0, (at(7), []))


def test_a_partition_is_read_when_half_of_its_queue_is_free() -> None:
    owned = partition()
    deliveries = sent(owned, found(*range(1, MOST_QUEUED + 1)))
    assert (owned.room, owned.wants(0.0)) == (0, False)
    for each in deliveries[: MOST_QUEUED // 2 - 1]:
        owned.acknowledge(each)
    assert not owned.wants(0.0)
    owned.acknowledge(deliveries[MOST_QUEUED // 2 - 1])
    assert owned.wants(0.0)


def test_a_leaving_partition_sends_no_waiting_deliveries() -> None:
    owned = partition()
    [one] = sent(owned, found(1))
    [two] = owned.take(found(2))
    owned.leave()
    assert (one.state, two.state, owned.is_outstanding, owned.is_free) == (State.SENT, State.VOID, True, False)
    owned.acknowledge(one)
    owned.is_stored(*owned.due())
    assert owned.is_free
    assert owned.handled == at(1)


def test_a_partition_moved_by_another_member_restarts() -> None:
    assignment = Assignment(3, 10)
    assignment.assign([Partition(0, at(5)), Partition(1, at(5))])
    kept, moved = assignment
    assignment.assign([Partition(0, at(5)), Partition(1, at(6)), Partition(2, at(1))])
    assert [assignment.holds(kept), assignment.holds(moved)] == [True, False]
    assert [each.read_to for each in assignment] == [at(5), at(6), at(1)]
    assignment.assign([])
    assert not list(assignment)


def test_void_deliveries_are_neither_sent_nor_awaited() -> None:
    assignment = Assignment(3, 3)
    assignment.assign([Partition(0, BEGINNING), Partition(1, BEGINNING)])
    assignment.take({0: found(1, 3, 5), 1: found(2)})
    assert [each.change.position.change for each in assignment.next_batch(1.0)] == [1, 3, 5]
    assert assignment.next_batch(2.0) == []
    assignment.reject(1, "no", park=False)
    assignment.acknowledge(2)
    assert [each.change.position.change for each in assignment.next_batch(3.0)] == [2]
    assert assignment.oldest_sent() == 3.0
    assignment.drop([1])
    assert assignment.oldest_sent() is None


def test_a_replay_is_sent_once_and_blocks_no_delivery() -> None:
    assignment = Assignment(3, 10)
    assignment.assign([Partition(0, at(7))])
    [owned] = assignment
    parked = Parked(11, 0, change(2), attempts=3, reason="no", park_time=0, replaying=True)
    for _ in range(2):
        assignment.replay(parked, ())
    assignment.take({0: found(8)})
    replay, delivery = assignment.next_batch(0.0)
    assert (replay.parked_id, replay.attempt, delivery.attempt) == (11, 4, 1)
    assignment.reject(replay.delivery_id, "still no", park=False)
    assignment.acknowledge(delivery.delivery_id)
    assert owned.due() == (at(8), [delivery.delivery_id])
    assert not owned.is_free, "the store does not know yet what became of the replay"
