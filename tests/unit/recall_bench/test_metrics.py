"""Recall at k, by hand."""

from __future__ import annotations

from tests.recall_bench.metrics import ALL, Asked, Key, Places, counts, measure, session_recall, turn_recall
from tests.recall_bench.model import Conversation, Question, Session, Turn


def session(name: str, size: int) -> Session:
    return Session(name, 0, tuple(Turn(f"{name}{n}", "", "user", "", 0) for n in range(size)))


PLACES = Places(Conversation("c", (session("a", 4), session("b", 4)), ()))


def requested(gold: set[str], hits: list[str], kind: str = "x", sessions: set[str] | None = None) -> Asked:
    reported = {one[0] for one in gold} if sessions is None else sessions
    return Asked(Question("", kind, frozenset(gold), frozenset(reported), 0), hits)


def test_the_share_of_the_gold_among_the_first_k() -> None:
    reported = requested({"a0", "b3"}, ["a1", "b3", "a0"])
    assert [turn_recall(reported, PLACES, k) for k in (1, 2, 3, 10)] == [0, 0.5, 1, 1]
    assert [session_recall(reported, PLACES, k) for k in (1, 2)] == [0.5, 1]


def test_neighbors_count_within_their_session_only() -> None:
    assert turn_recall(requested({"a2"}, ["a1"]), PLACES, 1, 1) == 1
    assert turn_recall(requested({"a3"}, ["a1"]), PLACES, 1, 1) == 0
    assert turn_recall(requested({"a3"}, ["a1"]), PLACES, 1, 2) == 1
    assert turn_recall(requested({"b0"}, ["a3"]), PLACES, 1, 1) == 0
    assert turn_recall(requested({"b3"}, ["b0"]), PLACES, 1, 1) == 0, "not around the other end"


def test_the_mean_is_over_questions_and_those_without_gold_do_not_count() -> None:
    several = [
        (requested({"a0", "a1"}, ["a0"], "x"), PLACES),
        (requested({"b0"}, ["a0"], "y"), PLACES),
        (requested(set(), ["b0"], "y", {"b"}), PLACES),
        (requested({"b0"}, [], "z"), PLACES),
    ]
    figures = measure(several, ks=(1,), neighbors=(0, 1))
    assert figures["x"] == {Key("turns", 1, 0): 0.5, Key("turns", 1, 1): 1.0, Key("sessions", 1, 0): 1.0}
    assert figures["y"] == {Key("turns", 1, 0): 0.0, Key("turns", 1, 1): 0.0, Key("sessions", 1, 0): 0.5}
    assert figures[ALL] == {Key("turns", 1, 0): 0.5 / 3, Key("turns", 1, 1): 1 / 3, Key("sessions", 1, 0): 0.5}
    assert counts(several) == {"x": 1, "y": 2, "z": 1, ALL: 4}
