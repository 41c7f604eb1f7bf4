"""Validation of the options of triggers and strategies."""

from __future__ import annotations

from ..domain.errors import InvalidField


def at_least(least: int, field: str, value: int) -> None:
    if value < least:
        raise InvalidField(field, f"must be at least {least}")


def not_blank(field: str, value: str) -> None:
    if not value.strip():
        raise InvalidField(field, "must not be blank")
