"""The metrics of a running server after calls of every kind: all that are defined are there, and the store's count right."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.search.searching import ENGINES, serving
from tests.api.telemetry.pages import page, sample, samples
from tests.api.telemetry.traffic import TOKEN, run_traffic
from threadkeep_server.app.server import Running
from threadkeep_server.telemetry import definitions
from threadkeep_server.telemetry.instruments import Definition

ELSEWHERE = {
    "threadkeep_audit_lost_records_total",
    "threadkeep_retention_sessions_total",
    "threadkeep_retention_runs_total",
    "threadkeep_retention_last_success_seconds",
    "threadkeep_reranker_searches_total",
    "threadkeep_reranker_failures_total",
    "threadkeep_feed_tail_lag_changes",
    "threadkeep_open_connections",  # behind Envoy, the server knows only the ports of the settings
}
"""What this server, or a server at rest, does not have."""


@pytest.fixture(scope="module", params=ENGINES)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    tokens = {TOKEN: {"tenant": "hush-tenant"}}
    with serving(request.param, request, tmp_path_factory.mktemp("metrics"), embedder="hashing", auth_tokens=tokens) as server:
        run_traffic(server, "hush-session")
        yield server


def test_the_store_counts_what_it_wrote_and_refused(server: Running) -> None:
    found = samples(server, sample("threadkeep_compactions_total"), sample("threadkeep_sessions_deleted_total"))
    assert found[sample("threadkeep_appended_events_total")] == 4
    assert found[sample("threadkeep_append_replays_total")] == 1
    assert found[sample("threadkeep_append_conflicts_total", reason="EVENT_ID_CONFLICT")] == 1
    assert found[sample("threadkeep_append_conflicts_total", reason="VERSION_MISMATCH")] == 1
    assert found[sample("threadkeep_append_duration_seconds_count")] == 3
    assert found[sample("threadkeep_commit_group_size_sum")] >= 7, "appends, refused ones, a creation and a deletion"
    assert found[sample("threadkeep_sessions_created_total")] == 2
    assert found[sample("threadkeep_sessions_deleted_total")] == 1
    assert found[sample("threadkeep_compactions_total")] == 1
    assert found[sample("threadkeep_failed_logins_total")] == 1
    assert found[sample("threadkeep_database_stored_bytes")] > 10_000
    assert found[sample("threadkeep_database_connections", state="most")] >= 2
    assert found[sample("threadkeep_search_duration_seconds_count", of="events", mode="ranked")] == 1
    assert found[sample("threadkeep_provider_duration_seconds_count", provider="embedder", outcome="ok")] >= 1


def test_a_page_has_every_metric_and_no_name_of_a_caller(server: Running) -> None:
    text = page(server)
    defined = {each.prometheus_name for each in vars(definitions).values() if isinstance(each, Definition)}
    missing = {name for name in defined if f"# TYPE {name} " not in text}
    assert missing <= ELSEWHERE, "and those of nothing that happened"
    assert "hush" not in text
    assert len(text.splitlines()) < 3_000
