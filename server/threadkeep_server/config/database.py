"""The settings of poolers and replicas of the database; part of `settings.Settings`."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from .types import Duration, normalize_url


class DatabaseSettings(BaseSettings):
    """Part of `settings.Settings`."""

    database_pooler: bool = Field(
        default=False,
        description="Whether `database_url` and `database_read_url` are of a pooler in transaction mode, such as PgBouncer: no "
        "statement is prepared for longer than one execution.",
    )
    database_read_url: str = Field(
        default="",
        repr=False,
        description="PostgreSQL URL of read replicas, also with several hosts: searches and long reads run there, and never "
        "miss what was acknowledged before. Empty: all reads use `database_url`.",
    )
    database_read_wait: Duration = Field(
        default=timedelta(milliseconds=100),
        description="How long a read waits for a replica that is behind; then it uses `database_url`.",
    )

    @field_validator("database_read_url")
    @classmethod
    def _read_url(cls, value: str) -> str:
        value = value.strip()
        if value and not normalize_url(value).startswith("postgresql"):
            raise ValueError("must begin with postgresql://; only PostgreSQL has replicas")
        return value

    @property
    def resolved_read_url(self) -> str:
        """The URL in the form of the store; empty if not set."""
        return normalize_url(self.database_read_url) if self.database_read_url else ""
