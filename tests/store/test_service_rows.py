"""The rows of the service that compact (semantics of sessions, 8.1), on SQLite and PostgreSQL: the very tests that
tests/unit/service runs on the reference, on another bench."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.codec import CODEC
from tests.unit.service.bench import Bench
from tests.unit.service.compaction.test_compaction_runner import (
    test_a_summary_is_a_turn_of_two_events_before_what_is_kept,
    test_c_41_a_summary_that_is_none_leaves_all_as_it_was,
    test_s_11_a_sliding_window_of_two_archives_three_of_five,
    test_s_12_what_was_archived_is_still_found,
    test_s_13_a_trigger_that_does_not_fire_changes_nothing,
    test_s_14_nothing_to_do_is_no_error_and_no_change,
    test_s_15_by_the_strategy_of_a_policy_the_same_is_done,
    test_s_17_two_at_once_archive_what_one_would,
    test_s_21_an_unknown_session_is_told,
    test_s_30_summaries_survive_a_sliding_window,
    test_what_strategies_leave,
)
from threadkeep_server.store.sql.store import open_store

__all__ = [
    "test_a_summary_is_a_turn_of_two_events_before_what_is_kept",
    "test_c_41_a_summary_that_is_none_leaves_all_as_it_was",
    "test_s_11_a_sliding_window_of_two_archives_three_of_five",
    "test_s_12_what_was_archived_is_still_found",
    "test_s_13_a_trigger_that_does_not_fire_changes_nothing",
    "test_s_14_nothing_to_do_is_no_error_and_no_change",
    "test_s_15_by_the_strategy_of_a_policy_the_same_is_done",
    "test_s_17_two_at_once_archive_what_one_would",
    "test_s_21_an_unknown_session_is_told",
    "test_s_30_summaries_survive_a_sliding_window",
    "test_what_strategies_leave",
]


@pytest.fixture
async def bench(url: str) -> AsyncIterator[Bench]:
    async with open_store(url, CODEC) as store:
        yield Bench(store=store)
