"""`threadkeep sessions`: list, users, show, create, update, delete."""

from __future__ import annotations

import sys
from datetime import datetime
from enum import StrEnum
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from ... import AsyncClient
from ...v1 import session_pb2
from ...v1.session_service_pb2 import DeleteSessionResponse, UserRef
from ..errors import counted
from ..options import Address, AllUsers, App, Json, SessionId, Token, User, check_users, cli_of, pairs, ref_of, usage
from ..render.output import (
    Listing,
    console,
    facts,
    page_for,
    plain,
    print_json,
    ref_json,
    say_more,
    session_json,
    shown_expiry,
    shown_time,
    table,
)
from ..search_options import duration_of
from .context import shown_counters
from .events import aware

_IDS = ("app", "user", "session")

Ttl = Annotated[str, typer.Option(help="Expires this long from now: 12h, 7d, 1h30m (default the server's).")]
ExpireTime = Annotated[datetime | None, typer.Option(help="Expires at this local time.")]
NeverExpires = Annotated[bool, typer.Option("--never-expires", help="Never expires.")]
Metadata = Annotated[str | None, typer.Option(metavar="JSON", help="Metadata, a JSON object.")]
Labels = Annotated[list[str] | None, typer.Option("--label", metavar="KEY=VALUE", help="A label; may be repeated.")]

sessions_app = typer.Typer(help="List, show, create, update and delete sessions.", no_args_is_help=True)


class Order(StrEnum):
    """The order of a list."""

    CREATED_LAST = "created-last"
    CREATED_FIRST = "created-first"
    UPDATED_LAST = "updated-last"
    UPDATED_FIRST = "updated-first"


