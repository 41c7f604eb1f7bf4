"""The commands of `threadkeep retention`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.text import Text

from .... import AsyncClient
from ....v1.retention_pb2 import RetentionOutcome, RetentionReceipt, RetentionTotal
from ....v1.server_service_pb2 import RunRetentionResponse
from ...errors import CliError, counted
from ...options import Address, Cli, Json, Token, cli_of, ref_of, usage
from ...progress import meter
from ...render.output import Listing, console, page_for, plain, print_json, say_more, shown_time, table, whole_json

retention_app = typer.Typer(
    help="Archive and delete old sessions by the server's policies, list the receipts, and restore sessions.",
    no_args_is_help=True,
)

_AT_ONCE = 50
_RUN_S, _RESTORE_S = 600.0, 600.0
_COLUMNS = ("session", "user", "app", "policy", "events", "outcome", "time", "receipt")
_SELECTED = ("session", "user", "app", "policy", "events", "window bytes", "created", "last change")

Policies = Annotated[
    list[str] | None, typer.Option("--policy", metavar="NAME", help="Only this policy; may be repeated. (default: all)")
]


@retention_app.command("plan")
def plan(
    ctx: typer.Context,
    policies: Policies = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of sessions that are shown.")] = 100,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Show which sessions the policies select now, with counts and bytes. Changes nothing."""
    cli = cli_of(ctx, address, token, json)
    found = cli.call(
        lambda client: client.run_retention(policies or (), max_sessions=limit, dry_run=True, timeout=_RUN_S),
    )
    if cli.json:
        print_json(whole_json(found))
        return
    made = table(*_SELECTED, ids=_SELECTED[:3], numbers=("events", "window bytes"))
    for each in found.receipts:
        of = each.session
        sizes = (f"{each.events:,}", f"{each.window_bytes:,}")
        cells = (
            of.session_id,
            of.user_id,
            of.app,
            each.policy,
            *sizes,
            shown_time(each.create_time),
            shown_time(each.update_time),
        )
        made.add_row(*(Text(plain(cell)) for cell in cells))
    if found.receipts:
        console().print(made)
    for total in found.totals:
        print(f"{total.policy}: {_counts(total)}, {total.window_bytes:,} bytes in windows")
    if not found.totals:
        print("no policy selects a session")
    if found.more:
        print(f"the first {limit:,} are shown; --limit shows more", file=sys.stderr)
    if found.held:
        print(f"note: a run would do nothing for now: {found.held}", file=sys.stderr)


