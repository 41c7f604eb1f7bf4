"""The settings of the feed, of subscriptions and of consumers."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from threadkeep_server.config.feed import FeedSettings
from threadkeep_server.config.settings import ENV_PREFIX, MASK, ConfigError, Settings, load_settings


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting from where the tests happen to run."""
    for name in (*Settings.model_fields, "config"):
        monkeypatch.delenv(ENV_PREFIX + name.upper(), raising=False)
    monkeypatch.chdir(tmp_path)


def test_the_defaults_are_the_documented_ones() -> None:
    settings = load_settings()
    assert {name: settings.public()[name] for name in FeedSettings.model_fields} == {
        "feed_retention": "7d",
        "feed_poll_interval": "1s",
        "feed_stall_alarm": "10s",
        "max_subscriptions": 20_000,
        "max_subscriptions_per_caller": 10_000,
        "watch_heartbeat": "15s",
        "database_listen_url": "",
        "consumer_lease": "15s",
    }
    assert settings.resolved_listen_url == ""


def test_a_feed_may_be_kept_without_a_limit() -> None:
    assert load_settings(feed_retention=0).feed_retention == timedelta(0)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("feed_retention", -1, "must not be negative"),
        ("feed_poll_interval", 0, "must be more than 0"),
        ("watch_heartbeat", 0, "must be more than 0"),
        ("consumer_lease", "now", "a form such as 60d"),
        ("max_subscriptions", 0, "greater than or equal to 1"),
        ("max_subscriptions_per_caller", 0, "greater than or equal to 1"),
    ],
)
def test_a_wrong_value_is_reported_with_its_field_and_remedy(name: str, value: object, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(None, **{name: value})
    assert str(caught.value).startswith(f"{name} (from flag): ")
    assert says in str(caught.value)


def test_the_listen_url_is_normalized_like_the_database_url() -> None:
    settings = load_settings(database_listen_url=" postgres://u:p@h/d?sslmode=require ")
    assert settings.resolved_listen_url == "postgresql+asyncpg://u:p@h/d?ssl=require"


@pytest.mark.parametrize("url", ["sqlite:///hush.db", "mysql://u:hush@h/d", "postgresql://u:hush@h", ["hush"]])
def test_an_invalid_listen_url_is_refused_without_printing_it(url: object) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(database_listen_url=url)
    assert str(caught.value).startswith("database_listen_url (from flag): ")
    assert "hush" not in str(caught.value)


def test_the_password_of_the_url_to_listen_on_is_not_shown() -> None:
    settings = load_settings(database_listen_url="postgres://u:hush@h/d")
    public = settings.public()
    assert "hush" not in json.dumps(public) + repr(settings)
    assert public["database_listen_url"] == f"postgres://u:{MASK}@h/d"
