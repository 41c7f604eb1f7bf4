"""`threadkeep compact` and `threadkeep compactions`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from ... import AsyncClient
from ...errors import InvalidField
from ...filters import event_filter
from ...v1.compaction_pb2 import Compaction
from ...v1.compaction_service_pb2 import CompactSessionResponse
from ...v1.event_pb2 import SessionEvent
from ...v1.session_pb2 import SessionRef
from ..errors import counted
from ..options import Address, App, Json, SessionId, Token, User, cli_of, ref_of, usage
from ..render.compaction_chart import Picture
from ..render.output import Listing, as_json, console, page_for, plain, print_json, say_more, shown_time, table, utf8
from ..strategy_syntax import Strategies, StrategyJson, Triggers, strategy_of, trigger_of

_SUMMARY_TIMEOUT = 300.0  # a model may be slow; the server limits its time


def compact(
    ctx: typer.Context,
    session: SessionId,
    user: User = "",
    app: App = None,
    strategy: Strategies = None,
    strategy_json: StrategyJson = "",
    trigger: Triggers = None,
    branch: Annotated[str, typer.Option(help="Only events of this branch itself.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing and call no model; show the result.")] = False,
    actor: Annotated[str, typer.Option(help="Who compacts, for the record.")] = "cli",
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Compact a session's window, and show it before and after. Nothing is deleted: events that leave the window are archived.

    Without --strategy that of the session's policy is used. Each name takes a number, here the default, and options:

    sliding-window=20 keeps 20 events; turn-window=10 keeps 10 turns; token-budget=4000 keeps 4,000 tokens.

    recursive-summary=10,overlap=2,max-summary-tokens=1024 keeps 10 events; a model summarizes the others.

    trim-tool-results=1,min-tokens=64 replaces tool results by stubs, except those of the newest turn.
    """
    cli = cli_of(ctx, address, token, json)
    how, when = strategy_of(strategy, strategy_json), trigger_of(trigger)

    async def compacted(client: AsyncClient) -> tuple[SessionRef, list[SessionEvent], CompactSessionResponse]:
        ref = (await client.get_session(ref_of(session, user, app))).ref
        active = event_filter(view="active")
        window = [] if cli.json else [event.pb async for event in client.events(ref, active, page_size=1000)]
        try:
            answer = await client.compact(
                ref, how, trigger=when, branch=branch, dry_run=dry_run, actor=actor, timeout=_SUMMARY_TIMEOUT
            )
        except InvalidField as error:
            if how is None and error.field == "strategy":
                raise usage("no policy applies to the session; give --strategy, or use `threadkeep policy set`") from error
            raise
        return ref, window, answer

    ref, window, answer = cli.call(compacted)
    if cli.json:
        always = ("compacted", "triggered", "lost_races")
        print_json({**{name: getattr(answer, name) for name in always}, **as_json(answer)})
        return
    _show(plain(ref.session_id), window, answer)


def _show(name: str, window: list[SessionEvent], answer: CompactSessionResponse) -> None:
    if not answer.triggered:
        print(f"{name}: nothing done, the window is below what --if says")
        return
    plan = answer.plan
    if not plan.archive_event_ids and not plan.inserts:
        kept = f"{counted(plan.before.events, 'event')} in {counted(plan.before.turns, 'turn')}"
        print(f"{name}: nothing to do, the strategy keeps all events: {kept}")
        return
    state = "compacted" if answer.compacted else "dry run, nothing was changed"
    screen = console()
    screen.print(Text.assemble((name, "bold"), f": {state}\n"))
    Picture(window, plan, answer.compaction if answer.compacted else None, ascii=not utf8()).print(screen)
    if answer.lost_races:
        lost = counted(answer.lost_races, "race")
        print(f"lost {lost} to other compactions; the rows may lack their effects", file=sys.stderr)


def compactions(
    ctx: typer.Context,
    session: SessionId,
    user: User = "",
    app: App = None,
    limit: Annotated[int, typer.Option(min=0, help="Maximum number; 0: all.")] = 100,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """List a session's compactions, newest first. With --json, one to a line."""
    cli = cli_of(ctx, address, token, json)
    listing = Listing(as_json if cli.json else None, _table, _add_row, "no compactions")
    named = ref_of(session, user, app)
    more = cli.call(lambda client: listing.fill(client.compactions(named, page_size=page_for(limit)), limit))
    listing.end()
    say_more(more, limit, "newest")


def _table() -> Table:
    names = ("time", "strategy", "actor", "archived", "seqs", "turns", "tokens")
    return table(*names, ids=("strategy", "actor"), numbers=("archived", "seqs", "turns", "tokens"))


def _add_row(made: Table, each: Compaction) -> None:
    arrow = "→" if utf8() else "->"
    before, after = each.before, each.after
    made.add_row(
        shown_time(each.create_time),
        Text(plain(each.strategy)),
        Text(plain(each.actor)),
        f"{each.archived_events:,}",
        f"{each.first_seq}-{each.last_seq}" if each.first_seq else "",
        f"{before.turns:,} {arrow} {after.turns:,}",
        f"{before.tokens:,} {arrow} {after.tokens:,}",
    )
