"""The limit of calls in flight on a server, of all callers and front ends together."""

from __future__ import annotations

from typing import Final

from ..domain.errors import RateLimited


class CallLimit:
    """A context manager that each call enters."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0

    @property
    def count(self) -> int:
        """The calls in flight."""
        return self._count

    def __enter__(self) -> None:
        """Raises RateLimited if as many calls are in flight as the server allows."""
        if self._count >= self._most:
            raise RateLimited("calls_in_flight")
        self._count += 1

    def __exit__(self, *_: object) -> None:
        self._count -= 1


UNLIMITED: Final = CallLimit(1 << 62)
"""Limits nothing; for front ends of their own, as in tests."""
