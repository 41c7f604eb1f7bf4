"""The server's settings: one frozen object from flags, environment, file and defaults, in that order of precedence.

The environment variable of a field is `THREADKEEP_` and its name in capitals. The file is TOML with the field names as keys:
the file of the flag or of `THREADKEEP_CONFIG`, otherwise `threadkeep.toml` in the working directory if it exists. An unknown
variable is rejected if it resembles a setting; otherwise it is ignored with a warning.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from .access import RANDOM_HEX
from .compaction import CompactionSettings
from .connections import ConnectionSettings
from .database import DatabaseSettings
from .encryption import EncryptionSettings
from .environment import ENV_PREFIX, unknown_variables
from .feed import FeedSettings
from .files import ConfigError, exposed, home, is_there, read_toml
from .identity import IdentitySettings
from .quotas import QuotaSettings
from .reranker import RerankerSettings
from .retention import RetentionSettings
from .search import SearchSettings
from .telemetry import TelemetrySettings
from .types import (
    IN_MEMORY,
    MASK,
    Bytes,
    Duration,
    Interval,
    Principal,
    lower,
    masked_url,
    normalize_url,
    shown_duration,
    split_address,
    upper,
)

__all__ = [
    "DEFAULT_FILE",
    "ENV_PREFIX",
    "MASK",
    "ConfigError",
    "Principal",
    "Settings",
    "foreign_variables",
    "load_settings",
    "split_address",
]

DEFAULT_FILE = "threadkeep.toml"
_MIB = 1024 * 1024
# Components with a model endpoint.
_ENDPOINTS = ("summarizer", "embedder", "reranker")
_SECRETS = {
    "auth_tokens",
    "database_url",
    "database_listen_url",
    "database_read_url",
    *(f"{name}_api_key" for name in _ENDPOINTS),
}
_SECRETS |= {f"{name}_base_url" for name in _ENDPOINTS}
# What a file must not show to other users. Passwords in URLs are left to the owner of the file: many name no secret.
_SECRETS_OF_FILES = {"auth_tokens", *(f"{name}_api_key" for name in _ENDPOINTS)}
_EMPTY_MEANS_SOMETHING = frozenset({"http_address", "admin_address", "database_url"})


def _default_log_format() -> Literal["text", "json"]:
    return "text" if sys.stderr is not None and sys.stderr.isatty() else "json"


class Settings(
    ConnectionSettings,
    DatabaseSettings,
    FeedSettings,
    SearchSettings,
    RerankerSettings,
    CompactionSettings,
    IdentitySettings,
    EncryptionSettings,
    QuotaSettings,
    RetentionSettings,
    TelemetrySettings,
):
    """Every setting of the server. `load_settings` creates it; the constructor reads neither environment nor file."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, frozen=True, extra="forbid", validate_default=True, hide_input_in_errors=True
    )

    data_dir: Path = Field(
        default=Path("data"), description="Directory of the SQLite file, created at start; relative to the working directory."
    )
    database_url: str = Field(
        default="",
        repr=False,
        description="The database: `sqlite:///path` or `postgresql://user:password@host:port/database`, also with "
        "several hosts as in `host1:5432,host2:5432`, of which the primary is used; or "
        "`memory://` for tests and demos: nothing survives a restart. "
        "Empty: the SQLite file `threadkeep.db` inside `data_dir`.",
    )
    sqlite_synchronous: Annotated[Literal["NORMAL", "FULL", "EXTRA"], BeforeValidator(upper)] = Field(
        default="FULL",
        description="SQLite's `synchronous`: with FULL and EXTRA an acknowledged append survives a power cut; with NORMAL it "
        "survives a crash of the server only.",
    )
    sqlite_readers: int = Field(default=4, ge=1, le=64, description="SQLite connections for reads, next to the one for writes.")
    postgres_pool_size: int = Field(
        default=8,
        ge=2,
        le=1000,
        description="Most connections to PostgreSQL from this server, of which reads leave two to writes.",
    )
    row_security: bool = Field(
        default=False,
        description="Have PostgreSQL itself restrict the statements of each call to the rows of its tenant (row-level "
        "security). The database's user must own the tables and have neither SUPERUSER nor BYPASSRLS.",
    )
    max_event_bytes: Bytes = Field(
        default=16 * _MIB, le=512 * _MIB, description="Largest encoded event, in bytes (`16MiB` is a form)."
    )
    max_batch_events: int = Field(default=1000, ge=1, le=100_000, description="Most events in one append.")
    max_batch_bytes: Bytes = Field(
        default=32 * _MIB, le=1024 * _MIB, description="Largest append, in bytes of its events. At least `max_event_bytes`."
    )
    max_page_size: int = Field(
        default=1000, ge=1, le=100_000, description="Most items in one page; a larger `page_size` is reduced to it."
    )
    max_response_bytes: Bytes = Field(
        default=3_670_016,
        le=512 * _MIB,
        description="Bytes at which a page ends early, 3.5 MiB by default: gRPC clients reject messages above 4 MiB by "
        "default. A single larger event is still returned, alone.",
    )
    max_pending_bytes: Bytes = Field(
        default=64 * _MIB,
        description="Bytes of appends that are not committed yet; above it callers wait. At least `max_batch_bytes`.",
    )
    default_ttl: Duration = Field(
        default=timedelta(days=60),
        description="Time to live of a session without an expiry of its own. 0: sessions do not expire.",
    )
    sweep_interval: Interval = Field(
        default=timedelta(seconds=60), description="Time between two deletions of expired sessions and memories."
    )
    sweep_hold: Duration = Field(
        default=timedelta(hours=24),
        description="How long expired sessions and memories are kept when the clock may be wrong: it moved by hours, nothing "
        "was stored for a day before the start, or more than a tenth of the sessions (and more than 1,000) expired at once. 0: "
        "not at all.",
    )
    search_index: bool = Field(
        default=True,
        description="Keep a trigram index for substring search. Off: searches scan, as far as `search_scan_bytes` and "
        "`search_scan_time` allow.",
    )
    drain_grace: Duration = Field(
        default=timedelta(seconds=10), description="Time for calls in flight to finish after SIGTERM, before they are canceled."
    )
    log_level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(lower)] = Field(
        default="info", description="Least severe log level that is written: debug, info, warning or error."
    )
    log_format: Annotated[Literal["text", "json"], BeforeValidator(lower)] = Field(
        default_factory=_default_log_format,
        description="Log lines on standard error: `text` or `json`. Default: text on a terminal, otherwise json.",
    )

    _sources: dict[str, str] = PrivateAttr(default_factory=dict)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)

    @field_validator("data_dir")
    @classmethod
    def _home(cls, value: Path) -> Path:
        return home(value)

    @field_validator("database_url")
    @classmethod
    def _database_url(cls, value: str) -> str:
        value = value.strip()
        if value:
            normalize_url(value)
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        problems: list[str] = []
        if self.max_event_bytes > self.max_batch_bytes:
            problems.append("max_batch_bytes: must be at least max_event_bytes; raise it or lower max_event_bytes")
        if self.max_batch_bytes > self.max_pending_bytes:
            problems.append("max_pending_bytes: must be at least max_batch_bytes; raise it or lower max_batch_bytes")
        if problems:
            raise ConfigError(problems)
        return self

    @model_validator(mode="after")
    def _models(self) -> Self:
        for name in _ENDPOINTS:
            provider, variable = getattr(self, name), f"{ENV_PREFIX}{name.upper()}_MODEL"
            if provider == "onnx":
                if not getattr(self, f"{name}_path"):
                    variable = f"{ENV_PREFIX}{name.upper()}_PATH"
                    raise ConfigError([f"{name}_path: must be set: {name} 'onnx' needs a directory; set {variable}"])
            elif provider not in ("", "hashing") and not getattr(self, f"{name}_model"):
                raise ConfigError([f"{name}_model: must be set: {name} {provider!r} needs the name of a model; set {variable}"])
        return self

    @property
    def resolved_database_url(self) -> str:
        """The URL in the form of the store: `sqlite:///path`, `postgresql+asyncpg://...` or `memory://`."""
        return normalize_url(self.database_url or self._default_url)

    @property
    def in_memory(self) -> bool:
        """Whether sessions are stored in RAM only."""
        return self.resolved_database_url == IN_MEMORY

    @property
    def shown_database_url(self) -> str:
        """The URL as it was written, without the password."""
        return masked_url(self.database_url or self._default_url)

    @property
    def _default_url(self) -> str:
        return f"sqlite:///{self.data_dir / 'threadkeep.db'}"

    @property
    def sources(self) -> Mapping[str, str]:
        """The source of each value: flag, environment variable, file or default."""
        return {name: self._sources.get(name, "default") for name in type(self).model_fields}

    def public(self) -> dict[str, object]:
        """Returns every value as JSON types, without tokens, keys and passwords."""
        values: dict[str, object] = {name: _shown(getattr(self, name)) for name in type(self).model_fields}
        values["database_url"] = self.shown_database_url
        bound = (principal.model_dump(exclude_defaults=True) for principal in self.auth_tokens.values())
        values["auth_tokens"] = [{"token": MASK, **each} for each in bound]
        for name in ("encryption_key", *(f"{name}_api_key" for name in _ENDPOINTS)):
            values[name] = MASK if getattr(self, name) else ""
        for name in ("database_listen_url", "database_read_url", *(f"{name}_base_url" for name in _ENDPOINTS)):
            values[name] = masked_url(getattr(self, name))
        return values


