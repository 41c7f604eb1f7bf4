"""Ids of tool calls: results are told apart by them, and not every server gives them, or gives each only once."""

from __future__ import annotations

import uuid


class CallIds:
    """Of one answer. `answer_id`: what the server calls it; empty if it does not."""

    def __init__(self, answer_id: str = "") -> None:
        self._answer_id = answer_id
        self._used: set[str] = set()

    def of_answer(self, answer_id: str) -> None:
        """It has become known."""
        self._answer_id = self._answer_id or answer_id

    def unique(self, call_id: str) -> str:
        """The server's id for the next call, or for one that has none, or that of an earlier call, another."""
        self._answer_id = self._answer_id or uuid.uuid4().hex
        while not call_id or call_id in self._used:
            call_id = f"{call_id or self._answer_id}-{len(self._used)}"
        self._used.add(call_id)
        return call_id
