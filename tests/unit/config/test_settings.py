"""The settings: precedence, forms, faults by field, and nothing secret in what is shown."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from threadkeep_server.config.settings import ENV_PREFIX, MASK, ConfigError, Settings, load_settings, split_address
from threadkeep_server.config.types import masked_url, shown_duration

_DOC = Path(__file__).parents[3] / "docs" / "configuration.md"


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting from where the tests happen to run."""
    for name in (*Settings.model_fields, "config"):
        monkeypatch.delenv(ENV_PREFIX + name.upper(), raising=False)
    monkeypatch.chdir(tmp_path)


def _file(text: str, name: str = "threadkeep.toml") -> Path:
    path = Path(name)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


def _problem(config_file: Path | None = None, **flags: object) -> str:
    with pytest.raises(ConfigError) as caught:
        load_settings(config_file, **flags)
    return str(caught.value)


def test_the_defaults_are_the_documented_ones() -> None:
    settings = load_settings()
    assert settings.grpc_address == "127.0.0.1:7443"
    assert settings.http_address == "127.0.0.1:7480"
    assert settings.resolved_database_url == "sqlite:///data/threadkeep.db"
    assert settings.sqlite_synchronous == "FULL"
    assert settings.max_event_bytes == 16 * 1024 * 1024
    assert settings.max_response_bytes == 3_670_016
    assert settings.default_ttl == timedelta(days=60)
    assert set(settings.sources.values()) == {"default"}


def test_a_flag_beats_the_environment_beats_the_file_beats_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    _file("max_page_size = 11\nsqlite_readers = 11\nmax_batch_events = 11\n")
    monkeypatch.setenv("THREADKEEP_SQLITE_READERS", "22")
    monkeypatch.setenv("THREADKEEP_MAX_BATCH_EVENTS", "22")
    settings = load_settings(max_batch_events=33)
    assert (settings.max_page_size, settings.sqlite_readers, settings.max_batch_events) == (11, 22, 33)
    assert settings.postgres_pool_size == 8
    assert settings.sources["max_page_size"] == "file threadkeep.toml"
    assert settings.sources["sqlite_readers"] == "environment THREADKEEP_SQLITE_READERS"
    assert settings.sources["max_batch_events"] == "flag"
    assert settings.sources["postgres_pool_size"] == "default"


def test_a_flag_that_was_not_given_changes_nothing() -> None:
    assert load_settings(grpc_address=None).sources["grpc_address"] == "default"


def test_the_named_file_is_read_instead_of_the_one_in_the_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    _file("max_page_size = 1\n")
    _file("max_page_size = 2\n", "by-environment.toml")
    by_flag = _file("max_page_size = 3\n", "by-flag.toml")
    monkeypatch.setenv("THREADKEEP_CONFIG", "by-environment.toml")
    assert load_settings().max_page_size == 2
    assert load_settings(by_flag).max_page_size == 3


def test_an_empty_variable_is_unset_except_where_empty_means_something(monkeypatch: pytest.MonkeyPatch) -> None:
    _file('grpc_address = "127.0.0.1:1"\nhttp_address = "127.0.0.1:2"\n')
    monkeypatch.setenv("THREADKEEP_GRPC_ADDRESS", "")
    monkeypatch.setenv("THREADKEEP_HTTP_ADDRESS", "")
    settings = load_settings()
    assert (settings.grpc_address, settings.http_address) == ("127.0.0.1:1", "")


def test_settings_made_directly_read_neither_environment_nor_file(monkeypatch: pytest.MonkeyPatch) -> None:
    _file("max_page_size = 5\n")
    monkeypatch.setenv("THREADKEEP_MAX_PAGE_SIZE", "6")
    assert Settings(max_page_size=7).max_page_size == 7
    assert Settings().max_page_size == 1000


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        load_settings().max_page_size = 5


@pytest.mark.parametrize(
    ("form", "seconds"),
    [
        ("60d", 60 * 86_400),
        ("12h", 43_200),
        ("1h30m", 5400),
        ("250ms", 0.25),
        ("90", 90),
        (90, 90),
        ("P1DT1H", 90_000),
        ("0", 0),
    ],
)
def test_durations_have_many_forms(form: object, seconds: float) -> None:
    assert load_settings(default_ttl=form).default_ttl.total_seconds() == seconds


