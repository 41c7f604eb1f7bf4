"""The error of a field of a message."""

from __future__ import annotations


class FieldError(Exception):
    """A field of a message or a record is invalid. `field` is its path."""

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        self.problem = problem
        super().__init__(f"{field}: {problem}")
