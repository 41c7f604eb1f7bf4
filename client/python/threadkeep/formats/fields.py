"""Fields of messages: their error, and times."""

from __future__ import annotations

from datetime import datetime


class FieldError(Exception):
    """A field of a message or a record is invalid. `field` is its path."""

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        self.problem = problem
        super().__init__(f"{field}: {problem}")


def time_of(value: object) -> datetime | None:
    """The time of a text in ISO 8601 with an offset; None for everything else."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None