@pytest.mark.parametrize(
    ("duration", "shown"),
    [
        (timedelta(days=60), "60d"),
        (timedelta(minutes=90), "1h30m"),
        (timedelta(0), "0s"),
        (timedelta(milliseconds=1500), "1s500ms"),
    ],
)
def test_durations_are_shown_in_a_form_that_is_read(duration: timedelta, shown: str) -> None:
    assert shown_duration(duration) == shown
    assert load_settings(default_ttl=shown).default_ttl == duration


@pytest.mark.parametrize(("form", "size"), [("16MiB", 16 * 1024 * 1024), ("2 mb", 2_000_000), ("4096", 4096), (4096, 4096)])
def test_sizes_have_units(form: object, size: int) -> None:
    assert load_settings(max_event_bytes=form).max_event_bytes == size


@pytest.mark.parametrize(
    ("url", "resolved"),
    [
        ("sqlite:///a/b.db", "sqlite:///a/b.db"),
        ("SQLite:////a/b.db", "sqlite:////a/b.db"),
        ("memory://", "memory://"),
        (" Memory:// ", "memory://"),
        ("postgres://h/d", "postgresql+asyncpg://h/d"),
        ("postgresql://u:p@h:5432/d", "postgresql+asyncpg://u:p@h:5432/d"),
        ("postgresql+asyncpg://h/d", "postgresql+asyncpg://h/d"),
        ("postgres://h/d?a=1&sslmode=require", "postgresql+asyncpg://h/d?a=1&ssl=require"),
        ("postgresql:///d?host=/run/postgresql", "postgresql+asyncpg:///d?host=/run/postgresql"),
        ("postgresql://u:p@a:1,b/d?x=1", "postgresql+asyncpg://u:p@/d?host=a:1&host=b:5432&x=1"),
    ],
)
def test_database_urls_are_normalized(url: str, resolved: str) -> None:
    assert load_settings(database_url=url).resolved_database_url == resolved


@pytest.mark.parametrize(
    "url",
    ["memory", "memory:", "memory:///", "memory://x", "memory://:memory:", "mysql://h/d",
     "threadkeep.db", "sqlite://", "sqlite:///:memory:", "sqlite:///", "postgresql://h", "postgresql://u:p/w@h/d",
     "postgresql://u:1/secret@h/d", "postgresql+psycopg://h/d", "postgresql://h:99999999/d",
     "postgresql://a,b", "postgresql://a,/d", "postgresql://a,b:0/d", "postgresql://a,[::1]:5432/d"],
)  # fmt: skip
def test_an_invalid_database_url_is_refused_without_printing_it(url: str) -> None:
    problem = _problem(database_url=url)
    assert problem.startswith("database_url (from flag): must ")
    assert "secret" not in problem


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql+asyncpg://u:p@h:1/d", f"postgresql+asyncpg://u:{MASK}@h:1/d"),
        ("postgresql+asyncpg://u@h/d", "postgresql+asyncpg://u@h/d"),
        ("postgresql://u:p@a:1,b:2/d", f"postgresql://u:{MASK}@a:1,b:2/d"),
        ("postgresql+asyncpg:///d?host=/tmp&password=p&a=1", f"postgresql+asyncpg:///d?host=/tmp&password={MASK}&a=1"),
        ("sqlite:///a/b.db", "sqlite:///a/b.db"),
    ],
)
def test_the_database_password_is_masked(url: str, shown: str) -> None:
    assert masked_url(url) == shown


def test_neither_output_nor_repr_contains_a_secret() -> None:
    tokens = {"tok-hush-0123456789": {"tenant": "acme", "user_id": "ann"}}
    model = {"summarizer_api_key": "sk-hush", "summarizer_base_url": "https://u:hush@h/v1"}
    settings = load_settings(None, database_url="postgres://u:hush@h/d", auth_tokens=tokens, **model)
    public = settings.public()
    assert "hush" not in json.dumps(public) + repr(settings) + str(settings)
    assert public["auth_tokens"] == [{"token": MASK, "tenant": "acme", "user_id": "ann"}]
    assert (public["summarizer_api_key"], public["summarizer_base_url"]) == (MASK, f"https://u:{MASK}@h/v1")
    assert set(public) == set(Settings.model_fields)