@sessions_app.command("list")
def list_sessions(
    ctx: typer.Context,
    user: User = "",
    all_users: AllUsers = False,
    app: App = None,
    label: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="Only with this label; may be repeated.")] = None,
    order: Annotated[Order, typer.Option(help="By creation or update, the last or the first.")] = Order.CREATED_LAST,
    prefix: Annotated[str, typer.Option(help="Only ids that begin so.")] = "",
    forked_from: Annotated[str, typer.Option(metavar="SESSION", help="Only forks of this session.")] = "",
    updated_after: Annotated[datetime | None, typer.Option(help="Only updated after this time.")] = None,
    updated_before: Annotated[datetime | None, typer.Option(help="Only updated before this time.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="Maximum number; 0: all.")] = 100,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """List sessions of one user, or of every user that the token can access. With --json, one to a line."""
    cli = cli_of(ctx, address, token, json)
    check_users(user, all_users)
    labels = pairs(label or [], "--label")

    listing = Listing(session_json if cli.json else None, _table, _add_row, "no sessions")

    async def found(client: AsyncClient) -> bool:
        sessions = client.sessions(
            user_id=user,
            any_user=not user,
            app=app,
            labels=labels,
            order=order.value.replace("-", "_").replace("last", "last_first"),
            updated_after=aware(updated_after),
            updated_before=aware(updated_before),
            prefix=prefix,
            forked_from=forked_from,
            page_size=page_for(limit),
        )
        return await listing.fill(sessions, limit)

    more = cli.call(found)
    listing.end()
    say_more(more, limit)


@sessions_app.command("users")
def list_users(
    ctx: typer.Context,
    app: Annotated[str | None, typer.Option("--app", help="Only of this app. (default: all apps)")] = None,
    limit: Annotated[int, typer.Option(min=0, help="Maximum number; 0: all.")] = 100,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """List the users that have sessions, memories or state, with their apps. With --json, one to a line."""
    cli = cli_of(ctx, address, token, json)
    listing = Listing(
        _user_json if cli.json else None, lambda: table("app", "user", ids=("app", "user")), _add_user, "no users"
    )
    more = cli.call(lambda client: listing.fill(client.users(app=app, any_app=app is None), limit))
    listing.end()
    say_more(more, limit)


@sessions_app.command("show")
def show_session(
    ctx: typer.Context,
    session: SessionId,
    user: User = "",
    app: App = None,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Show one session: its owner, times, labels, metadata and counters."""
    cli = cli_of(ctx, address, token, json)

    async def got(client: AsyncClient) -> session_pb2.Session:
        return await client.get_session(ref_of(session, user, app))

    show(cli.call(got), as_json=cli.json)


@sessions_app.command("create")
def create_session(
    ctx: typer.Context,
    session: Annotated[
        str, typer.Argument(metavar="[SESSION]", help="The session's id (by default the server generates one).")
    ] = "",
    user: User = "",
    app: App = None,
    ttl: Ttl = "",
    expire_time: ExpireTime = None,
    never_expires: NeverExpires = False,
    metadata: Metadata = None,
    label: Labels = None,
    context_bytes: Annotated[int, typer.Option(min=0, help="Size of its contexts; 0 is the server's.")] = 0,
    create_time: Annotated[datetime | None, typer.Option(help="When it was created, local time (default now).")] = None,
    return_existing: Annotated[bool, typer.Option("--return-existing", help="An existing session is no error.")] = False,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Create a session of --user, and show it."""
    cli = cli_of(ctx, address, token, json)
    labels = pairs(label or [], "--label")

    async def created(client: AsyncClient) -> session_pb2.Session:
        return await client.create_session(
            session,
            user_id=user,
            app=app,
            ttl=duration_of(ttl, "--ttl") if ttl else None,
            expire_time=aware(expire_time),
            never_expires=never_expires,
            metadata=metadata,
            labels=labels,
            context_bytes=context_bytes,
            create_time=aware(create_time),
            return_existing=return_existing,
        )

    show(cli.call(created), as_json=cli.json)


@sessions_app.command("update")
def update_session(
    ctx: typer.Context,
    session: SessionId,
    user: User = "",
    app: App = None,
    ttl: Ttl = "",
    expire_time: ExpireTime = None,
    never_expires: NeverExpires = False,
    metadata: Metadata = None,
    label: Labels = None,
    clear_labels: Annotated[bool, typer.Option("--clear-labels", help="Remove all labels.")] = False,
    context_bytes: Annotated[int | None, typer.Option(min=0, help="Size of its contexts; 0 is the server's.")] = None,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Replace the given fields and show the session; others stay. --label replaces all labels, --metadata '' clears it."""
    cli = cli_of(ctx, address, token, json)
    if clear_labels and label:
        raise usage("give either --label or --clear-labels")
    labels = pairs(label or [], "--label") if label or clear_labels else None
    if not (ttl or expire_time or never_expires) and (metadata, labels, context_bytes) == (None, None, None):
        raise usage("update what? give --ttl, --expire-time, --never-expires, --metadata, --label or --context-bytes")

    async def updated(client: AsyncClient) -> session_pb2.Session:
        return await client.update_session(
            ref_of(session, user, app),
            ttl=duration_of(ttl, "--ttl") if ttl else None,
            expire_time=aware(expire_time),
            never_expires=never_expires,
            metadata=metadata,
            labels=labels,
            context_bytes=context_bytes,
        )

    show(cli.call(updated), as_json=cli.json)


def show(found: session_pb2.Session, *, as_json: bool) -> None:
    if as_json:
        print_json(session_json(found))
        return
    usage_ = found.usage
    rows = [
        ("session", found.ref.session_id),
        ("user", found.ref.user_id),
        ("app", found.ref.app),
        ("uid", found.uid),
        ("created", shown_time(found.create_time)),
        ("last activity", shown_time(found.update_time)),
        ("expires", shown_expiry(found)),
        ("events", f"{found.last_seq:,}"),
        ("active window", shown_counters(found.window)),
        ("content", f"{found.content_bytes:,} bytes" if found.content_bytes else ""),
        ("archived", counted(found.last_seq - found.window.events, "event") if found.window_version else ""),
        ("context size", f"{found.context_bytes:,} bytes" if found.context_bytes else "the server's default"),
        ("token usage", f"{usage_.input_tokens:,} in, {usage_.output_tokens:,} out"),
        ("forked from", f"{found.parent.session.session_id}, seq {found.parent.at_seq:,}" if found.HasField("parent") else ""),
        ("versions", f"log {found.log_version:,}, window {found.window_version:,}"),
        ("labels", ", ".join(f"{key}={value}" for key, value in sorted(found.labels.items()))),
        ("metadata", found.metadata_json),
    ]
    console().print(facts([(name, plain(value)) for name, value in rows if value]))


@sessions_app.command("delete")
def delete_sessions(
    ctx: typer.Context,
    sessions: Annotated[list[str], typer.Argument(metavar="SESSION...", help="The sessions' ids.")],
    user: User = "",
    app: App = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Delete sessions and all their events, permanently. A missing session is no error."""
    cli = cli_of(ctx, address, token, json)
    refs = [ref_of(each, user, app) for each in sessions]
    if not yes:
        if cli.json or not sys.stdin.isatty():
            raise usage("deletion is permanent; confirm with --yes")
        typer.confirm(f"Delete {', '.join(map(plain, sessions))} with all events permanently?", abort=True, err=True)

    async def deleted(client: AsyncClient) -> list[DeleteSessionResponse]:
        return [await client.delete_session(ref) for ref in refs]

    for ref, answer in zip(refs, cli.call(deleted), strict=True):
        if cli.json:
            print_json({**ref_json(ref), "deleted": answer.deleted, "deleted_events": answer.deleted_events})
        elif answer.deleted:
            print(f"deleted {plain(ref.session_id)} with {counted(answer.deleted_events, 'event')}")
        else:
            print(f"{plain(ref.session_id)} is not there")


def _table() -> Table:
    return table("app", "user", "session", "events", "last activity", "expires", ids=_IDS, numbers=("events",))


def _add_row(made: Table, session: session_pb2.Session) -> None:
    ref = session.ref
    names = map(_cell, (ref.app, ref.user_id, ref.session_id))
    made.add_row(*names, f"{session.last_seq:,}", shown_time(session.update_time), shown_expiry(session))


def _user_json(user: UserRef) -> dict[str, str]:
    return {"app": user.app, "user_id": user.user_id}


def _add_user(made: Table, user: UserRef) -> None:
    made.add_row(_cell(user.app), _cell(user.user_id))


def _cell(text: str) -> Text:
    return Text(plain(text))
