"""`threadkeep consumers`: list, show, delete; parked, replay, discard."""

from __future__ import annotations

import json as json_
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from ... import AsyncClient
from ...v1.consumer_pb2 import Consumer, ParkedChange
from ...v1.consumer_service_pb2 import DeleteConsumerResponse, GetConsumerResponse
from ...v1.subscription_service_pb2 import ChangeScope
from ..errors import counted
from ..options import Address, Cli, Json, Token, cli_of, usage
from ..render.changes import change_json, in_brief
from ..render.output import (
    Listing,
    as_json,
    console,
    excerpt,
    facts,
    page_for,
    plain,
    print_json,
    room,
    say_more,
    shown_time,
    table,
)

_MOST_LAG = 10_000
"""The server counts up to this number."""
_MOST_IDS = 1000
"""Maximum number of ids of one call."""

Name = Annotated[str, typer.Argument(metavar="NAME", help="The consumer's name.")]
Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="The ids of parked changes.")]
All = Annotated[bool, typer.Option("--all", help="All parked changes.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")]
Limit = Annotated[int, typer.Option(min=0, help="Maximum number; 0: all.")]

consumers_app = typer.Typer(help="Manage named consumers and their parked changes.", no_args_is_help=True)


@consumers_app.command("list")
def list_consumers(
    ctx: typer.Context, limit: Limit = 100, address: Address = None, token: Token = None, json: Json = False
) -> None:
    """List consumers by name. With --json, one to a line."""
    cli = cli_of(ctx, address, token, json)
    listing = Listing(_consumer_json if cli.json else None, _table, _add_row, "no consumers")
    more = cli.call(lambda client: listing.fill(client.consumers(page_size=page_for(limit)), limit))
    listing.end()
    say_more(more, limit)


@consumers_app.command("show")
def show_consumer(ctx: typer.Context, name: Name, address: Address = None, token: Token = None, json: Json = False) -> None:
    """Show a consumer: its scope, its members, the progress of each partition and the number of parked changes."""
    cli = cli_of(ctx, address, token, json)

    async def got(client: AsyncClient) -> GetConsumerResponse:
        return await client.consumer(name).get()

    found = cli.call(got)
    if cli.json:
        print_json(_state_json(found))
        return
    consumer, screen = found.consumer, console()
    rows = [
        ("consumer", consumer.name),
        ("scope", _scope(consumer.scope)),
        ("filter", _filter(consumer)),
        ("created", shown_time(consumer.create_time)),
        ("attempts", f"{consumer.max_attempts:,}, then a change is parked"),
        ("to acknowledge", f"{consumer.ack_timeout.ToTimedelta().total_seconds():g} s"),
        ("behind", counted(sum(each.lag for each in found.partitions), "change")),
        ("parked", f"{found.parked_changes:,}{f'; see `threadkeep consumers parked {name}`' if found.parked_changes else ''}"),
    ]
    screen.print(facts([(title, plain(value)) for title, value in rows if value]))
    screen.print()
    screen.print(_members(found) if found.members else "no members")
    screen.print()
    screen.print(_partitions(found))


@consumers_app.command("parked")
def list_parked(
    ctx: typer.Context, name: Name, limit: Limit = 100, address: Address = None, token: Token = None, json: Json = False
) -> None:
    """List parked changes, oldest first, each with its reason. With --json, one per line, with the change."""
    cli = cli_of(ctx, address, token, json)
    listing = Listing(_parked_json if cli.json else None, _parked_table, _add_parked, "nothing is parked")
    more = cli.call(lambda client: listing.fill(client.consumer(name).parked(page_size=page_for(limit)), limit))
    listing.end()
    say_more(more, limit)