def test_printed_settings_parse_to_the_same_settings() -> None:
    settings = load_settings(default_ttl="36h", max_batch_bytes="40MiB", http_address="")
    shown = {name: value for name, value in settings.public().items() if name != "auth_tokens"}
    again = load_settings(None, **shown)
    assert again.public() == settings.public()


def test_tokens_come_from_the_environment_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THREADKEEP_AUTH_TOKENS", '{"tok-1-0123456789": {"tenant": "acme"}}')
    settings = load_settings()
    assert settings.auth_tokens["tok-1-0123456789"].tenant == "acme"
    assert settings.auth_tokens["tok-1-0123456789"].user_id is None


def test_tokens_of_the_tokens_file_are_added(tmp_path: Path) -> None:
    tokens = _file('tok-2-0123456789 = {tenant = "acme", user_id = "ann"}\n', "tokens.toml")
    _file('auth_tokens_file = "tokens.toml"\n[auth_tokens]\ntok-1-0123456789 = {tenant = "umbrella"}\n')
    settings = load_settings()
    tenants = {token: each.tenant for token, each in settings.auth_tokens.items()}
    assert tenants == {"tok-1-0123456789": "umbrella", "tok-2-0123456789": "acme"}
    assert settings.sources["auth_tokens"] == "file threadkeep.toml, file tokens.toml"
    tokens.write_text('tok-1-0123456789 = {tenant = "acme"}\n', encoding="utf-8")
    assert "keep each in one place" in _problem()


@pytest.mark.parametrize(
    "tokens",
    [
        {"tok-hush": {}},
        {"tok-hush": {"tenant": ""}},
        {"tok-hush": {"tenant": "t", "who": "x"}},
        {"tok-hush": "acme"},
        {" ": {"tenant": "t"}},
    ],
)
def test_a_wrong_token_entry_is_reported_without_the_token(tokens: dict[str, object]) -> None:
    problem = _problem(auth_tokens=tokens)
    assert problem.startswith("auth_tokens (from flag): ")
    assert "the form is token = {tenant" in problem
    assert "hush" not in problem


def test_tokens_that_are_not_json_are_reported_without_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THREADKEEP_AUTH_TOKENS", "hush")
    problem = _problem()
    assert problem.startswith("auth_tokens (from environment THREADKEEP_AUTH_TOKENS): must be JSON")
    assert "hush" not in problem


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("grpc_address", "7443", "must be host:port"),
        ("grpc_address", ":7443", "must be host:port"),
        ("grpc_address", "h:70000", "must be host:port"),
        ("grpc_address", "::1:7443", "in brackets"),
        ("grpc_address", "", "must not be empty"),
        ("http_address", "http://h:1", "must"),
        ("sqlite_synchronous", "OFF", "'NORMAL', 'FULL' or 'EXTRA'"),
        ("sqlite_readers", 0, "greater than or equal to 1"),
        ("postgres_pool_size", "many", "valid integer"),
        ("max_event_bytes", "0", "greater than or equal to 1024"),
        ("max_event_bytes", "16 gallons", "a size such as 16MiB"),
        ("max_batch_events", -1, "greater than or equal to 1"),
        ("max_page_size", 0, "greater than or equal to 1"),
        ("default_ttl", "soon", "a form such as 60d"),
        ("default_ttl", -1, "must not be negative"),
        ("sweep_interval", 0, "must be more than 0"),
        ("sweep_interval", "P", "too short"),
        ("log_level", "loud", "'debug', 'info', 'warning' or 'error'"),
        ("log_format", "xml", "'text' or 'json'"),
        ("reflection", "perhaps", "valid boolean"),
        ("context_bytes", 0, "greater than or equal to 1024"),
        ("compaction_workers", 0, "greater than or equal to 1"),
        ("summarizer", "oracle", "'openai' or 'anthropic'"),
        ("summarizer_timeout", 0, "must be more than 0"),
        ("summarizer_attempts", 11, "less than or equal to 10"),
        ("summarizer_tokens_per_hour", -1, "greater than or equal to 0"),
        ("jwt_issuer", "http://issuer.example", "begins with https://"),
        ("jwt_keys_url", "file:///etc/passwd", "begins with https://"),
        ("jwt_algorithms", "RS256,HS256", "must be some of RS256"),
        ("jwt_algorithms", "none", "must be some of RS256"),
        ("jwt_leeway", "1h", "less than or equal to"),
    ],
)
def test_a_wrong_value_is_reported_with_its_field_source_and_remedy(name: str, value: object, says: str) -> None:
    problem = _problem(None, **{name: value})
    assert problem.startswith(f"{name} (from flag): ")
    assert says in problem


