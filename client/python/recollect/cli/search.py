"""`recollect search`."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .. import AsyncClient
from ..filters import event_filter
from ..messages import text_of
from ..v1.filter_pb2 import EventFilter
from ..v1.recall_service_pb2 import SearchHit
from ..v1.session_pb2 import SessionRef
from .context import Address, App, Json, Token, cli_of, ref_of
from .events import Role
from .output import Listing, console, event_json, excerpt, plain, ref_json, role_of, room, shown_time, table


def search(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="What to look for: any part of the text, in any case.")],
    session: Annotated[str, typer.Option("--session", help="Only in this session.")] = "",
    user: Annotated[str, typer.Option("--user", help="Only in this user's sessions (default every user's).")] = "",
    app: App = None,
    role: Annotated[list[Role] | None, typer.Option(help="Only what this role said; may be repeated.")] = None,
    active: Annotated[bool, typer.Option("--active", help="Without what compaction archived.")] = False,
    limit: Annotated[int, typer.Option(min=0, help="At most so many hits; 0 is all.")] = 20,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Find what was said, oldest first: in one session, one user's sessions, or all. With --json, one hit to a line."""
    cli = cli_of(ctx, address, token, json)
    chosen = event_filter(roles=[each.value for each in role or []], view="active" if active else "history")
    where = ref_of(session, user, app) if session else None

    listing = Listing(_json if cli.json else None, _table, partial(_show, query), "nothing found")

    async def found(client: AsyncClient) -> bool:
        async for hit in _hits(client, query, where, user, app, chosen, limit):
            if limit and listing.count == limit:
                return True
            listing.add(hit)
        return False

    more = cli.call(found)
    listing.end()
    if more:
        print(f"only {limit:,} hits are shown; --limit 0 shows all", file=sys.stderr)


def _json(hit: SearchHit) -> dict[str, Any]:
    return {"session": ref_json(hit.session), **event_json(hit.event)}


def _table() -> Table:
    if not sys.stdout.isatty():
        return table("user", "session", "seq", "time", "role", "text", numbers=("seq",))
    made = Table.grid()
    made.add_column(overflow="fold")
    return made


def _show(query: str, made: Table, hit: SearchHit) -> None:
    """On a terminal two lines to a hit, where it is and what it says; elsewhere the columns of a table."""
    event, ref = hit.event, hit.session
    user, session = plain(ref.user_id), plain(ref.session_id)
    time = shown_time(event.event_time if event.HasField("event_time") else event.record_time)
    if sys.stdout.isatty():
        made.add_row(Text("  ".join((user, session, f"#{event.seq}", time, role_of(event))), "bold"))
        made.add_row(Padding(excerpt(text_of(event), query, console().width - 6), (0, 0, 0, 2)))
    else:
        text = excerpt(text_of(event), query, room())
        made.add_row(Text(user), Text(session), str(event.seq), time, role_of(event), text)


async def _hits(
    client: AsyncClient, query: str, where: SessionRef | None, user: str, app: str | None, chosen: EventFilter, limit: int
) -> AsyncIterator[SearchHit]:
    size = min(limit + 1, 1000) if limit else 1000
    if where is not None:
        async for hit in client.search(query, session=where, filter=chosen, page_size=size):
            yield hit
        return
    async for owner in _owners(client, user, app):
        async for hit in client.search(query, user_id=owner, app=app, filter=chosen, page_size=size):
            yield hit


async def _owners(client: AsyncClient, user: str, app: str | None) -> AsyncIterator[str]:
    """Whose sessions to search: a search covers one user, so without one each owner of a session comes in turn."""
    if user:
        yield user
        return
    seen: set[str] = set()
    async for session in client.sessions("", app=app, page_size=1000):
        if session.ref.user_id not in seen:
            seen.add(session.ref.user_id)
            yield session.ref.user_id
