"""The recall tools: search and memory as tools for a model."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Protocol

from ...domain.errors import InvalidField, MemoryNotConfigured, SessionNotFound
from ...domain.filters import EventFilter
from ...domain.memories import MemoryScope
from ...domain.model import Caller, Role, SessionRef, StoredEvent
from ...domain.scopes import UserScope
from ...domain.search import SearchMode
from ...store.contract.events import EventQuery, EventStore
from ...store.contract.search import SearchQuery
from ...store.contract.sessions import SessionStore
from ..access import own_ref
from ..memory.memories import EventReader, MemoryService
from ..memory.memory_search import FoundMemory, MemoryQuery
from ..search.literal_search import LiteralSearch
from ..search.ranked_search import RankedQuery, RankedSearch
from .tool_schemas import Declared, Flag, Ignored, Number, PageNumber, Parameters, Text, WrongArguments

MOST_TEXT = 2_000
_MOST_NEIGHBOR_TEXT = 500
# Characters of a user's text that are searched for.
_MOST_ASKED = 4_000
_MOST_TERMS = 20
_OF_MEMORY = ("load_memory", "preload_memory")
_LEAD = "Relevant prior context:"


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """The declaration of a tool. `declared` False: for the agent's own code, not for a model."""

    name: str
    description: str
    parameters_json_schema: str
    declared: bool = True


class ToolResult(NamedTuple):
    """JSON text of an object. `is_error`: the result describes invalid arguments."""

    result_json: str
    is_error: bool = False


_Run = Callable[[Caller, SessionRef, Mapping[str, Any]], Awaitable[dict[str, Any]]]
# The text of the published tool, which models know.
_NO_RESULTS = "No results found."


class ToolStore(SessionStore, EventStore, Protocol):
    """The part of the store that the tools use."""


