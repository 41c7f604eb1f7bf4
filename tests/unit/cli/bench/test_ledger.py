"""What the ledger finds in deliveries of which some are missing, repeated, late or of another event."""

from __future__ import annotations

from threadkeep.cli.commands.bench.ledger import Findings, Ledger


def ledger(watchers: int = 1, acknowledged: int = 3) -> Ledger:
    """A session `s` in which the events e1, e2, ... were acknowledged."""
    made = Ledger({"s": watchers})
    for seq in range(1, acknowledged + 1):
        made.send([f"e{seq}"], at=float(seq))
        made.acknowledge("s", seq, f"e{seq}")
    return made


def deliver(made: Ledger, *seqs: int, watcher: int = 0) -> None:
    for seq in seqs:
        made.deliver(watcher, "s", seq, f"e{seq}", at=10.0)


def ended(made: Ledger, stored: int = 3) -> Findings:
    return made.end({"s": stored})


def test_each_event_once_and_in_order_is_exact_and_holds_nothing() -> None:
    made = ledger(watchers=2)
    deliver(made, 1, 2, 3)
    half = made.settled
    deliver(made, 1, 2, 3, watcher=1)
    assert (half, made.settled) == (False, True)
    assert ended(made) == Findings(acknowledged=3, delivered=6)
    assert ended(made).exact
    assert made._sent == {}
    assert made._pending == {"s": {}}


def test_delivery_before_the_acknowledgement_is_exact() -> None:
    made = Ledger({"s": 1})
    made.send(["e1"], at=1.0)
    assert made.deliver(0, "s", 1, "e1", at=1.5) == 0.5
    made.acknowledge("s", 1, "e1")
    assert made.settled
    assert made.end({"s": 1}).exact


def test_event_that_one_watcher_lacks_is_lost() -> None:
    made = ledger(watchers=2)
    deliver(made, 1, 2, 3)
    deliver(made, 1, 3, watcher=1)
    assert not made.settled
    assert ended(made) == Findings(acknowledged=3, delivered=5, lost=1)


def test_event_that_is_not_stored_is_lost() -> None:
    made = ledger(watchers=0)
    assert made.settled
    assert ended(made, stored=1).lost == 2
    assert made.end({}).lost == 3
    assert made.end(None).exact


def test_event_that_came_twice_is_a_duplicate() -> None:
    made = ledger()
    deliver(made, 1, 2, 2, 3, 1)
    assert ended(made) == Findings(acknowledged=3, delivered=5, duplicated=2)


def test_event_that_came_after_a_later_one_is_out_of_order() -> None:
    made = ledger()
    deliver(made, 1, 3, 2)
    assert ended(made) == Findings(acknowledged=3, delivered=3, disordered=1)


def test_other_event_at_an_acknowledged_seq_is_wrong() -> None:
    made = ledger()
    deliver(made, 1, 3)
    made.deliver(0, "s", 2, "other", at=10.0)
    assert ended(made).wrong == 1
    twice = ledger(watchers=1, acknowledged=1)
    twice.acknowledge("s", 1, "e1")
    assert ended(twice).wrong == 1


def test_failed_append_may_be_stored_or_not() -> None:
    made = ledger(acknowledged=1)
    made.send(["e2", "e3"], at=2.0)
    made.fail(["e2", "e3"])
    deliver(made, 1, 2)
    found = ended(made, stored=2)
    assert found == Findings(acknowledged=1, unknown=2, delivered=2)
    assert found.exact
