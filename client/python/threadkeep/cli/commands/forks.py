"""`threadkeep sessions`: fork, rewind, move."""

from __future__ import annotations

from typing import Annotated

import typer

from ... import AsyncClient
from ...v1.event_removal_pb2 import RewindSessionResponse
from ...v1.session_pb2 import Session
from ..errors import counted
from ..options import Address, App, Json, SessionId, Token, User, cli_of, pairs, ref_of, usage
from ..render.output import plain, print_json, whole_json
from ..search_options import duration_of
from .events import aware
from .removals import Erase, OperationId, Yes, confirm
from .sessions import ExpireTime, Labels, Metadata, NeverExpires, Ttl, sessions_app, show


@sessions_app.command("fork")
def fork_session(
    ctx: typer.Context,
    session: SessionId,
    fork: Annotated[
        str, typer.Argument(metavar="[FORK]", help="The id of the fork (by default the server generates one).")
    ] = "",
    at_seq: Annotated[int | None, typer.Option(min=1, help="With the events up to this seq (default all).")] = None,
    at_event: Annotated[str | None, typer.Option(help="With the events up to the one with this id.")] = None,
    at_invocation: Annotated[str | None, typer.Option(help="Up to the end of this invocation.")] = None,
    at_log_version: Annotated[int | None, typer.Option(min=0, help="As it was at this log version.")] = None,
    user: User = "",
    app: App = None,
    ttl: Ttl = "",
    expire_time: ExpireTime = None,
    never_expires: NeverExpires = False,
    metadata: Metadata = None,
    label: Labels = None,
    without_labels: Annotated[bool, typer.Option("--without-labels", help="Copy no labels.")] = False,
    operation_id: OperationId = "",
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Copy a session as it is, or as it was, and show the copy. --label adds labels to those of the session."""
    cli = cli_of(ctx, address, token, json)
    _check_point(at_seq, at_event, at_invocation, at_log_version, or_none=True)
    labels = pairs(label or [], "--label")

    async def forked(client: AsyncClient) -> Session:
        return await client.fork(
            ref_of(session, user, app),
            fork,
            at_seq=at_seq,
            at_event=at_event,
            at_invocation=at_invocation,
            at_log_version=at_log_version,
            ttl=duration_of(ttl, "--ttl") if ttl else None,
            expire_time=aware(expire_time),
            never_expires=never_expires,
            metadata=metadata,
            labels=labels,
            inherit_labels=not without_labels,
            operation_id=operation_id,
        )

    show(cli.call(forked), as_json=cli.json)


@sessions_app.command("rewind")
def rewind_session(
    ctx: typer.Context,
    session: SessionId,
    at_seq: Annotated[int | None, typer.Option(min=1, help="To the event with this seq.")] = None,
    at_event: Annotated[str | None, typer.Option(help="To the event with this id.")] = None,
    at_invocation: Annotated[str | None, typer.Option(help="To the end of this invocation.")] = None,
    at_log_version: Annotated[int | None, typer.Option(min=0, help="To this log version.")] = None,
    erase: Erase = False,
    operation_id: OperationId = "",
    user: User = "",
    app: App = None,
    yes: Yes = False,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Take a session back to a point: later events leave the window, and the state is that of then."""
    cli = cli_of(ctx, address, token, json)
    _check_point(at_seq, at_event, at_invocation, at_log_version, or_none=False)
    if erase:
        confirm(f"Erase what came after in {plain(session)} permanently?", as_json=cli.json, yes=yes)

    async def rewound(client: AsyncClient) -> RewindSessionResponse:
        return await client.rewind(
            ref_of(session, user, app),
            at_seq=at_seq,
            at_event=at_event,
            at_invocation=at_invocation,
            at_log_version=at_log_version,
            erase=erase,
            operation_id=operation_id,
        )

    answer = cli.call(rewound)
    if cli.json:
        print_json(whole_json(answer))
    else:
        print(f"{counted(answer.removed, 'event')} left the window, {answer.restored:,} came back")


def _check_point(*points: int | str | None, or_none: bool) -> None:
    given = len(points) - points.count(None)
    if given > 1 or not (given or or_none):
        raise usage("give one of --at-seq, --at-event, --at-invocation and --at-log-version")


@sessions_app.command("move")
def move_session(
    ctx: typer.Context,
    session: SessionId,
    new_user: Annotated[str, typer.Argument(metavar="NEW_USER", help="The user who gets the session.")],
    operation_id: OperationId = "",
    user: User = "",
    app: App = None,
    yes: Yes = False,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Give a session to another user. --user names its present owner, who does not find it any more."""
    cli = cli_of(ctx, address, token, json)
    confirm(f"Give {plain(session)} with its events to {plain(new_user)}?", as_json=cli.json, yes=yes)

    async def moved(client: AsyncClient) -> Session:
        return await client.move_session(ref_of(session, user, app), new_user, operation_id=operation_id)

    show(cli.call(moved), as_json=cli.json)
