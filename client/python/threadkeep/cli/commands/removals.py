"""`threadkeep sessions`: pop, clear, erase."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ... import AsyncClient
from ...v1.event_removal_pb2 import ClearEventsResponse, EraseEventsResponse
from ...values.pages import Popped
from ..errors import counted
from ..options import Address, App, Json, SessionId, Token, User, cli_of, ref_of, usage
from ..render.output import event_json, plain, print_json, summary_of, whole_json
from .sessions import sessions_app

Erase = Annotated[bool, typer.Option("--erase", help="Erase the content (default: archive the events).")]
OperationId = Annotated[
    str, typer.Option("--operation-id", help="Repeated with this id, it returns the same and changes nothing.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")]


@sessions_app.command("pop")
def pop_events(
    ctx: typer.Context,
    session: SessionId,
    count: Annotated[int, typer.Option(min=1, max=1000, help="Number of events.")] = 1,
    branch: Annotated[str | None, typer.Option(help="Only of exactly this branch; '' is the root.")] = None,
    erase: Erase = False,
    operation_id: OperationId = "",
    user: User = "",
    app: App = None,
    yes: Yes = False,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Take the newest events out of the window, and show them. With --json, one to a line."""
    cli = cli_of(ctx, address, token, json)
    ref = ref_of(session, user, app)
    if erase:
        confirm(f"Erase {counted(count, 'event')} of {plain(session)} permanently?", as_json=cli.json, yes=yes)

    async def popped(client: AsyncClient) -> Popped:
        return await client.pop(ref, count, branch=branch, erase=erase, operation_id=operation_id)

    for event in cli.call(popped).events:
        if cli.json:
            print_json(event_json(event.pb))
        else:
            print(f"{event.seq}  {event.role}  {plain(summary_of(event.pb))}")


@sessions_app.command("clear")
def clear_events(
    ctx: typer.Context,
    session: SessionId,
    erase: Annotated[bool, typer.Option("--erase", help="Erase the whole log (default: archive the window).")] = False,
    operation_id: OperationId = "",
    user: User = "",
    app: App = None,
    yes: Yes = False,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Empty the active window. The session stays, with its labels and policy."""
    cli = cli_of(ctx, address, token, json)
    ref = ref_of(session, user, app)
    if erase:
        confirm(f"Erase all events of {plain(session)} permanently?", as_json=cli.json, yes=yes)

    async def cleared(client: AsyncClient) -> ClearEventsResponse:
        return await client.clear(ref, erase=erase, operation_id=operation_id)

    answer = cli.call(cleared)
    if cli.json:
        print_json(whole_json(answer))
    else:
        print(f"cleared {plain(session)} of {counted(answer.removed, 'event')}")


@sessions_app.command("erase")
def erase_events(
    ctx: typer.Context,
    session: SessionId,
    event_ids: Annotated[list[str], typer.Argument(metavar="EVENT...", help="The events' ids.")],
    operation_id: OperationId = "",
    user: User = "",
    app: App = None,
    yes: Yes = False,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Erase the content of events, permanently. Their ids, seqs and times stay. With --json, the receipt."""
    cli = cli_of(ctx, address, token, json)
    ref = ref_of(session, user, app)
    confirm(f"Erase {counted(len(event_ids), 'event')} of {plain(session)} permanently?", as_json=cli.json, yes=yes)

    async def erased(client: AsyncClient) -> EraseEventsResponse:
        return await client.erase_events(ref, event_ids, operation_id=operation_id)

    answer = cli.call(erased)
    if cli.json:
        print_json(whole_json(answer.receipt))
    else:
        print(f"erased {counted(answer.erased, 'event')}")


def confirm(question: str, *, as_json: bool, yes: bool) -> None:
    if yes:
        return
    if as_json or not sys.stdin.isatty():
        raise usage("erasure is permanent; confirm with --yes")
    typer.confirm(question, abort=True, err=True)
