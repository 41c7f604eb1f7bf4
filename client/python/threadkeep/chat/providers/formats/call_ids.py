"""Unique ids of tool calls: some servers send none, or repeat them."""

from __future__ import annotations

import uuid


class CallIds:
    """The call ids of one answer. `answer_id`: the server's id of the answer; empty if there is none."""

    def __init__(self, answer_id: str = "") -> None:
        self._answer_id = answer_id
        self._used: set[str] = set()

    def of_answer(self, answer_id: str) -> None:
        """Sets the answer's id once it is known."""
        self._answer_id = self._answer_id or answer_id

    def unique(self, call_id: str) -> str:
        """Returns the server's id of the next call, or a new one if it is missing or already used."""
        self._answer_id = self._answer_id or uuid.uuid4().hex
        while not call_id or call_id in self._used:
            call_id = f"{call_id or self._answer_id}-{len(self._used)}"
        self._used.add(call_id)
        return call_id
