"""`threadkeep context`: what an agent would see now, or saw at a moment."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from ... import AsyncClient
from ...filters import Authors
from ...memory import ContextFields
from ...v1.event_service_pb2 import GetContextResponse
from ...v1.session_pb2 import WindowCounters
from ..errors import counted
from ..options import Address, App, AsOfSeq, AsOfVersion, Json, SessionId, Token, User, cli_of, one_moment, ref_of
from ..render.output import Listing, console, event_json, facts, plain, print_json, window_json
from .events import add_event_row, event_table

_VERSIONS = ("first_seq", "last_seq", "session_last_seq", "log_version", "window_version", "max_bytes")


def context(
    ctx: typer.Context,
    session: SessionId,
    user: User = "",
    app: App = None,
    last_n: Annotated[
        int | None, typer.Option(min=1, help="Only this number of newest events, extended to whole turns.")
    ] = None,
    max_turns: Annotated[int | None, typer.Option(min=1, help="Only this number of newest turns.")] = None,
    max_bytes: Annotated[int | None, typer.Option(min=1, help="Maximum size in bytes (default the session's).")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Maximum number of tokens.")] = None,
    branch: Annotated[str, typer.Option(help="What an agent on this branch sees.")] = "",
    include_author: Annotated[list[str] | None, typer.Option(help="Only this agent id; may be repeated.")] = None,
    include_role: Annotated[list[str] | None, typer.Option(help="Only agents of this role; may be repeated.")] = None,
    exclude_author: Annotated[list[str] | None, typer.Option(help="Not this agent id; may be repeated.")] = None,
    exclude_role: Annotated[list[str] | None, typer.Option(help="Not agents of this role; may be repeated.")] = None,
    exclude_system: Annotated[bool, typer.Option("--exclude-system", help="Without the SYSTEM event.")] = False,
    as_of_seq: AsOfSeq = None,
    as_of_version: AsOfVersion = None,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Show what an agent would see now, or saw then: the SYSTEM event, the summaries, then whole turns of the active window.

    Agents are included first, then excluded. --json prints one object.
    """
    cli = cli_of(ctx, address, token, json)
    one_moment(as_of_seq, as_of_version)
    authors = Authors()
    if include_author or include_role:
        authors = authors.include(include_author or (), roles=include_role or ())
    if exclude_author or exclude_role:
        authors = authors.exclude(exclude_author or (), roles=exclude_role or ())
    fields = ContextFields(
        author_filters=authors.steps,
        last_n=last_n,
        max_turns=max_turns,
        max_bytes=max_bytes,
        max_tokens=max_tokens,
        branch=branch,
        exclude_system=exclude_system,
    )

    async def got(client: AsyncClient) -> GetContextResponse:
        ref = (await client.get_session(ref_of(session, user, app))).ref
        return (await client.get_context(ref, as_of_seq=as_of_seq, as_of_log_version=as_of_version, **fields)).pb

    found = cli.call(got)
    if cli.json:
        print_json(_json(found))
        return
    console().print(facts([(name, plain(value)) for name, value in _header(session, found) if value]))
    console().print()
    listing = Listing(None, event_table, partial(add_event_row, ""), "nothing to see")
    for event in found.events:
        listing.add(event)
    listing.end()


def _json(found: GetContextResponse) -> dict[str, object]:
    return {
        "events": [event_json(event) for event in found.events],
        "truncated": found.truncated,
        "over_budget": found.over_budget,
        "context": window_json(found.context),
        "window": window_json(found.window),
        **{name: getattr(found, name) for name in _VERSIONS},
    }


def _header(session: str, found: GetContextResponse) -> list[tuple[str, str]]:
    covered = f"{found.first_seq:,} to {found.last_seq:,}, of {found.session_last_seq:,} in the log" if found.first_seq else ""
    older = f"`threadkeep events list {session} --before-seq {found.first_seq}` lists what came before"
    return [
        ("context", shown_counters(found.context)),
        ("window", shown_counters(found.window)),
        ("seqs", covered),
        ("truncated", f"yes; {older}" if found.truncated else "no"),
        ("over budget", "yes: the newest turn alone exceeds a limit and is shown whole" if found.over_budget else ""),
    ]


def shown_counters(counters: WindowCounters) -> str:
    """Returns the counters of a window, for people."""
    sizes = f"{counted(counters.bytes, 'byte')}, ~{counted(counters.tokens, 'token')}"
    return f"{counted(counters.events, 'event')}, {counted(counters.turns, 'turn')}, {sizes}"