@retention_app.command("run")
def run(
    ctx: typer.Context,
    policies: Policies = None,
    limit: Annotated[int, typer.Option(min=0, help="Maximum number of sessions; 0: all that are selected.")] = 1000,
    ignore_hold: Annotated[
        bool, typer.Option("--ignore-hold", help="Also while the server's clock may be wrong; check the clock before.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Archive and delete the sessions that the policies select, now. Each is deleted once its archive was read back."""
    cli = cli_of(ctx, address, token, json)
    if not yes:
        if cli.json or not sys.stdin.isatty():
            raise usage("sessions are deleted; see `retention plan`, and confirm with --yes")
        typer.confirm("Archive and delete the sessions that the policies select?", abort=True, err=True)
    with meter("retention", quiet=cli.json) as shown:

        async def work(client: AsyncClient) -> list[RunRetentionResponse]:
            done: list[RunRetentionResponse] = []
            taken = 0
            token = ""
            while not done or (token and (not limit or taken < limit)):
                most = min(_AT_ONCE, limit - taken) if limit else _AT_ONCE
                done.append(
                    await client.run_retention(
                        policies or (), max_sessions=most, ignore_hold=ignore_hold, run_token=token, timeout=_RUN_S
                    )
                )
                token = done[-1].next_run_token
                taken += len(done[-1].receipts)
                shown.at(taken, sum(each.events for part in done for each in part.receipts))
            return done

        parts = cli.call(work)
    _tell_run(cli, parts)


def _tell_run(cli: Cli, parts: list[RunRetentionResponse]) -> None:
    receipts = [each for part in parts for each in part.receipts]
    kept = [each for each in receipts if each.outcome != RetentionOutcome.RETENTION_OUTCOME_DELETED]
    totals: dict[str, RetentionTotal] = {}
    for each in (total for part in parts for total in part.totals):
        total = totals.setdefault(each.policy, RetentionTotal(policy=each.policy))
        total.sessions, total.events = total.sessions + each.sessions, total.events + each.events
    if cli.json:
        runs = [part.run_id for part in parts if part.run_id]
        print_json({"runs": runs, "receipts": [whole_json(each) for each in receipts], "held": parts[-1].held})
    else:
        for total in totals.values():
            print(f"{total.policy}: deleted {_counts(total)}")
        for left in kept:
            print(f"kept: {plain(left.session.session_id)}: {_outcome(left)}: {plain(left.explanation)}", file=sys.stderr)
        if not receipts and not parts[-1].held:
            print("no policy selects a session")
    if parts[-1].held:
        advice = "check the server's clock; --ignore-hold runs now"
        raise CliError(f"nothing was deleted: {parts[-1].held}; {advice}", reason="HELD")
    if any(each.outcome == RetentionOutcome.RETENTION_OUTCOME_FAILED for each in kept):
        raise CliError("some sessions could not be archived; they stay, and the next run tries again", reason="ARCHIVE_FAILED")


@retention_app.command("list")
def list_receipts(
    ctx: typer.Context,
    session: Annotated[str, typer.Option("--session", help="Only of this session.")] = "",
    user: Annotated[str, typer.Option("--user", help="Only of sessions of this user.")] = "",
    app: Annotated[str | None, typer.Option("--app", help="Only of sessions of this app.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="Maximum number; 0: all.")] = 100,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """List the receipts of sessions that were archived or deleted, newest first. With --json, one to a line."""
    cli = cli_of(ctx, address, token, json)
    listing = Listing[RetentionReceipt](
        whole_json if cli.json else None,
        lambda: table(*_COLUMNS, ids=("session", "user", "app", "receipt"), numbers=("events",)),
        lambda made, each: made.add_row(*_cells(each)),
        "no receipts",
    )
    more = cli.call(
        lambda client: listing.fill(
            client.retention_receipts(app=app, user_id=user, session_id=session, page_size=page_for(limit)), limit
        )
    )
    listing.end()
    say_more(more, limit)


@retention_app.command("restore")
def restore(
    ctx: typer.Context,
    session: Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.")],
    user: Annotated[str, typer.Option("--user", help="The session's user.")] = "",
    app: Annotated[str | None, typer.Option("--app", help="The session's app.")] = None,
    receipt: Annotated[str, typer.Option("--receipt", metavar="ID", help="Of this receipt. (default: the newest)")] = "",
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Store an archived session again, with its events, window, labels, metadata and state."""
    cli = cli_of(ctx, address, token, json)
    named = ref_of(session, user, app)
    done = cli.call(lambda client: client.restore_session(named, receipt_id=receipt, timeout=_RESTORE_S))
    if cli.json:
        print_json(whole_json(done))
        return
    found = f", {done.found_events:,} were there" if done.found_events else ""
    print(f"restored session {plain(session)}: {counted(done.restored_events, 'event')}{found}, receipt {done.receipt.id}")


def _counts(total: RetentionTotal) -> str:
    return f"{counted(total.sessions, 'session')}, {counted(total.events, 'event')}"


def _outcome(receipt: RetentionReceipt) -> str:
    name = RetentionOutcome.Name(receipt.outcome).removeprefix("RETENTION_OUTCOME_").lower()
    return "archived" if name == "deleted" and receipt.HasField("archive") else name


def _cells(receipt: RetentionReceipt) -> tuple[Text, ...]:
    of = receipt.session
    restored = f", restored {shown_time(receipt.restore_time)}" if receipt.HasField("restore_time") else ""
    names = (of.session_id, of.user_id, of.app, receipt.policy, f"{receipt.events:,}")
    cells = (*names, _outcome(receipt) + restored, shown_time(receipt.outcome_time), receipt.id)
    return tuple(Text(plain(each)) for each in cells)