def test_a_wrong_key_or_address_is_reported_without_its_value() -> None:
    for name in ("summarizer_api_key", "summarizer_base_url"):
        assert "hush" not in _problem(None, **{name: ["hush"]})


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(grpc_address="x", log_level="y", default_ttl="z")
    assert [each.split(" ")[0] for each in caught.value.problems] == ["grpc_address", "default_ttl", "log_level"]


def test_limits_that_contradict_each_other_are_refused() -> None:
    assert _problem(max_event_bytes="33MiB").startswith("max_batch_bytes: must be at least max_event_bytes")
    assert _problem(max_pending_bytes="1MiB").startswith("max_pending_bytes (from flag): must be at least max_batch_bytes")
    assert "must differ from grpc_address" in _problem(grpc_address="h:1", http_address="h:1")
    load_settings(grpc_address="127.0.0.1:0", http_address="127.0.0.1:0")


def test_an_unknown_setting_is_refused_with_the_likely_name() -> None:
    _file("databse_url = 'x'\n")
    assert _problem() == "databse_url (from file threadkeep.toml): there is no such setting; did you mean database_url?"
    Path("threadkeep.toml").unlink()
    assert "`threadkeep config`" in _problem(quux=1)


def test_an_unusable_config_file_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "there is no file 'no.toml'" in _problem(Path("no.toml"))
    assert "is not valid TOML" in _problem(_file("a b c"))
    Path("latin.toml").write_bytes(b"\xff")
    assert "is not UTF-8" in _problem(Path("latin.toml"))
    monkeypatch.setenv("THREADKEEP_CONFIG", "gone.toml")
    assert "there is no file 'gone.toml'" in _problem()


def test_addresses_split_into_host_and_port() -> None:
    assert split_address("127.0.0.1:0") == ("127.0.0.1", 0)
    assert split_address("[::1]:7443") == ("::1", 7443)


def test_every_setting_is_described_and_documented() -> None:
    text = _DOC.read_text(encoding="utf-8")
    shown = Settings().public()
    for name, field in Settings.model_fields.items():
        assert field.description, name
        default = "depends" if name == "log_format" else json.dumps(shown[name] if name != "database_url" else "")
        row = f"| `{name}` | `{ENV_PREFIX}{name.upper()}` | `{default}` | {field.description} |"
        assert row in text, f"docs/configuration.md lacks or differs in:\n{row}"


@pytest.mark.parametrize("name", ["summarizer", "embedder"])
def test_a_model_without_a_name_is_refused_in_one_line(name: str) -> None:
    wanted = f"{name}_model: must be set: {name} 'openai' needs the name of a model; set THREADKEEP_{name.upper()}_MODEL"
    assert _problem(None, **{name: "openai"}) == wanted
    load_settings(None, **{name: "openai", f"{name}_model": "small"})


@pytest.mark.parametrize("name", ["embedder", "reranker"])
def test_a_local_model_without_a_path_is_refused_in_one_line(name: str) -> None:
    wanted = f"{name}_path: must be set: {name} 'onnx' needs a directory; set THREADKEEP_{name.upper()}_PATH"
    assert _problem(None, **{name: "onnx"}) == wanted
    load_settings(None, **{name: "onnx", f"{name}_path": "model"})


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:hush@h:1/d?sslmode=require", f"postgresql://u:{MASK}@h:1/d?sslmode=require"),
        ("postgres://h/d", "postgres://h/d"),
        ("postgresql+asyncpg://u@h/d", "postgresql+asyncpg://u@h/d"),
        ("sqlite:////tmp/x.db", "sqlite:////tmp/x.db"),
        ("", "sqlite:///data/threadkeep.db"),
    ],
)
def test_a_database_url_is_shown_as_it_was_written(url: str, shown: str) -> None:
    settings = load_settings(database_url=url)
    assert settings.shown_database_url == settings.public()["database_url"] == shown