@consumers_app.command("replay")
def replay_parked(
    ctx: typer.Context,
    name: Name,
    ids: Ids = None,
    everything: All = False,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Deliver parked changes again, outside the order of their sessions. Changes that fail again are parked again."""
    cli = cli_of(ctx, address, token, json)
    chosen = _chosen(ids, everything)

    async def replayed(client: AsyncClient, some: list[str] | None) -> int:
        return await client.consumer(name).replay_parked(some)

    done = _each(cli, chosen, replayed)
    if cli.json:
        print_json({"name": name, "replayed": done})
    else:
        print(f"{counted(done, 'change')} of {plain(name)} will be delivered again")


@consumers_app.command("discard")
def discard_parked(
    ctx: typer.Context,
    name: Name,
    ids: Ids = None,
    everything: All = False,
    yes: Yes = False,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Delete parked changes permanently: the consumer never handles them. Sessions and events stay unchanged."""
    cli = cli_of(ctx, address, token, json)
    chosen = _chosen(ids, everything)
    what = "all parked changes" if chosen is None else counted(len(chosen), "parked change")
    _confirm(cli, yes, f"Discard {what} of {plain(name)} permanently?")

    async def discarded(client: AsyncClient, some: list[str] | None) -> int:
        return await client.consumer(name).delete_parked(some)

    done = _each(cli, chosen, discarded)
    if cli.json:
        print_json({"name": name, "discarded": done})
    else:
        print(f"discarded {counted(done, 'change')} of {plain(name)}")


@consumers_app.command("delete")
def delete_consumer(
    ctx: typer.Context, name: Name, yes: Yes = False, address: Address = None, token: Token = None, json: Json = False
) -> None:
    """Delete a consumer, its checkpoints and parked changes, permanently; its members end. A missing consumer is no error."""
    cli = cli_of(ctx, address, token, json)
    _confirm(cli, yes, f"Delete {plain(name)}, its checkpoints and parked changes, permanently?")

    async def deleted(client: AsyncClient) -> DeleteConsumerResponse:
        return await client.consumer(name).delete()

    done = cli.call(deleted).deleted
    if cli.json:
        print_json({"name": name, "deleted": done})
    else:
        print(f"deleted {plain(name)}" if done else f"{plain(name)} is not there")


def _chosen(ids: list[str] | None, everything: bool) -> list[str] | None:
    """Returns the ids; None: all."""
    if bool(ids) == everything:
        raise usage("which? give the ids that `threadkeep consumers parked NAME` shows, or --all")
    return ids or None


def _each(cli: Cli, ids: list[str] | None, use: Callable[[AsyncClient, list[str] | None], Awaitable[int]]) -> int:
    """Calls it with all ids, in calls of the maximum size. Returns the sum."""

    async def done(client: AsyncClient) -> int:
        return sum([await use(client, some) for some in _batches(ids)])

    return cli.call(done)


def _batches(ids: list[str] | None) -> Iterator[list[str] | None]:
    if ids is None:
        yield None
        return
    for at in range(0, len(ids), _MOST_IDS):
        yield ids[at : at + _MOST_IDS]


def _confirm(cli: Cli, yes: bool, question: str) -> None:
    if yes:
        return
    if cli.json or not sys.stdin.isatty():
        raise usage("this is permanent; confirm with --yes")
    typer.confirm(question, abort=True, err=True)


def _table() -> Table:
    return table(
        "name", "scope", "partitions", "attempts", "created", ids=("name", "scope"), numbers=("partitions", "attempts")
    )


def _add_row(made: Table, each: Consumer) -> None:
    name, scope = Text(plain(each.name)), Text(plain(_scope(each.scope)))
    made.add_row(name, scope, f"{each.partitions:,}", f"{each.max_attempts:,}", shown_time(each.create_time))


def _members(found: GetConsumerResponse) -> Table:
    made = table("member", "partitions", "joined", ids=("member", "partitions"))
    for each in found.members:
        partitions = ", ".join(map(str, sorted(each.partitions)))
        made.add_row(Text(plain(each.member_id)), partitions or "none", shown_time(each.join_time))
    return made


def _partitions(found: GetConsumerResponse) -> Table:
    made = table(
        "partition", "member", "behind", "failed", "last error", numbers=("partition", "behind", "failed"), rest="last error"
    )
    for each in found.partitions:
        lag = f"{each.lag:,}{'+' if each.lag >= _MOST_LAG else ''}"
        style = "" if each.lag or each.attempts else "dim"
        failed = f"{each.attempts:,}" if each.attempts else ""
        made.add_row(str(each.partition), Text(plain(each.member_id)), lag, failed, excerpt(each.last_error), style=style)
    return made


def _parked_table() -> Table:
    return table(
        "id", "time", "session", "change", "attempts", "reason", ids=("id", "session"), numbers=("attempts",), rest="reason"
    )


def _add_parked(made: Table, each: ParkedChange) -> None:
    ref = each.change.session
    session = "/".join(name for name in (ref.app, ref.user_id, ref.session_id) if name)
    reason = f"{'(replaying) ' if each.replaying else ''}{each.reason}"
    cells = (shown_time(each.park_time), Text(plain(session)), in_brief(each.change), f"{each.attempts:,}")
    made.add_row(each.parked_id, *cells, excerpt(reason, width=room()))


def _scope(scope: ChangeScope) -> str:
    """Returns the scope in terms of the options of `threadkeep watch`."""
    named = [f"user {scope.user_id}"] if scope.user_id else []
    if scope.HasField("app"):
        named.append(f"app {scope.app}" if scope.app else "without app")
    named += [f"{key}={value}" for key, value in sorted(scope.labels.items())]
    return ", ".join(named) or "all"


def _filter(consumer: Consumer) -> str:
    fields = as_json(consumer.filter)
    return json_.dumps(fields, ensure_ascii=False) if fields else ""


def _consumer_json(each: Consumer) -> dict[str, Any]:
    return {**as_json(each), "ack_timeout": each.ack_timeout.ToTimedelta().total_seconds()}


def _state_json(found: GetConsumerResponse) -> dict[str, Any]:
    fields = ("partition", "member_id", "lag", "attempts", "last_error")
    return {
        "consumer": _consumer_json(found.consumer),
        "members": [as_json(each) for each in found.members],
        "partitions": [{name: getattr(each, name) for name in fields} for each in found.partitions],
        "parked_changes": found.parked_changes,
    }


def _parked_json(each: ParkedChange) -> dict[str, Any]:
    return {**as_json(each), "change": change_json(each.change), "replaying": each.replaying}
