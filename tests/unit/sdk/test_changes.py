from __future__ import annotations

import random

import grpc
import pytest

from threadkeep import ThreadkeepError, errors
from threadkeep._streams import backoff, changes
from threadkeep.v1 import subscription_pb2 as su
from threadkeep.v1.session_pb2 import SessionRef


class Steady(random.Random):
    """Draws the upper end of every range."""

    def uniform(self, a: float, b: float) -> float:
        return b


def test_pauses_double_up_to_a_bound_and_start_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST", 0.1)
    monkeypatch.setattr(backoff, "LONGEST", 5.0)
    lost, requested = errors.Unavailable("m"), errors.Unavailable("m", retry_after=2.0)
    with monkeypatch.context() as patched:
        patched.setattr(random, "uniform", Steady().uniform)
        pauses = backoff.Backoff()
        assert [round(pauses.pause(lost), 3) for _ in range(8)] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
        pauses.reset()
        assert [round(pauses.pause(requested), 3) for _ in range(2)] == [2.1, 2.2]
    drawn = [backoff.Backoff().pause(lost) for _ in range(300)]
    assert min(drawn) < 0.03 < 0.07 < max(drawn) <= 0.1
    # A reason of a newer server, with the code that says it all.
    assert pauses.pause(ThreadkeepError("away", reason="ON_HOLIDAY", code=grpc.StatusCode.UNAVAILABLE)) <= 5.0
    with pytest.raises(ThreadkeepError):
        pauses.pause(ThreadkeepError("wrong", reason="ON_STRIKE", code=grpc.StatusCode.ABORTED))
    for _ in range(5000):  # any number of failures does not overflow
        pauses.pause(lost)


def test_the_set_of_seen_changes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    def first(n: int) -> su.Change:
        return su.Change(
            session=SessionRef(session_id=f"s{n}"), batch=su.EventBatch(), versions=su.SessionVersions(log_version=1)
        )

    monkeypatch.setattr(changes, "REMEMBERED", 10)
    cursor = changes.Cursor()
    assert all(cursor.take(first(n)) for n in range(100))
    assert cursor.take(first(99)) is None
    assert len(cursor._versions) == 10
