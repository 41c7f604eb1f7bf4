"""The wait before a request to a model is retried, without a clock."""

from __future__ import annotations

import pytest

from threadkeep.chat import ModelFailed
from threadkeep.chat.providers.retry import RetryPolicy


def failure(*, retry: bool = True, retry_after: float | None = None) -> ModelFailed:
    return ModelFailed("overloaded", status=503, retry=retry, retry_after=retry_after)


@pytest.mark.parametrize(("attempt", "most"), [(1, 0.5), (2, 1.0), (3, 2.0)])
def test_default_wait_doubles_from_half_a_second_with_jitter(attempt: int, most: float) -> None:
    longest, shortest = RetryPolicy(max_retries=3, jitter=lambda: 1.0), RetryPolicy(max_retries=3, jitter=lambda: 0.0)
    assert longest.wait(failure(), attempt, 600) == most
    assert shortest.wait(failure(), attempt, 600) == most / 2
    assert most / 2 <= (RetryPolicy(max_retries=3).wait(failure(), attempt, 600) or 0) <= most


def test_retry_after_of_the_endpoint_applies_if_longer() -> None:
    patience = RetryPolicy(jitter=lambda: 1.0)
    assert patience.wait(failure(retry_after=0.7), 1, 600) == 0.7
    assert patience.wait(failure(retry_after=0.1), 1, 600) == 0.5


@pytest.mark.parametrize(
    ("failed", "attempt", "left"),
    [
        (failure(retry=False), 1, 600),
        (failure(), 3, 600),
        (failure(retry_after=61), 1, 600),
        (failure(), 1, 0.2),
    ],
)
def test_wait_is_none_when_no_retry_is_allowed_or_in_time(failed: ModelFailed, attempt: int, left: float) -> None:
    assert RetryPolicy().wait(failed, attempt, left) is None
