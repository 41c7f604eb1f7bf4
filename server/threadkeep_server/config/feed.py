"""The settings of the feed, of subscriptions and of consumers; part of `config.Settings`."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from .types import Duration, Interval, normalize_url


class FeedSettings(BaseSettings):
    """See `config.Settings`."""

    feed_retention: Duration = Field(
        default=timedelta(days=7),
        description="How long a change can be resumed from. Events stay readable as long as their session lives. 0: for ever.",
    )
    feed_poll_interval: Interval = Field(
        default=timedelta(seconds=1),
        description="How often a server looks for changes that it was not told of, while somebody follows them.",
    )
    max_subscriptions: int = Field(default=20_000, ge=1, le=1_000_000, description="Most subscriptions on this server at once.")
    max_subscriptions_per_caller: int = Field(
        default=10_000,
        ge=1,
        le=1_000_000,
        description="Most of them of one caller: of one user, or of all callers of a tenant that are bound to no user.",
    )
    watch_heartbeat: Interval = Field(
        default=timedelta(seconds=15),
        description="Longest silence on a subscription: after it a checkpoint is sent. Less than what proxies take for idle.",
    )
    database_listen_url: str = Field(
        default="",
        repr=False,
        description="PostgreSQL for LISTEN, which needs a direct connection: give one where `database_url` is a PgBouncer. "
        "Empty: `database_url`.",
    )
    consumer_lease: Interval = Field(
        default=timedelta(seconds=15),
        description="How long a member of a consumer may be unheard of before its partitions are given to others.",
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
        """The URL in the form the store takes; empty if there is none of its own."""
        return normalize_url(self.database_listen_url) if self.database_listen_url else ""