class RecallTools:
    """Runs the tools for a session and its user."""

    def __init__(
        self, store: ToolStore, literal: LiteralSearch, ranked: RankedSearch, memory: MemoryService, reader: EventReader
    ) -> None:
        self._store = store
        self._literal = literal
        self._ranked = ranked
        self._memory = memory
        self._reader = reader
        runs: Sequence[_Run] = (self._load_memory, self._preload_memory, self._conversation, self._cross_session)
        self._tools = {tool.name: (tool, run) for tool, run in zip(_declared(ranked.best_mode), runs, strict=True)}

    def definitions(self) -> Sequence[ToolDefinition]:
        """Returns the tools; those of memory only if memory is enabled."""
        return [
            ToolDefinition(tool.name, tool.description, tool.schema(), tool.declared)
            for tool, _ in self._tools.values()
            if self._memory.enabled or tool.name not in _OF_MEMORY
        ]

    async def call(self, caller: Caller, ref: SessionRef, name: str, arguments_json: str) -> ToolResult:
        """Runs a tool. Raises InvalidField("name") for an unknown tool, InvalidField for the session, MemoryNotConfigured for
        load_memory, SessionNotFound and AmbiguousSession for conversation_search, PermissionDenied."""
        if name not in self._tools:
            raise InvalidField("name", f"must be one of {', '.join(self._tools)}")
        ref = own_ref(caller, ref)
        tool, run = self._tools[name]
        try:
            result = await run(caller, ref, tool.arguments(arguments_json))
        except WrongArguments as wrong:
            return ToolResult(json.dumps({"error": str(wrong)}, ensure_ascii=False), is_error=True)
        return ToolResult(_written(result))

    # --- memory

    async def _load_memory(self, caller: Caller, ref: SessionRef, given: Mapping[str, Any]) -> dict[str, Any]:
        if not self._memory.enabled:
            raise MemoryNotConfigured
        who = await self._user_of(caller, ref)
        found = await self._memory.search(caller, MemoryQuery(who, given["query"]))
        return {"memories": [_memory_shown(entry) for entry in found.entries]}

    async def _preload_memory(self, caller: Caller, ref: SessionRef, given: Mapping[str, Any]) -> dict[str, Any]:
        """Returns an empty text if there is nothing."""
        nothing = {"text": ""}
        if not self._memory.enabled:
            return nothing
        try:
            who = await self._user_of(caller, ref)
            requested = given["text"] if given["text"] is not None else await self._last_said(caller, ref)
        except SessionNotFound:
            return nothing
        query = MemoryQuery(who, requested[:_MOST_ASKED], top_k=given["max_entries"])
        found = (await self._memory.search(caller, query)).entries
        if not found:
            return nothing
        bullets = [f"- {_cut(' '.join(entry.memory.draft.text.split()))}" for entry in found]
        return {"text": "\n".join([_LEAD, *bullets]), "memories": len(bullets)}

    async def _last_said(self, caller: Caller, ref: SessionRef) -> str:
        """Returns the text of the user's last event; empty without one."""
        if not ref.session_id:
            return ""
        wanted = EventFilter(roles=frozenset({Role.USER}), exclude_synthetic=True)
        page = await self._store.list_events(caller.tenant, ref, EventQuery(wanted, descending=True, limit=1))
        return self._reader.show(page.events[0].body).text if page.events else ""

    async def _user_of(self, caller: Caller, ref: SessionRef) -> MemoryScope:
        """Returns the app and user, those of the session if only its id is known. Raises InvalidField, SessionNotFound."""
        if ref.is_bare and ref.session_id:
            ref = (await self._store.get_session(caller.tenant, ref)).ref
        if not ref.user_id:
            raise InvalidField("session.user_id", "is required")
        return MemoryScope(ref.app, ref.user_id)

    # --- the log

    async def _conversation(self, caller: Caller, ref: SessionRef, given: Mapping[str, Any]) -> dict[str, Any]:
        if not ref.session_id:
            raise InvalidField("session.session_id", "is required")
        if not given["query"].strip():
            raise WrongArguments("query must not be blank")
        page, size = given["page"], given["page_size"]
        if given["mode"] == "substring":
            results, more, incomplete = await self._literal_page(caller, ref, given["query"], page, size)
        else:
            mode = SearchMode[given["mode"].upper()]
            query = RankedQuery(ref, given["query"], mode, limit=size, offset=page * size, neighbors=1, include_synthetic=True)
            found = await self._ranked.search(caller, query)
            results = [self._shown(hit.found.event, hit.found.before, hit.found.after) for hit in found.hits]
            more, incomplete = found.next_offset is not None, bool(found.unsearched)
        found_none = {} if results else {"message": _NO_RESULTS}
        return {"results": results, "page": page, "has_more": more} | found_none | _incomplete(incomplete)

    async def _literal_page(
        self, caller: Caller, ref: SessionRef, text: str, page: int, size: int
    ) -> tuple[list[dict[str, Any]], bool, bool]:
        """Returns a page of events with the text, oldest first, whether there are more, and whether it is incomplete."""
        query = SearchQuery(ref, EventFilter(keyword=text, page=page, page_size=size), limit=size)
        results: list[dict[str, Any]] = []
        while True:
            found = await self._literal.search(caller, query, neighbors=1)
            results += [self._shown(hit.event, hit.before, hit.after) for hit in found.hits]
            if found.incomplete:
                return results, False, True
            if found.cursor is None:
                break
            query = SearchQuery(query.scope, query.filter, query.limit, cursor=found.cursor)
        if len(results) < size:
            return results, False, False
        beyond = SearchQuery(ref, EventFilter(keyword=text, page=(page + 1) * size, page_size=1), limit=1)
        return results, bool((await self._literal.search(caller, beyond)).hits), False

    async def _cross_session(self, caller: Caller, ref: SessionRef, given: Mapping[str, Any]) -> dict[str, Any]:
        who = await self._user_of(caller, ref)
        if not given["query"].strip():
            raise WrongArguments("query must not be blank")
        wanted = EventFilter(keywords=_terms(given["query"]), match_all=True) if given["all"] else EventFilter()
        query = RankedQuery(
            UserScope(who.user_id, who.app), given["query"], self._ranked.best_mode, wanted, limit=given["limit"]
        )
        found = await self._ranked.search(caller, query)
        return {
            "results": [
                {"session_id": hit.found.ref.session_id, **self._facts(hit.found.event, MOST_TEXT)} for hit in found.hits
            ],
            "has_more": found.next_offset is not None,
        } | _incomplete(bool(found.unsearched))

    def _shown(self, event: StoredEvent, before: Sequence[StoredEvent], after: Sequence[StoredEvent]) -> dict[str, Any]:
        return self._facts(event, MOST_TEXT) | {
            "before": [self._facts(each, _MOST_NEIGHBOR_TEXT) for each in before],
            "after": [self._facts(each, _MOST_NEIGHBOR_TEXT) for each in after],
        }

    def _facts(self, event: StoredEvent, most: int) -> dict[str, Any]:
        shown = self._reader.show(event.body)
        return {
            "event_id": shown.event_id,
            "seq": shown.seq,
            "author": shown.author,
            "role": shown.role.name.lower(),
            "time": rfc3339(shown.time),
            "text": _cut(shown.text, most),
        }


