"""The dashboard and the alert rules against a running server, in a Prometheus that reads it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.api.conftest import running
from tests.api.telemetry.pages import page
from tests.api.telemetry.traffic import TOKEN, run_traffic
from tests.support.servers.prometheus import ALERTS, ROOT, Prometheus, scraping
from threadkeep_server.app.server import Running
from threadkeep_server.telemetry import definitions
from threadkeep_server.telemetry.instruments import Definition, Kind

DASHBOARD = ROOT / "deploy" / "grafana" / "dashboard.json"
RUNBOOK = ROOT / "docs" / "operations" / "runbook.md"
OF_THE_PROCESS = ("cpu_seconds_total", "resident_memory_bytes", "open_fds", "max_fds")
OF_PROMETHEUS = {"job", "instance", "le", "__name__"}
# What this server has no samples of: it refuses no call, runs no webhook and no consumer that compacts, and rests.
EMPTY = {"threadkeep_limited_calls_total", "threadkeep_feed_tail_lag_changes", "threadkeep_open_connections"}


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return [each for each in found if each["type"] != "row"]


def rules() -> list[dict[str, Any]]:
    [group] = yaml.safe_load(ALERTS.read_text())["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def expressions() -> dict[str, str]:
    """Returns the expressions of panels and alerts by their places, with Grafana's variables filled in."""
    found = {rule["alert"]: rule["expr"] for rule in rules()}
    for panel in panels():
        for target in panel["targets"]:
            expression = target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".*")
            found[f"{panel['title']} {target['refId']}"] = expression
    return found


def names_and_labels(expression: str) -> tuple[set[str], set[str]]:
    """Returns the metrics and the labels of an expression."""
    metrics = set(re.findall(r"\b(?:threadkeep|rpc|process)_\w+(?=[\s{\[)]|$)", expression))
    labels = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", expression))
    for grouped in re.findall(r"\b(?:by|ignoring|on|without)\s*\(([^)]*)\)", expression):
        labels |= {each.strip() for each in grouped.split(",")}
    return metrics - labels, labels


def defined() -> dict[str, set[str]]:
    """Returns the labels of every series that a server may have, by name."""
    found: dict[str, set[str]] = {}
    for each in vars(definitions).values():
        if isinstance(each, Definition):
            endings = ("_bucket", "_sum", "_count") if each.kind is Kind.HISTOGRAM else ("",)
            found |= {each.prometheus_name + ending: set(each.prometheus_labels) for ending in endings}
    return found | {f"process_{name}": set[str]() for name in OF_THE_PROCESS}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("dashboard")
    tokens = {TOKEN: {"tenant": "acme"}}
    (folder / "policies.toml").write_text('[old]\naction = "delete"\nidle = "90d"\n')
    retention = {"retention_policies_file": folder / "policies.toml", "retention_archive": str(folder / "archive")}
    settings = {"embedder": "hashing", "auth_tokens": tokens, "audit_log": str(folder / "audit"), **retention}
    with running(data_dir=folder / "data", **settings) as server:
        yield server


@pytest.fixture(scope="module")
def prometheus(server: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    run_traffic(server, "before")
    with scraping(server.http_port or 0, tmp_path_factory.mktemp("prometheus")) as prometheus:
        prometheus.wait_for('count_over_time(up{job="threadkeep"}[1m]) >= 2')
        run_traffic(server, "after")
        created = "increase(threadkeep_sessions_created_total[1m]) > 0"
        prometheus.wait_for(created)
        yield prometheus


@pytest.mark.parametrize("place", expressions())
def test_an_expression_names_metrics_and_labels_that_the_server_has(place: str) -> None:
    metrics, labels = names_and_labels(expressions()[place])
    known = defined()
    assert metrics <= known.keys() | {"up"}
    own = set().union(*(known[name] for name in metrics)) if metrics else set()
    assert labels <= own | OF_PROMETHEUS, "labels of its metrics"
    assert metrics or place == "ThreadkeepDown"


def test_every_panel_has_data_of_a_running_server(server: Running, prometheus: Prometheus) -> None:
    text, empty = page(server), []
    for panel in panels():
        found = False
        for target in panel["targets"]:
            expression = expressions()[f"{panel['title']} {target['refId']}"]
            result = prometheus.query(expression)
            found |= bool(result)
            metrics, _ = names_and_labels(expression)
            assert all(f"# TYPE {re.sub('_(bucket|sum|count)$', '', name)} " in text for name in metrics - EMPTY), expression
        if not found:
            empty.append(panel["title"])
    assert set(empty) <= {"Open connections"}, "which a server behind Envoy in a test does not count"


def test_every_alert_is_evaluated_and_none_fires_for_a_healthy_server(prometheus: Prometheus) -> None:
    found: dict[str, dict[str, Any]] = {}
    for _ in range(300):
        [group] = prometheus.get("rules", type="alert")["groups"]
        found = {rule["name"]: rule for rule in group["rules"]}
        if all(rule["health"] != "unknown" for rule in found.values()):
            break
        time.sleep(0.1)
    assert found.keys() == {rule["alert"] for rule in rules()}
    assert {rule["name"]: rule.get("lastError") for rule in found.values() if rule["health"] != "ok"} == {}
    assert [rule["name"] for rule in found.values() if rule["state"] == "firing"] == []


def test_the_runbook_has_an_entry_for_every_alert() -> None:
    headings = re.findall(r"^### (Threadkeep\w+)$", RUNBOOK.read_text(), re.MULTILINE)
    assert headings == [rule["alert"] for rule in sorted(rules(), key=lambda rule: headings.index(rule["alert"]))]
    for rule in rules():
        assert rule["annotations"]["runbook_url"] == f"docs/operations/runbook.md#{rule['alert'].lower()}"
        assert rule["labels"]["severity"] in ("critical", "warning")
