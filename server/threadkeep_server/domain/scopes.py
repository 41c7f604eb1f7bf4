"""Scopes of a search: one session, the sessions of a user, or the sessions of an app."""

from __future__ import annotations

from dataclasses import dataclass

from .model import SessionRef


@dataclass(frozen=True, slots=True)
class UserScope:
    """The sessions of a user: of one app, or (None) of all apps."""

    user_id: str
    app: str | None = None


@dataclass(frozen=True, slots=True)
class AppScope:
    """The sessions of an app, of every user."""

    app: str


EventScope = SessionRef | UserScope | AppScope
"""The sessions whose events are searched."""
