"""`threadkeep events`: list, show, append."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from ... import AsyncClient
from ...filters import Authors, Filter, event_filter
from ...messages import event as make_event
from ...messages import tool_result_part, with_ids
from ...v1 import event_pb2
from ...v1.event_service_pb2 import AppendEventsResponse
from ...v1.message_pb2 import Part
from ...v1.session_pb2 import SessionRef
from ..options import (
    Address,
    App,
    AsOf,
    AsOfSeq,
    AsOfVersion,
    Cli,
    Json,
    SessionId,
    Token,
    User,
    cli_of,
    one_moment,
    pairs,
    ref_of,
    usage,
)
from ..render.output import (
    Listing,
    as_json,
    console,
    event_json,
    excerpt,
    facts,
    plain,
    print_json,
    role_of,
    room,
    shown_time,
    summary_of,
    table,
)

events_app = typer.Typer(help="List, show and append events.", no_args_is_help=True)


class Role(StrEnum):
    """The role of a message."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


@events_app.command("list")
def list_events(
    ctx: typer.Context,
    session: SessionId,
    user: User = "",
    app: App = None,
    last_n: Annotated[
        int | None, typer.Option(min=1, help="Only this number of newest events, extended to whole turns.")
    ] = None,
    exact_last_n: Annotated[int | None, typer.Option(min=1, help="Only this number of newest events, exactly.")] = None,
    role: Annotated[list[Role] | None, typer.Option(help="Only this role; may be repeated.")] = None,
    keyword: Annotated[list[str] | None, typer.Option(help="Only texts with this keyword; may be repeated: all.")] = None,
    author: Annotated[list[str] | None, typer.Option(help="Only this agent id; may be repeated.")] = None,
    branch: Annotated[str, typer.Option(help="What an agent on this branch sees.")] = "",
    exact_branch: Annotated[bool, typer.Option("--exact-branch", help="Only this branch; without --branch, the root.")] = False,
    invocation: Annotated[list[str] | None, typer.Option(help="Only this invocation id; may be repeated.")] = None,
    metadata: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Only with this metadata; may be repeated.")
    ] = None,
    native_format: Annotated[list[str] | None, typer.Option(help="Only this native format; may be repeated.")] = None,
    pattern: Annotated[str, typer.Option(help="Only texts that this regular expression (RE2) matches.")] = "",
    after_seq: Annotated[int | None, typer.Option(help="Only events with a greater seq.")] = None,
    before_seq: Annotated[int | None, typer.Option(help="Only events with a lesser seq.")] = None,
    from_time: Annotated[datetime | None, typer.Option(help="Only events at or after this time.")] = None,
    to_time: Annotated[datetime | None, typer.Option(help="Only events at or before this time.")] = None,
    active: Annotated[bool, typer.Option("--active", help="Without archived events.")] = False,
    limit: Annotated[int, typer.Option(min=0, help="Maximum number; 0: all.")] = 1000,
    as_of_seq: AsOfSeq = None,
    as_of_version: AsOfVersion = None,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """List a session's events in window order, archived ones and summaries marked. With --json, one to a line."""
    cli = cli_of(ctx, address, token, json)
    one_moment(as_of_seq, as_of_version)
    chosen = event_filter(
        from_time=aware(from_time),
        to_time=aware(to_time),
        after_seq=after_seq,
        before_seq=before_seq,
        roles=[each.value for each in role or []],
        authors=Authors.include(author) if author else (),
        view="active" if active else "history",
        keywords=keyword or (),
        match="all",
        branch=branch,
        branch_match="exact" if exact_branch else "visible",
        invocation_ids=invocation or (),
        native_formats=native_format or (),
        metadata=pairs(metadata or [], "--metadata"),
        pattern=pattern,
        last_n=last_n,
        exact_last_n=exact_last_n,
    )
    moment = AsOf(as_of_seq=as_of_seq, as_of_log_version=as_of_version)
    _list(cli, ref_of(session, user, app), chosen, (keyword or [""])[0], limit, moment)