def load_settings(config_file: Path | None = None, **flags: object) -> Settings:
    """Returns the settings of this process. A flag of None is not set. Raises ConfigError."""
    if misspelt := unknown_variables(os.environ, Settings.model_fields).misspelt:
        raise ConfigError(misspelt)
    path = _config_path(config_file)
    in_file = {} if path is None else read_toml(path, "config file")
    _refuse_unknown(in_file, f"file {path}")
    in_flags = {name: value for name, value in flags.items() if value is not None}
    _refuse_unknown(in_flags, "flag")
    in_environment = _environment()
    sources = dict.fromkeys(in_file, f"file {path}")
    sources |= {name: f"environment {ENV_PREFIX}{name.upper()}" for name in in_environment}
    sources |= dict.fromkeys(in_flags, "flag")
    given = {**in_file, **in_environment, **in_flags}
    settings = _checked(given, sources)
    if path is not None and in_file.keys() & _SECRETS_OF_FILES and (problem := exposed(path)):
        raise ConfigError([f"config file: {problem}"])
    if settings.auth_tokens_file is not None:
        return _with_tokens_of(settings.auth_tokens_file, settings, given, sources)
    if "auth_tokens" in given and not settings.auth_tokens:
        raise ConfigError([_located("auth_tokens: must contain a token; remove it to admit every caller", sources)])
    return settings


