"""The settings of the feed, of subscriptions and of consumers; part of `settings.Settings`."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from .types import Duration, Interval, normalize_url


class FeedSettings(BaseSettings):
    """Part of `settings.Settings`."""

    feed_retention: Duration = Field(
        default=timedelta(days=7),
        description="How long subscriptions can resume from a change. Events stay readable while their session exists. "
        "0: always.",
    )
    feed_poll_interval: Interval = Field(
        default=timedelta(seconds=1),
        description="How often a server polls for changes without a notification, while there are subscriptions.",
    )
    feed_stall_alarm: Duration = Field(
        default=timedelta(seconds=10),
        description="How long committed changes may wait for an open transaction of the PostgreSQL cluster before the log "
        "names it. 0: it is not looked for.",
    )
    max_subscriptions: int = Field(default=20_000, ge=1, le=1_000_000, description="Most open subscriptions on this server.")
    max_subscriptions_per_caller: int = Field(
        default=10_000,
        ge=1,
        le=1_000_000,
        description="Most open subscriptions of one user, or of all callers of a tenant that are not bound to a user.",
    )
    watch_heartbeat: Interval = Field(
        default=timedelta(seconds=15),
        description="Longest time without a message on a subscription; then a checkpoint is sent. Must be less than the idle "
        "timeout of proxies.",
    )
    database_listen_url: str = Field(
        default="",
        repr=False,
        description="PostgreSQL URL for LISTEN and for creating the indexes of pgvector, which require a direct connection; "
        "set it if `database_url` is a PgBouncer. Empty: `database_url`.",
    )
    consumer_lease: Interval = Field(
        default=timedelta(seconds=15),
        description="How long a member of a consumer may be silent before its partitions are assigned to others.",
    )

    @field_validator("database_listen_url")
    @classmethod
    def _listen_url(cls, value: str) -> str:
        value = value.strip()
        if value and normalize_url(value).startswith("sqlite:"):
            raise ValueError("must begin with postgresql://; SQLite has no other server to listen to")
        return value

    @property
    def resolved_listen_url(self) -> str:
        """The URL in the form of the store; empty if not set."""
        return normalize_url(self.database_listen_url) if self.database_listen_url else ""
