"""The tests of the compaction service on SQLite and PostgreSQL: tests/unit/service runs them on the reference."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.codec import CODEC
from tests.unit.service.bench import Bench
from tests.unit.service.compaction.test_compaction_runner import (
    test_a_compaction_without_work_is_no_error_and_no_change,
    test_a_sliding_window_of_two_archives_three_of_five,
    test_a_summary_is_a_turn_of_two_events_before_what_is_kept,
    test_a_trigger_that_does_not_fire_changes_nothing,
    test_an_unknown_session_is_an_error,
    test_an_unusable_summary_changes_nothing,
    test_archived_events_are_still_found,
    test_summaries_survive_a_sliding_window,
    test_the_strategy_of_a_policy_gives_the_same_result,
    test_two_concurrent_compactions_archive_what_one_would,
    test_windows_after_each_strategy,
)
from threadkeep_server.store.sql.store import open_store

__all__ = [
    "test_a_compaction_without_work_is_no_error_and_no_change",
    "test_a_sliding_window_of_two_archives_three_of_five",
    "test_a_summary_is_a_turn_of_two_events_before_what_is_kept",
    "test_a_trigger_that_does_not_fire_changes_nothing",
    "test_an_unknown_session_is_an_error",
    "test_an_unusable_summary_changes_nothing",
    "test_archived_events_are_still_found",
    "test_summaries_survive_a_sliding_window",
    "test_the_strategy_of_a_policy_gives_the_same_result",
    "test_two_concurrent_compactions_archive_what_one_would",
    "test_windows_after_each_strategy",
]


@pytest.fixture
async def bench(url: str) -> AsyncIterator[Bench]:
    async with open_store(url, CODEC) as store:
        yield Bench(store=store)
