"""`threadkeep search`."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ... import AsyncClient, SearchOptions
from ...filters import Filter, event_filter
from ...v1.search_pb2 import SearchMode
from ...v1.search_service_pb2 import SearchEventsResponse, SearchHit
from ...v1.session_pb2 import SessionRef
from ..options import Address, AllUsers, App, Json, Token, check_users, cli_of, ref_of, usage
from ..render.output import Listing, console, event_json, plain, ref_json, role_of, room, shown_time, table
from ..render.search_output import around, blocks, highlights_json, hit_text, remarks
from ..search_options import AsOf, Lift, MinScore, with_ranking
from .events import Role


class Mode(StrEnum):
    """The mode of a search."""

    AUTO = "auto"
    SUBSTRING = "substring"
    RANKED = "ranked"
    SEMANTIC = "semantic"
    HYBRID = "hybrid"


class Part(StrEnum):
    """A searchable field."""

    TEXT = "text"
    TOOL_CALLS = "tool_calls"
    TOOL_RESULTS = "tool_results"
    MEDIA = "media"


class Group(StrEnum):
    """The grouping of hits."""

    TURN = "turn"
    SESSION = "session"


ModeOption = Annotated[
    Mode,
    typer.Option(
        help="auto: the server chooses, literal for text in double quotes; substring: any part of the text; "
        "ranked: a question or keywords; the others need an embedder."
    ),
]


Distinct = Annotated[
    bool,
    typer.Option("--distinct", help="Show each event once: a neighbor of a better hit is no hit as well; not with substring."),
]


def search(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="What to look for: a question, keywords, or literal text in double quotes.")],
    mode: ModeOption = Mode.AUTO,
    session: Annotated[str, typer.Option("--session", help="Only in this session.")] = "",
    user: Annotated[str, typer.Option("--user", help="Only in this user's sessions (default every user's).")] = "",
    all_users: AllUsers = False,
    app: App = None,
    role: Annotated[list[Role] | None, typer.Option(help="Only events of this role; may be repeated.")] = None,
    active: Annotated[bool, typer.Option("--active", help="Without archived events.")] = False,
    neighbors: Annotated[
        int,
        typer.Option(min=0, max=10, help="Number of events to show before and after each hit (with --json or on a terminal)."),
    ] = 0,
    distinct: Distinct = False,
    group: Annotated[
        Group | None, typer.Option("--grouping", help="One hit for each turn or session; not with substring.")
    ] = None,
    field: Annotated[list[Part] | None, typer.Option(help="Only in this field; may be repeated; not with substring.")] = None,
    min_score: MinScore = None,
    recency: Lift = "",
    reference_time: AsOf = None,
    limit: Annotated[int, typer.Option(min=0, help="Maximum number of hits; 0: all.")] = 20,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Find events: best first, or literally, oldest first. With --json, one hit per line.

    Searches one session, one user's sessions, an app's, or (auto and substring) all, one user after another.
    """
    cli = cli_of(ctx, address, token, json)
    check_users(user, all_users)
    chosen = event_filter(roles=[each.value for each in role or []], view="active" if active else "history")
    where = ref_of(session, user, app) if session else None
    if mode not in (Mode.AUTO, Mode.SUBSTRING) and where is None and not user and app is None:
        raise usage(f"--mode {mode} ranks within one scope: give --session, --user or --app")
    _check(mode, group, field or [], distinct=distinct)
    options: SearchOptions = {"mode": mode.value, "neighbors": neighbors, "fields": [each.value for each in field or []]}
    if distinct:
        options["distinct"] = True
    with_ranking(options, mode, min_score, recency, reference_time)
    if group is not None:
        options["grouping"] = group.value
    answers: list[SearchEventsResponse] = []  # the last one only, for its remarks
    shown = partial(_show, query, answers)
    listing = Listing(_json if cli.json else None, partial(_table, answers), shown, "nothing found")

    def heard(answer: SearchEventsResponse) -> None:
        answers[:] = [answer]

    async def found(client: AsyncClient) -> bool:
        return await listing.fill(_hits(client, query, where, user, app, chosen, limit, options, heard), limit)

    more = cli.call(found)
    listing.end()
    _tell_rest(answers, mode, more=more, limit=limit)


def _ranked(answers: list[SearchEventsResponse]) -> bool:
    return any(answer.mode != SearchMode.SEARCH_MODE_SUBSTRING for answer in answers)