def _list(cli: Cli, session: SessionRef, chosen: Filter, keyword: str, limit: int, moment: AsOf) -> None:
    """Prints the events that a filter selects, up to a number."""
    row = partial(add_event_row, keyword, marked=True)
    listing = Listing(event_json if cli.json else None, partial(event_table, marked=True), row, "no events")
    order = _Order()

    async def found(client: AsyncClient) -> bool:
        ref = (await client.get_session(session)).ref
        async for event in client.events(ref, chosen, page_size=_page(chosen, limit), **moment):
            if limit and listing.count == limit:
                return True
            order.see(event.seq)
            listing.add(event.pb)
        return False

    more = cli.call(found)
    listing.end()
    if not cli.json:
        order.explain()
    if more:
        print(f"only the first {limit:,} are shown; --after-seq continues, --limit 0 shows all", file=sys.stderr)


@events_app.command("show")
def show_event(
    ctx: typer.Context,
    session: SessionId,
    event_id: Annotated[str, typer.Argument(metavar="EVENT", help="The event's id, or its seq.")],
    user: User = "",
    app: App = None,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Show one event completely: every part, call and result, verbatim."""
    cli = cli_of(ctx, address, token, json)

    async def got(client: AsyncClient) -> event_pb2.SessionEvent:
        ref = ref_of(session, user, app)
        if event_id.isdecimal() and event_id.isascii() and len(event_id) < 19:
            seq = int(event_id)
            page = await client.events_page(ref, event_filter(after_seq=seq - 1, before_seq=seq + 1))
            if page.events:
                return page.events[0].pb
        return (await client.get_event(ref, event_id)).pb

    found = cli.call(got)
    if cli.json:
        print_json(event_json(found))
        return
    rows = [
        ("seq", str(found.seq)),
        ("event", found.event_id),
        ("role", role_of(found)),
        ("author", " ".join(each for each in (found.author, found.author_role and f"({found.author_role})") if each)),
        ("branch", found.branch),
        ("event time", found.event_time.ToJsonString() if found.HasField("event_time") else ""),
        ("recorded", found.record_time.ToJsonString()),
        ("invocation", found.invocation_id),
        ("usage", ", ".join(f"{key} {value:,}" for key, value in as_json(found.usage).items())),
        ("metadata", found.metadata_json),
        ("synthetic", (found.compaction_source or "yes") if found.synthetic else ""),
        ("archived", "yes" if found.archived else ""),
        ("native", f"{found.native.format}, {len(found.native.content):,} bytes" if found.native.format else ""),
        ("size", f"{found.size_bytes:,} bytes, ~{found.token_estimate:,} tokens"),
    ]
    rows += [row for part in found.message.parts for row in part_rows(part)]
    console().print(facts([(name, plain(value)) for name, value in rows if value]))


@events_app.command("append")
def append_event(
    ctx: typer.Context,
    session: SessionId,
    text: Annotated[str | None, typer.Argument(help="The text; - reads standard input.")] = None,
    text_option: Annotated[str | None, typer.Option("--text", help="The text, instead of the argument.")] = None,
    role: Annotated[Role, typer.Option(help="Who speaks.")] = Role.USER,
    user: User = "",
    app: App = None,
    create: Annotated[bool, typer.Option("--create", help="Create the session if it does not exist; requires --user.")] = False,
    event_id: Annotated[str, typer.Option(help="The event's id: appending it again adds nothing (default a new one).")] = "",
    author: Annotated[str, typer.Option(help="The agent that wrote it.")] = "",
    author_role: Annotated[str, typer.Option(help="That agent's role in its fleet.")] = "",
    branch: Annotated[str, typer.Option(help="The agent branch.")] = "",
    call_id: Annotated[str, typer.Option(help="With --role tool: the call that the text answers.")] = "",
    metadata: Annotated[str, typer.Option(metavar="JSON", help="Metadata, a JSON object.")] = "",
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Append one event."""
    cli = cli_of(ctx, address, token, json)
    made = with_ids(
        make_event(
            role.value,
            _content(text, text_option, role, call_id),
            event_id=event_id,
            author=author,
            author_role=author_role,
            branch=branch,
            metadata=metadata,
        )
    )

    async def appended(client: AsyncClient) -> AppendEventsResponse:
        return await client.append(ref_of(session, user, app), *made, create_if_missing=create)

    answer = cli.call(appended)
    done = answer.events[0]
    if cli.json:
        print_json(
            {
                "event_id": done.event_id,
                "seq": done.seq,
                "replayed": done.replayed,
                "log_version": answer.log_version,
                "session_created": answer.session_created,
            }
        )
    else:
        print(f"{'already there' if done.replayed else 'appended'}: event {plain(done.event_id)}, seq {done.seq:,}")


def part_rows(part: Part) -> list[tuple[str, str]]:
    """Returns one part of a message, complete, as names and values."""
    kind = part.WhichOneof("content")
    if kind == "text":
        return [("text", part.text)]
    if kind == "reasoning":
        return [("reasoning", part.reasoning.text or "(encrypted)")]
    if kind == "tool_call":
        call = part.tool_call
        return [("tool call", f"{call.name} ({call.kind or 'function'}, id {call.id})"), ("arguments", call.arguments_json)]
    if kind == "tool_result":
        result = part.tool_result
        failed = ", an error" if result.is_error else ""
        rows = [("tool result", f"{result.name} (for {result.call_id}{failed})"), ("structured", result.structured_json)]
        return rows + [row for each in result.parts for row in part_rows(each)]
    if kind == "media":
        media = part.media
        source = media.uri or media.file_id or f"{len(media.data):,} bytes"
        return [("media", " ".join(each for each in (media.mime_type, media.name, source) if each))]
    if kind == "data":
        return [("data", f"{part.data.type} {part.data.json}")]
    return [("part", "of a kind that this version does not know")]


class _Order:
    """Notes whether seqs ascend."""

    def __init__(self) -> None:
        self._last = 0
        self._ascending = True

    def see(self, seq: int) -> None:
        """Checks the next seq."""
        self._ascending = self._ascending and seq > self._last
        self._last = seq

    def explain(self) -> None:
        """Prints why the seqs do not ascend, if they do not."""
        if not self._ascending:
            why = "a summary is newer than the events after it, and is at the place of those it replaced"
            print(f"note: seqs do not ascend: {why}", file=sys.stderr)


def event_table(*, marked: bool = False) -> Table:
    """Returns an empty table of events; `marked`: with a column that marks archived events and summaries."""
    state = ("state",) if marked else ()
    return table("seq", *state, "time", "role", "author", "content", ids=("author",), numbers=("seq",), rest="content")


def add_event_row(keyword: str, made: Table, event: event_pb2.SessionEvent, *, marked: bool = False) -> None:
    """Adds the row of an event."""
    time = shown_time(event.event_time if event.HasField("event_time") else event.record_time)
    content = excerpt(summary_of(event), keyword, room())
    style = "dim" if event.archived else ""
    state = ("archived" if event.archived else "summary" if event.synthetic else "",) if marked else ()
    made.add_row(str(event.seq), *state, time, role_of(event), Text(plain(event.author)), content, style=style)


def _content(argument: str | None, option: str | None, role: Role, call_id: str) -> str | Part:
    if (argument is None) == (option is None):
        raise usage("give the text once: as the argument, with --text, or - for standard input")
    text = argument if option is None else option
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "strict").removesuffix("\n")
    if bool(call_id) != (role is Role.TOOL):
        raise usage("--call-id and --role tool go together")
    return tool_result_part(call_id, text or "") if call_id else text or ""


def _page(chosen: Filter, limit: int) -> int:
    if chosen.WhichOneof("limit"):
        return 0
    return min(limit + 1, 1000) if limit else 1000


def aware(time: datetime | None) -> datetime | None:
    """Returns the time; without a zone it is local time."""
    return time if time is None or time.tzinfo else time.astimezone(UTC)
