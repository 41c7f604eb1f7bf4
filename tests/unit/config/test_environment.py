"""Variables of the environment that are no settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from threadkeep_server.config.settings import ENV_PREFIX, ConfigError, foreign_variables, load_settings


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a configuration file."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("THREADKEEP_SERACH", "THREADKEEP_SEARCH_INDEX"),
        ("THREADKEEP_DATABSE_URL", "THREADKEEP_DATABASE_URL"),
        ("THREADKEEP_TOKNE", "THREADKEEP_TOKEN"),
        ("THREADKEEP_GRPC_PORT", "THREADKEEP_GRPC_ADDRESS"),
    ],
)
def test_a_misspelled_variable_is_refused_with_the_likely_name(
    monkeypatch: pytest.MonkeyPatch, variable: str, meant: str
) -> None:
    monkeypatch.setenv(variable, "hush")
    with pytest.raises(ConfigError) as refused:
        load_settings()
    assert refused.value.problems == [f"{variable} (environment): there is no such setting; did you mean {meant}?"]


def test_a_variable_that_resembles_no_setting_is_ignored_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THREADKEEP_XYZZY", "hush")
    load_settings()
    (line,) = [each for each in foreign_variables() if each.startswith("THREADKEEP_XYZZY ")]
    assert line.endswith("is set but is no setting, and is ignored; `threadkeep config` prints every setting")


def test_variables_of_settings_clients_and_tests_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in os.environ if each.upper().startswith(ENV_PREFIX)]:
        monkeypatch.delenv(name)
    clients = "ADDRESS TOKEN ALLOW_PLAINTEXT_TOKEN CA DEBUG MCP_USER MCP_TOKEN"
    tests = "REQUIRE_ALL LONG EXAMPLES KILLS SEED LANGUAGES SLOW_READER_S TEST_PG_BIN BENCH_FSYNC SHARED_DATA"
    for name in (*clients.split(), *tests.split()):
        monkeypatch.setenv(ENV_PREFIX + name.upper(), "1")
    monkeypatch.setenv("threadkeep_log_level", "info")
    load_settings()
    assert foreign_variables() == []


def test_the_variables_of_a_kubernetes_service_of_this_name_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    links = {
        "SERVICE_HOST": "10.0.0.1",
        "SERVICE_PORT": "7443",
        "SERVICE_PORT_GRPC": "7443",
        "PORT": "tcp://10.0.0.1:7443",
        "PORT_7443_TCP": "tcp://10.0.0.1:7443",
        "PORT_7443_TCP_ADDR": "10.0.0.1",
        "PORT_7443_TCP_PROTO": "tcp",
        "HTTP_SERVICE_HOST": "10.0.0.2",
        "HTTP_PORT": "tcp://10.0.0.2:7480",
    }
    for name, value in links.items():
        monkeypatch.setenv(ENV_PREFIX + name, value)
    load_settings()
    assert foreign_variables() == []
