"""`threadkeep audit`: the audit log of a running server."""

from __future__ import annotations

import json as json_
from datetime import datetime
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from ...v1.server_service_pb2 import AuditRecord
from ..options import Address, Json, Token, cli_of
from ..render.output import Listing, page_for, plain, say_more, shown_time, table
from .events import aware

_COLUMNS = ("began", "outcome", "method", "caller", "target", "from")


def audit(
    ctx: typer.Context,
    method: Annotated[str, typer.Option(help="Only calls of this method, as in DeleteSession.")] = "",
    caller: Annotated[str | None, typer.Option(metavar="USER", help="Only of credentials that are bound to this user.")] = None,
    session: Annotated[str, typer.Option(metavar="SESSION", help="Only calls that named this session.")] = "",
    outcome: Annotated[str, typer.Option(help="Only with this outcome: OK, or the reason of an error.")] = "",
    after: Annotated[datetime | None, typer.Option(help="Only begun at this time or later.")] = None,
    before: Annotated[datetime | None, typer.Option(help="Only begun before this time.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="Maximum number; 0: all.")] = 100,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Show the server's audit log of your tenant, newest first. With --json, one record to a line."""
    cli = cli_of(ctx, address, token, json)
    listing = Listing(_json if cli.json else None, lambda: table(*_COLUMNS, ids=_COLUMNS), _add_row, "no records")
    more = cli.call(
        lambda client: listing.fill(
            client.audit_records(
                method=method,
                caller_user_id=caller,
                session_id=session,
                outcome=outcome,
                from_time=aware(after),
                to_time=aware(before),
                page_size=page_for(limit),
            ),
            limit,
        )
    )
    listing.end()
    say_more(more, limit)


def _json(record: AuditRecord) -> dict[str, object]:
    return {
        "begin_time": record.begin_time.ToJsonString(),
        "method": record.method,
        "caller_user_id": record.caller_user_id if record.HasField("caller_user_id") else None,
        "caller_app": record.caller_app if record.HasField("caller_app") else None,
        "peer": record.peer,
        "target": json_.loads(record.target_json),
        "outcome": record.outcome,
        "duration_ms": record.duration_ms,
    }


def _add_row(made: Table, record: AuditRecord) -> None:
    target = json_.loads(record.target_json)
    named = " ".join(f"{name}={value}" for name, value in target.items())
    bound = "/".join(each for each in (record.caller_app, record.caller_user_id) if each)
    method = record.method.removeprefix("threadkeep.v1.")
    cells = (shown_time(record.begin_time), record.outcome, method, bound, named, record.peer)
    made.add_row(*(Text(plain(each)) for each in cells))
