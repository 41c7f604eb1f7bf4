"""The settings of retention, part of `settings.Settings`, and the file of its policies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings

from .files import ConfigError, exposed, home, read_toml
from .types import Interval

_WHAT = "retention_policies_file"
_FORM = (
    '[name] with action = "archive" or "delete", idle = "90d" or age = "365d", and conditions: see docs/operations/retention.md'
)
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_Names = tuple[Annotated[str, Field(min_length=1)], ...]


class RetentionSettings(BaseSettings):
    """Part of `settings.Settings`."""

    retention_policies_file: Path | None = Field(
        default=None,
        description="TOML file with the policies by which old sessions are archived and deleted: a table per policy, `[name]` "
        "with `action`, `idle` or `age`, and conditions. Requires `retention_archive`.",
    )
    retention_archive: str = Field(
        default="",
        description="Where archives and receipts are stored: a directory, or the URL of object storage such as "
        "`s3://bucket/prefix`, which requires the extra `archive`. It has no credentials: they come from "
        "`retention_storage_file` or the environment.",
    )
    retention_storage_file: Path | None = Field(
        default=None,
        description="TOML file with options of the object storage, such as `access_key_id`, `secret_access_key`, `region`, "
        "`endpoint` and `allow_http`. Other users must not be able to read it. Absent: the environment has them, as in "
        "`AWS_ACCESS_KEY_ID`.",
    )
    retention_interval: Interval = Field(
        default=timedelta(hours=1), description="Time between two runs of the retention policies; one server runs them."
    )
    retention_run_sessions: int = Field(
        default=1000, ge=1, le=1_000_000, description="Most sessions of a tenant that one run archives or deletes."
    )

    @field_validator("retention_policies_file", "retention_storage_file")
    @classmethod
    def _file(cls, value: Path | None) -> Path | None:
        return value if value is None else home(value)

    @model_validator(mode="after")
    def _retention(self) -> Self:
        if "://" in self.retention_archive and "@" in urlsplit(self.retention_archive).netloc:  # not shown: it has a secret
            advice = "put them into retention_storage_file or the environment"
            raise ConfigError([f"retention_archive: must not contain credentials; {advice}"])
        if self.retention_policies_file is not None and not self.retention_archive:
            raise ConfigError(["retention_archive: must be set with retention_policies_file; receipts are stored there"])
        return self


class PolicyEntry(BaseModel):
    """One table of the file. Empty conditions select all. `format`: of the archives."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    action: Literal["archive", "delete"]
    format: Literal["jsonl", "jsonl.gz", "parquet"] = "jsonl.gz"
    idle: Interval | None = None
    age: Interval | None = None
    tenants: _Names = ()
    apps: tuple[str, ...] = ()
    users: _Names = ()
    labels: dict[str, str] = {}
    keep: dict[str, str] = {}
    unsealed: bool = False

    @model_validator(mode="after")
    def _timed(self) -> Self:
        if self.idle is None and self.age is None:
            raise ValueError("needs idle or age")
        return self


def read_storage_options(path: Path | None) -> Mapping[str, str]:
    """Returns the options of the file as text. Raises ConfigError, which contains no values."""
    if path is None:
        return {}
    found = read_toml(path, "retention_storage_file")
    if problem := exposed(path):
        raise ConfigError([f"retention_storage_file: {problem}"])
    if bad := [name for name, value in found.items() if not isinstance(value, str | bool | int)]:
        raise ConfigError([f"retention_storage_file: {bad[0]}: must be text, a number, true or false"])
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in found.items()}


_ENTRIES = TypeAdapter(dict[str, PolicyEntry])


def read_policies(path: Path) -> Sequence[tuple[str, PolicyEntry]]:
    """Returns the policies of the file with their names, in its order. Raises ConfigError."""
    found = read_toml(path, _WHAT)
    if bad := [name for name in found if not _NAME.fullmatch(name)]:
        raise ConfigError([f"{_WHAT}: {bad[0]!r} is not a name of a policy: use up to 63 of a-z, 0-9, _ and -"])
    if not found:
        raise ConfigError([f"{_WHAT}: there is no policy in {str(path)!r}; the form is {_FORM}"])
    try:
        return list(_ENTRIES.validate_python(found).items())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        text = first["msg"].removeprefix("Value error, ").lower()
        raise ConfigError([f"{_WHAT}: {place}: {text}; the form is {_FORM}"]) from None