def _with_tokens_of(path: Path, settings: Settings, given: dict[str, Any], sources: dict[str, str]) -> Settings:
    """Returns the settings with the tokens of the file. Raises ConfigError, also for a file without tokens: the server would
    admit every caller."""
    tokens = read_toml(path, "auth_tokens_file")
    if not tokens:
        raise ConfigError([f"auth_tokens_file: there is no token in {str(path)!r}; make one with {RANDOM_HEX}"])
    if problem := exposed(path):
        raise ConfigError([f"auth_tokens_file: {problem}"])
    if twice := len(tokens.keys() & settings.auth_tokens.keys()):
        raise ConfigError([f"auth_tokens_file: {twice} of its tokens are in auth_tokens too; keep each in one place"])
    sources["auth_tokens"] = ", ".join(filter(None, (sources.get("auth_tokens"), f"file {path}")))
    return _checked({**given, "auth_tokens": {**settings.auth_tokens, **tokens}}, sources)


def foreign_variables() -> list[str]:
    """Returns one line per ignored THREADKEEP_ variable of the environment: those that do not resemble a setting."""
    return unknown_variables(os.environ, Settings.model_fields).foreign


def _checked(values: dict[str, Any], sources: dict[str, str]) -> Settings:
    try:
        settings = Settings(**values)
    except ConfigError as error:
        raise ConfigError([_located(problem, sources) for problem in error.problems]) from None
    except ValidationError as error:
        raise ConfigError([_problem(dict(each), values, sources) for each in error.errors()]) from None
    settings._sources = sources  # noqa: SLF001
    return settings


def _located(problem: str, sources: Mapping[str, str]) -> str:
    name, _, text = problem.partition(":")
    return f"{name} (from {sources[name]}):{text}" if name in sources else problem


def _problem(error: dict[str, Any], values: Mapping[str, object], sources: Mapping[str, str]) -> str:
    """Returns one line per error of pydantic. Tokens are keys of auth_tokens, so that location is never printed."""
    name = str(error["loc"][0])
    text = str(error["msg"]).removeprefix("Value error, ")
    text = text[0].lower() + text[1:]
    if name == "auth_tokens":
        inner = [str(each) for each in error["loc"][2:]]
        where = f" ({'.'.join(inner)} of a token)" if inner else ""
        text += (
            f'{where}; the form is token = {{tenant = "...", user_id = "...", roles = ["..."]}}, the last two being optional'
        )
    elif name not in _SECRETS and name in values:
        text += f"; it is {str(values[name])!r}"
    return _located(f"{name}: {text}", sources)


def _config_path(config_file: Path | None) -> Path | None:
    if config_file is not None:
        return home(config_file)
    if named := os.environ.get(f"{ENV_PREFIX}CONFIG"):
        return home(Path(named))
    path = Path(DEFAULT_FILE)
    return path if is_there(path, "config file") else None


def _refuse_unknown(values: Mapping[str, object], source: str) -> None:
    problems = []
    for name in values:
        if name not in Settings.model_fields:
            close = difflib.get_close_matches(name, Settings.model_fields, n=1)
            hint = f"did you mean {close[0]}?" if close else "`threadkeep config` prints every setting"
            problems.append(f"{name} (from {source}): there is no such setting; {hint}")
    if problems:
        raise ConfigError(problems)


def _environment() -> dict[str, Any]:
    """Returns the settings of the environment. An empty variable is not set, unless empty has a meaning."""
    try:
        found = EnvSettingsSource(Settings)()
    except SettingsError:
        name = f"{ENV_PREFIX}AUTH_TOKENS"
        raise ConfigError([f'auth_tokens (from environment {name}): must be JSON: {{"token": {{"tenant": "..."}}}}']) from None
    return {name: value for name, value in found.items() if value != "" or name in _EMPTY_MEANS_SOMETHING}


def _shown(value: object) -> object:
    if isinstance(value, timedelta):
        return shown_duration(value)
    if isinstance(value, dict):
        return {name: principal.model_dump(exclude_defaults=True) for name, principal in value.items()}
    return str(value) if isinstance(value, Path) else value
