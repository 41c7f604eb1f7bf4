"""Each alert fires on what it is for and stays quiet otherwise, as promtool computes it from series of made-up values."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import NamedTuple

import yaml

from tests.support.servers.prometheus import ALERTS, program

AT = "40m"
CALLS = 'rpc_server_duration_seconds_count{{instance="a",rpc_method="GetSession",rpc_response_status_code="{}"}}'
PROVIDER = 'threadkeep_provider_duration_seconds_count{{instance="a",provider="embedder",outcome="{}"}}'
POOL = 'threadkeep_database_connections{{instance="a",state="{}"}}'
FILES = 'process_{}_fds{{job="threadkeep",instance="a"}}'

SUCCESS = 'threadkeep_retention_last_success_seconds{{job="threadkeep",instance="{}"}}'


class Case(NamedTuple):
    """Series of an alert by name: the values of an hour, a minute each, on which it fires, and those on which it does not."""

    fires: dict[str, str]
    rests: dict[str, str]


def value(series: str, fires: str, rests: str) -> Case:
    return Case({series: fires}, {series: rests})


def buckets(name: str, slow: float) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the buckets of a histogram, all of whose values are above `slow` or all below 0.001."""
    labels = ("0.001", f"{slow:g}", "10.0", "+Inf")
    above = {f'{name}_bucket{{instance="a",le="{le}"}}': "0+60x60" if le in labels[2:] else "0x60" for le in labels}
    return above, dict.fromkeys(above, "0+60x60")


CASES = {
    "ThreadkeepDown": value('up{job="threadkeep",instance="a"}', "1x30 0x30", "1x60"),
    "ThreadkeepDatabaseDown": value('threadkeep_up{instance="a"}', "1x30 0x30", "1x60"),
    "ThreadkeepRestarts": value('threadkeep_start_time_seconds{instance="a"}', "1x20 2x5 3x5 4x30", "1x20 2x5 3x35"),
    "ThreadkeepCallsFail": Case(
        {CALLS.format("OK"): "0+90x60", CALLS.format("UNAVAILABLE"): "0+5x60"},
        {CALLS.format("OK"): "0+90x60", CALLS.format("UNAVAILABLE"): "0+0.1x60", CALLS.format("NOT_FOUND"): "0+90x60"},
    ),
    "ThreadkeepInternalErrors": value(CALLS.format("INTERNAL"), "0x30 1x30", "0x60"),
    "ThreadkeepAppendsSlow": Case(*buckets("threadkeep_append_duration_seconds", 1.0)),
    "ThreadkeepCommitsFail": value('threadkeep_commit_failures_total{instance="a"}', "0x30 0+3x30", "7x60"),
    "ThreadkeepPoolExhausted": Case(
        {POOL.format("used"): "8x60", POOL.format("most"): "8x60"}, {POOL.format("used"): "5x60", POOL.format("most"): "8x60"}
    ),
    "ThreadkeepFeedStalled": value('threadkeep_feed_stalled_seconds{instance="a"}', "0x30 70x30", "0x30 20x30"),
    "ThreadkeepFeedBehind": value('threadkeep_feed_tail_lag_changes{instance="a"}', "20000x60", "0x38 20000x1 0x20"),
    "ThreadkeepIndexBehind": value('threadkeep_search_index_lag_batches{instance="a"}', "5000x60", "5000x20 0x40"),
    "ThreadkeepProviderFails": Case(
        {PROVIDER.format("ok"): "0+6x60", PROVIDER.format("failed"): "0+6x60"},
        {PROVIDER.format("ok"): "0+60x60", PROVIDER.format("failed"): "0+1x60"},
    ),
    "ThreadkeepCompactionsUnanswered": value(
        'threadkeep_compaction_requests_unanswered_total{instance="a"}', "0x30 2x30", "2x60"
    ),
    "ThreadkeepCallsRefused": value(
        'threadkeep_limited_calls_total{instance="a",limit="calls_in_flight"}', "0+600x60", "0+1x60"
    ),
    "ThreadkeepFailedLogins": value('threadkeep_failed_logins_total{instance="a"}', "0+600x60", "0+1x60"),
    "ThreadkeepAuditRecordsLost": value('threadkeep_audit_lost_records_total{instance="a"}', "0x35 3x25", "3x60"),
    "ThreadkeepSweepHeld": value('threadkeep_sweep_held{instance="a"}', "1x60", "0x35 1x5 0x20"),
    "ThreadkeepRetentionStopped": Case(
        {SUCCESS.format("a"): "-90000x60", SUCCESS.format("b"): "-100000x60"},
        {SUCCESS.format("a"): "0x60", SUCCESS.format("b"): "-100000x60"},
    ),
    "ThreadkeepEventLoopBlocked": Case(*buckets("threadkeep_event_loop_delay_seconds", 0.5)),
    "ThreadkeepFilesExhausted": Case(
        {FILES.format("open"): "900x60", FILES.format("max"): "1024x60"},
        {FILES.format("open"): "90x60", FILES.format("max"): "1024x60"},
    ),
}


def test_each_alert_fires_on_what_it_is_for_and_rests_otherwise(tmp_path: Path) -> None:
    alerts = [rule["alert"] for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
    assert sorted(CASES) == sorted(alerts)
    tests = [_test(alert, series, firing) for alert, case in CASES.items() for series, firing in zip(case, (1, 0), strict=True)]
    file = tmp_path / "tests.yaml"
    file.write_text(json.dumps({"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": tests}))
    done = subprocess.run([program("promtool"), "test", "rules", str(file)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def _test(alert: str, series: dict[str, str], firing: int) -> dict[str, object]:
    expected = [{"labels": "{}", "value": firing}] if firing else []
    fired = f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})'
    return {
        "name": f"{alert}: {firing}",
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [{"expr": fired, "eval_time": AT, "exp_samples": expected}],
    }
