"""Literal search tools with the parameters and results of the published tools of these names (Spring AI Session).

The server searches for a literal substring after case folding, oldest first, including archived events and summaries.
`AsyncRecallTools` has ranked search.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from .... import AsyncClient
from ...._convert import session_ref
from ....errors import SessionNotFound
from ....filters import Filter, event_filter
from ....messages import text_of
from ....v1.message_pb2 import Role
from ....v1.search_service_pb2 import SearchHit
from ...runtime.arguments import check_sdk
from ...telemetry.log import warn
from ...tools.schema_tools import schema_tool
from ...tools.tool import Tool, ToolContext

NO_RESULTS = "No results found."
SESSION_KEYS = ("session", "chat_memory_session_id", "chat_memory_conversation_id")
"""Keys of the tool context, by priority, for the session of conversation_search. `.session(...)` sets "session"."""
MOST_TERMS = 20
_LAST_PAGE = 1_000_000
_THOUGHT = {"type": "string", "description": "Why you search, in a sentence. Nobody else sees it."}
_PAGE = {"type": ["integer", "null"], "description": "Which page of results, from 0, the default."}


class AsyncSearchTools:
    """Makes conversation_search and cross_session_search for a model: `.tools(searches.conversation_search())`.

    `page_size`: results per page. `strict`: without a session the model receives an error; otherwise a warning is logged and
    the session "default" is searched. Raises ValueError for a page size below 1, TypeError for a client of the other form.
    """

    def __init__(self, client: AsyncClient, *, page_size: int = 10, strict: bool = False) -> None:
        if page_size < 1:
            raise ValueError(f"page_size: at least 1, not {page_size}")
        check_sdk(client, "AsyncSearchTools")
        self._client = client
        self._page_size = page_size
        self._strict = strict

    def conversation_search(self) -> Tool:
        """Returns `conversation_search(innerThought, query, page?)`: a JSON list of `timestamp`, `type` and `text`, or "No
        results found.". It searches the session of the request's tool context, see SESSION_KEYS. `timestamp`: the event time,
        or else the record time."""
        shape = _object(
            {
                "innerThought": _THOUGHT,
                "query": {"type": "string", "description": "The words to look for, as they were said."},
                "page": _PAGE,
            }
        )
        about = "Searches all of this conversation, also what you no longer see, for an exact text, ignoring case."
        return schema_tool("conversation_search", shape, self._conversation, description=about)

    def cross_session_search(self, user_id: str | None = None) -> Tool:
        """Returns `cross_session_search(innerThought, query, matchMode?, since?, page?)`: a JSON list of `sessionId`,
        `timestamp`, `type` and `text`, or "No results found.", of the sessions of this user, default the client's.

        `query`: at most 20 texts separated by commas; `matchMode`: "any" or "all" of them. `since`: ISO 8601, UTC without an
        offset. Raises ValueError without a user.
        """
        whose = self._client.user_id if user_id is None else user_id
        if not whose.strip():
            raise ValueError("user_id: required to search the user's sessions; pass it here or to the client")
        shape = _object(
            {
                "innerThought": _THOUGHT,
                "query": {"type": "string", "description": f"Texts to look for, at most {MOST_TERMS}, separated by commas."},
                "matchMode": {
                    "type": ["string", "null"],
                    "description": 'Whether a message must hold "any" of the texts, the default, or "all" of them.',
                },
                "since": {"type": ["string", "null"], "description": "Only what was said then or later, as ISO 8601."},
                "page": _PAGE,
            }
        )

        async def run(values: dict[str, Any]) -> str:
            wanted = event_filter(
                keywords=_terms(values["query"]),
                match=_mode(values.get("matchMode")),
                from_time=_since(values.get("since")),
                page=_page(values.get("page")),
                page_size=self._page_size,
            )
            return await self._found(wanted, names_session=True, user_id=whose)

        about = "Searches all conversations with this user for exact texts, ignoring case."
        return schema_tool("cross_session_search", shape, run, description=about)

    async def _conversation(self, values: dict[str, Any], context: ToolContext) -> str:
        _check_query(values["query"])
        session = session_ref(self._session(context), self._client.app, context.values.get("user_id") or self._client.user_id)
        wanted = event_filter(keyword=values["query"], page=_page(values.get("page")), page_size=self._page_size)
        return await self._found(wanted, names_session=False, session=session)

    async def _found(self, wanted: Filter, *, names_session: bool, **where: Any) -> str:
        try:
            rows = [_row(hit.pb, names_session) async for hit in self._client.search("", filter=wanted, **where)]
        except SessionNotFound:
            return NO_RESULTS  # no message yet
        return json.dumps(rows, ensure_ascii=False) if rows else NO_RESULTS

    def _session(self, context: ToolContext) -> Any:
        session = next((context.values[key] for key in SESSION_KEYS if context.values.get(key)), None)
        if session is not None and str(session).strip():
            return session
        if self._strict:
            raise ValueError("there is no conversation to search: the request names no session")
        warn("conversation_search: the tool context names no session", searched="default")
        return "default"


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": ["innerThought", "query"]}


def _check_query(query: str) -> None:
    if not query.strip():
        raise ValueError("query must not be blank")


def _terms(query: str) -> list[str]:
    _check_query(query)
    terms = [term.strip() for term in query.split(",") if term.strip()]
    if not terms:
        raise ValueError("query must contain texts separated by commas")
    if len(terms) > MOST_TERMS:
        raise ValueError(f"query must contain at most {MOST_TERMS} texts, not {len(terms)}")
    return terms


def _mode(mode: str | None) -> str:
    chosen = (mode or "any").strip().lower()
    if chosen not in ("any", "all"):
        raise ValueError(f'matchMode must be "any" or "all", not {mode!r}')
    return chosen


def _since(text: str | None) -> datetime | None:
    if text is None or not text.strip():
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"since must be ISO 8601, such as 2026-03-01T12:00:00Z, not {text!r}") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _page(page: int | None) -> int:
    return min(max(page or 0, 0), _LAST_PAGE)


def _row(hit: SearchHit, names_session: bool) -> dict[str, str]:
    event = hit.event
    said = event.event_time if event.HasField("event_time") else event.record_time
    row = {
        "timestamp": said.ToJsonString(),
        "type": "" if event.message.role == 0 else Role.Name(event.message.role).removeprefix("ROLE_").lower(),
        "text": text_of(event),
    }
    return {"sessionId": hit.session.session_id, **row} if names_session else row