def _incomplete(incomplete: bool) -> dict[str, Any]:
    """What a result says if not everything was searched."""
    return {"incomplete": True} if incomplete else {}


def rfc3339(time: int) -> str:
    """Formats nanoseconds since 1970 as RFC 3339 in UTC, to the millisecond; empty outside the calendar."""
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=time // 1_000_000)
    except OverflowError:
        return ""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _memory_shown(entry: FoundMemory) -> dict[str, Any]:
    draft = entry.memory.draft
    shown: dict[str, Any] = {
        "id": draft.id,
        "author": draft.author,
        "time": rfc3339(entry.memory.time),
        "text": _cut(draft.text),
        "session_id": draft.session_id,
    }
    if draft.metadata_json and len(draft.metadata_json) <= MOST_TEXT:
        shown["metadata"] = json.loads(draft.metadata_json, parse_float=_finite)
    return shown | {"score": round(entry.score, 4)}


def _finite(digits: str) -> float | str:
    """Keeps a number such as 1e400, which is infinity as a float and not valid JSON, as text."""
    number = float(digits)
    return number if math.isfinite(number) else digits


def _written(result: Mapping[str, Any]) -> str:
    """Encodes JSON. Lone surrogates, which metadata may contain escaped, become question marks."""
    return json.dumps(result, ensure_ascii=False).encode("utf-8", "replace").decode()


def _cut(text: str, most: int = MOST_TEXT) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _terms(query: str) -> tuple[str, ...]:
    terms = tuple(term.strip() for term in query.split(",") if term.strip())
    if not terms:
        raise WrongArguments("query must hold words or phrases, with commas between")
    if len(terms) > _MOST_TERMS:
        raise WrongArguments(f"query must hold at most {_MOST_TERMS} words or phrases, with commas between")
    return terms


def _declared(best: SearchMode) -> Sequence[Declared]:
    """Returns the tools in the order in which RecallTools runs them."""
    modes = ["ranked", "substring", *(["hybrid"] if best is SearchMode.HYBRID else [])]
    explained = (
        "ranked: the events that answer a question or hold its keywords, best first. "
        "substring: the events that hold exactly this text, ignoring case, oldest first."
    )
    if best is SearchMode.HYBRID:
        explained += " hybrid: like ranked, and by meaning as well."
    conversation: Parameters = {
        "innerThought": Ignored("Why you search, in a sentence. It is not read."),
        "query": Text("What to look for: a question, keywords, or with mode substring the exact text.", required=True),
        "mode": Text(explained, choices=modes, default=best.name.lower()),
        "page": PageNumber("Which page of results, from 0."),
        "page_size": Number("Results in a page.", default=10, least=1, most=20),
    }
    return (
        Declared(
            "load_memory",
            "Searches what is remembered about the user from earlier conversations. Use it when the answer may depend on "
            "something the user said, preferred or decided before this conversation.",
            {"query": Text("What to look for in memory, as a question or keywords.", required=True)},
        ),
        Declared(
            "preload_memory",
            "Returns memories related to what the user has just said, as text to be put before the model's "
            "instructions. The agent calls it at the start of a turn.",
            {
                "max_entries": Number("Maximum number of memories.", default=5, least=1, most=50),
                "text": Text("What the user has just said. Default: the session's last user message.", most=200_000),
            },
            declared=False,
        ),
        Declared(
            "conversation_search",
            "Searches this conversation from its beginning, also what is no longer in your context, and its summaries. Each "
            "result comes with the messages right before and after it.",
            conversation,
        ),
        Declared(
            "cross_session_search",
            "Searches all conversations with this user, this one and earlier ones, word for word as they were held. Best "
            "results first.",
            {
                "query": Text("What to look for, as a question or keywords.", required=True),
                "limit": Number("Results at most.", default=10, least=1, most=20),
                "all": Flag(
                    "True: the query is a list of words or phrases with commas between, and only messages that hold every "
                    "one of them, ignoring case, are results."
                ),
            },
        ),
    )
