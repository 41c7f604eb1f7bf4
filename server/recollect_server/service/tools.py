"""Recall as tools that an agent offers to its model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..domain.model import Caller, SessionRef
from ..store.base import Store
from .memory import EventReader, MemoryService
from .ranked import RankedSearch
from .recall import RecallService


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as a model is told of it. `declared` False: the agent's own code calls it."""

    name: str
    description: str
    parameters_json_schema: str
    declared: bool = True


class ToolResult(NamedTuple):
    """JSON text of an object. `is_error`: the arguments were wrong, and the result says how."""

    result_json: str
    is_error: bool = False


class RecallTools:
    """The tools, run for a session and its user."""

    def __init__(
        self,
        store: Store,
        recall: RecallService,
        ranked: RankedSearch,
        memory: MemoryService,
        reader: EventReader,
    ) -> None:
        self._store = store
        self._recall = recall
        self._ranked = ranked
        self._memory = memory
        self._reader = reader

    def definitions(self) -> Sequence[ToolDefinition]:
        """Every tool."""
        raise NotImplementedError

    async def call(self, caller: Caller, ref: SessionRef, name: str, arguments_json: str) -> ToolResult:
        """Raises InvalidField("name") for an unknown tool, InvalidField for the session, MemoryNotConfigured for load_memory,
        SessionNotFound and AmbiguousSession for conversation_search, PermissionDenied."""
        raise NotImplementedError