def _tell_rest(answers: list[SearchEventsResponse], mode: Mode, *, more: bool, limit: int) -> None:
    """Prints remarks on missing hits on standard error."""
    if more:
        which = "best" if _ranked(answers) else "first"
        shown_hits = f"{which} hit is" if limit == 1 else f"{which} {limit:,} hits are"
        print(f"only the {shown_hits} shown; --limit 0 shows all", file=sys.stderr)
    elif any(answer.truncated for answer in answers):
        print("more events match than are ranked; narrow it with --session, --role or rarer words", file=sys.stderr)
    for answer in answers:
        for remark in remarks(answer, hybrid=mode is Mode.HYBRID):
            print(remark, file=sys.stderr)


def _check(mode: Mode, group: Group | None, fields: list[Part], *, distinct: bool) -> None:
    """Rejects options that the mode does not have."""
    beyond = next((each for each in fields if each is not Part.TEXT), None)
    if mode is Mode.SUBSTRING and (group or beyond or distinct):
        wrong = f"--grouping {group}" if group else f"--field {beyond}" if beyond else "--distinct"
        raise usage(f"{wrong} is not for substring search; add --mode ranked")


def _json(hit: SearchHit) -> dict[str, Any]:
    value = {"session": ref_json(hit.session), **event_json(hit.event), "score": hit.score}
    value["highlights"] = highlights_json(hit.highlights)
    for name, events in (("before", hit.before), ("after", hit.after)):
        if events:
            value[name] = [event_json(each) for each in events]
    if hit.group_hits:
        value["group_hits"] = hit.group_hits
    return value


def _table(answers: list[SearchEventsResponse]) -> Table:
    if not sys.stdout.isatty():
        scores = ("score",) if _ranked(answers) else ()
        return table(*scores, "user", "session", "seq", "time", "role", "text", numbers=("score", "seq"))
    return blocks()


def _show(query: str, answers: list[SearchEventsResponse], made: Table, hit: SearchHit) -> None:
    """On a terminal the place, the text and the neighbors of a hit; elsewhere the columns of a table."""
    event, ref = hit.event, hit.session
    user, session = plain(ref.user_id), plain(ref.session_id)
    time = shown_time(event.event_time if event.HasField("event_time") else event.record_time)
    score = (f"{hit.score:.3f}",) if _ranked(answers) else ()
    if not sys.stdout.isatty():
        text = hit_text(event, hit.highlights, query, room())
        made.add_row(*score, Text(user), Text(session), str(event.seq), time, role_of(event), text)
        return
    width = console().width - 6
    group = (f"and {hit.group_hits - 1} more",) if hit.group_hits > 1 else ()
    made.add_row(Text("  ".join((*score, user, session, f"#{event.seq}", time, role_of(event), *group)), "bold"))
    for neighbor in hit.before:
        made.add_row(Padding(around(neighbor, width), (0, 0, 0, 4)))
    made.add_row(Padding(hit_text(event, hit.highlights, query, width), (0, 0, 0, 2)))
    for neighbor in hit.after:
        made.add_row(Padding(around(neighbor, width), (0, 0, 0, 4)))


async def _hits(
    client: AsyncClient,
    query: str,
    where: SessionRef | None,
    user: str,
    app: str | None,
    chosen: Filter,
    limit: int,
    options: SearchOptions,
    heard: Callable[[SearchEventsResponse], None],
) -> AsyncIterator[SearchHit]:
    size = min(limit + 1, 1000) if limit else 1000

    async def pages(**scope: Any) -> AsyncIterator[SearchHit]:
        token, more = "", True
        while more:
            answer = await client.search_page(query, filter=chosen, page_size=size, page_token=token, **scope, **options)
            heard(answer)
            for hit in answer.hits:
                yield hit
            token, more = answer.next_page_token, bool(answer.next_page_token)

    if where is not None:
        async for hit in pages(session=where):
            yield hit
    elif not user and app is not None:
        async for hit in pages(app=app, any_user=True):
            yield hit
    else:
        async for owner in _owners(client, user, app):
            async for hit in pages(user_id=owner, app=app):
                yield hit


async def _owners(client: AsyncClient, user: str, app: str | None) -> AsyncIterator[str]:
    """Yields the scopes to search: one user or one app; without either, each owner of a session."""
    if user:
        yield user
        return
    seen: set[str] = set()
    async for session in client.sessions(any_user=True, app=app, page_size=1000):
        if session.ref.user_id not in seen:
            seen.add(session.ref.user_id)
            yield session.ref.user_id
