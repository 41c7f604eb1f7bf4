"""`threadkeep memory`: add, ingest, search, list, delete; `memory_entries` has the others."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ... import AsyncClient, AsyncUserMemory, MemorySelection, memory_entry, memory_name
from ...messages import text_of
from ...v1.event_pb2 import SessionEvent
from ...v1.memory_pb2 import MemoryEntry
from ...v1.memory_service_pb2 import AddSessionToMemoryResponse, DeleteMemoriesResponse
from ..errors import counted
from ..memory_options import Conditions, Prefix, conditions_of, labels_text
from ..options import Address, Json, Token, cli_of, pairs, ref_of, usage
from ..render.output import Listing, as_json, console, page_for, plain, print_json, room, say_more, shown_time, table
from ..render.search_output import blocks, highlights_json, marked, remarks
from ..search_options import MinScore
from .search import Mode, ModeOption

memory_app = typer.Typer(help="Long-term memory of a user, across sessions.", no_args_is_help=True)

Owner = Annotated[str, typer.Option("--user", help="Whose memory. Not needed with a token that names its user.")]
App = Annotated[str | None, typer.Option("--app", help="The application; by default entries without one.")]
Author = Annotated[str, typer.Option("--author", help="Who said it.")]
Sessions = Annotated[list[str] | None, typer.Option("--session", help="Only from this session; may be repeated.")]
Metadata = Annotated[
    list[str] | None, typer.Option("--where", metavar="KEY=VALUE", help="Only with this metadata; may be repeated.")
]


@memory_app.command("add")
def add(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(help="What to remember; - reads it from standard input.")],
    user: Owner = "",
    app: App = None,
    author: Author = "",
    memory_id: Annotated[str, typer.Option("--id", help="The entry's id; adding the same entry again changes nothing.")] = "",
    metadata: Annotated[str, typer.Option("--metadata", help="Metadata, a JSON object.")] = "",
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Add a memory entry."""
    cli = cli_of(ctx, address, token, json)
    content = sys.stdin.read() if text == "-" else text
    if not content.strip():
        raise usage("TEXT must not be blank; say what to remember")
    entry = memory_entry(content, id=memory_id, author=author, metadata=metadata or None)

    async def added(client: AsyncClient) -> Any:
        return (await memory_of(client, user, app).add(entry))[0]

    result = cli.call(added)
    if cli.json:
        print_json({"id": result.id, "replayed": result.replayed})
    else:
        print(f"{plain(result.id)} was there already" if result.replayed else f"remembered as {plain(result.id)}")


@memory_app.command("ingest")
def ingest(
    ctx: typer.Context,
    sessions: Annotated[list[str], typer.Argument(metavar="SESSION...", help="The sessions' ids.")],
    user: Owner = "",
    app: App = None,
    tools: Annotated[bool, typer.Option("--include-tools", help="Tool calls and results too.")] = False,
    reasoning: Annotated[bool, typer.Option("--include-reasoning", help="Reasoning too.")] = False,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Add the events of sessions to memory. A repetition adds only new events."""
    cli = cli_of(ctx, address, token, json)

    async def ingested(client: AsyncClient) -> list[AddSessionToMemoryResponse]:
        memory = memory_of(client, user, app)
        return [
            await memory.add_session(ref_of(each, memory.user_id, memory.app), include_tools=tools, include_reasoning=reasoning)
            for each in sessions
        ]

    for session, counts in zip(sessions, cli.call(ingested), strict=True):
        if cli.json:
            names = ("added", "existing", "skipped", "deleted")
            print_json({"session": session, **{name: getattr(counts, name) for name in names}})
            continue
        rest = [f"{counts.existing:,} there already", f"{counts.skipped:,} without text", f"{counts.deleted:,} deleted before"]
        shown_rest = ", ".join(each for each in rest if not each.startswith("0 "))
        print(f"{plain(session)}: {counts.added:,} added" + (f", {shown_rest}" if shown_rest else ""))


@memory_app.command("search")
def search_memory(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="A question or keywords.")],
    mode: ModeOption = Mode.AUTO,
    user: Owner = "",
    app: App = None,
    session: Sessions = None,
    where: Metadata = None,
    condition: Conditions = None,
    namespace: Prefix = None,
    min_score: MinScore = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number.")] = 10,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Search memory entries, best first. With --json, one entry per line."""
    cli = cli_of(ctx, address, token, json)
    chosen = _selection(session, where, condition, namespace)
    listing = Listing(_found_json if cli.json else None, partial(memory_table, "score"), _show_found, _nothing("found", app))

    async def found(client: AsyncClient) -> list[str]:
        memory = memory_of(client, user, app)
        answer = await memory.search(query, mode=mode.value, top_k=limit, min_score=min_score, **chosen)
        for entry in answer.entries:
            listing.add(entry)
        return remarks(answer, hybrid=mode is Mode.HYBRID)

    notes = cli.call(found)
    listing.end()
    for remark in notes:
        print(remark, file=sys.stderr)


@memory_app.command("list")
def list_memories(
    ctx: typer.Context,
    user: Owner = "",
    app: App = None,
    session: Sessions = None,
    where: Metadata = None,
    condition: Conditions = None,
    namespace: Prefix = None,
    limit: Annotated[int, typer.Option(min=0, help="Maximum number; 0: all.")] = 100,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """List memory entries, the last added first. With --json, one entry per line."""
    cli = cli_of(ctx, address, token, json)
    chosen = _selection(session, where, condition, namespace)
    listing = Listing(as_json if cli.json else None, memory_table, memory_row, _nothing("is remembered", app))

    async def found(client: AsyncClient) -> bool:
        return await listing.fill(memory_of(client, user, app).list(page_size=page_for(limit), **chosen), limit)

    more = cli.call(found)
    listing.end()
    say_more(more, limit, "last")


@memory_app.command("delete")
def delete(
    ctx: typer.Context,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="The entries' ids.")] = None,
    user: Owner = "",
    app: App = None,
    namespace: Annotated[
        list[str] | None,
        typer.Option("--namespace", metavar="LABEL", help="The ids' namespace; without ids, all in it and below it."),
    ] = None,
    session: Annotated[str, typer.Option("--session", help="Everything from this session instead.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Everything of the user in the app instead.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Delete entries permanently. Deleted entries from sessions are not ingested again."""
    cli = cli_of(ctx, address, token, json)
    below = bool(namespace) and not ids
    if bool(ids) + below + bool(session) + everything != 1:
        raise usage("give ids, or --namespace, or --session, or --all")
    what = counted(len(ids or ()), "entry", "entries") + labels_text(namespace)
    if not ids:
        what = "everything" + (f" of session {session}" if session else labels_text(namespace))
    if not yes:
        if cli.json or not sys.stdin.isatty():
            raise usage("deletion is permanent; confirm with --yes")
        typer.confirm(f"Delete {plain(what)} permanently?", abort=True, err=True)

    async def deleted(client: AsyncClient) -> DeleteMemoriesResponse:
        memory = memory_of(client, user, app)
        if everything:
            return await memory.delete(all=True)
        if below:
            return await memory.delete(namespace=namespace)
        names = [memory_name(each, namespace or ()) for each in ids or ()]
        return await (memory.delete(session_id=session) if session else memory.delete(names))

    receipt = cli.call(deleted)
    if cli.json:
        names = ("deleted", "embeddings_deleted", "not_found")
        counts = {name: getattr(receipt, name) for name in names}
        print_json({**counts, "delete_time": receipt.delete_time.ToJsonString()})
        return
    missing = f"; {receipt.not_found:,} not found" if receipt.not_found else ""
    print(f"forgot {receipt.deleted:,}, with {counted(receipt.embeddings_deleted, 'embedding')}{missing}")


def _selection(
    session: list[str] | None, where: list[str] | None, condition: list[str] | None, namespace: list[str] | None
) -> MemorySelection:
    return {
        "session_ids": session or [],
        "metadata": pairs(where or [], "--where"),
        "conditions": conditions_of(condition),
        "namespace_prefix": namespace or [],
    }


def memory_of(client: AsyncClient, user: str, app: str | None) -> AsyncUserMemory:
    return client.memory(user_id=user or None, app=app)


def _nothing(what: str, app: str | None) -> str:
    """Returns the message for an empty result, with the scope if another scope may have entries."""
    return f"nothing {what}" if app else f"nothing {what} among memories without an app; --app names one"


def memory_table(*first: str) -> Table:
    if sys.stdout.isatty():
        return blocks()
    return table(*first, "id", "author", "time", "session", "text", numbers=first)


def _row(made: Table, entry: MemoryEntry, *first: str, spans: Sequence[tuple[int, int]] = ()) -> None:
    """On a terminal a line of metadata and one of text; elsewhere the columns of a table."""
    time = shown_time(entry.event_time if entry.HasField("event_time") else entry.record_time)
    author, session, text = plain(entry.author), plain(entry.session_id), text_of(SessionEvent(message=entry.content))
    if not sys.stdout.isatty():
        made.add_row(*first, Text(plain(entry.id)), Text(author), time, Text(session), marked(text, spans, room()))
        return
    head = (*first, plain(entry.id), author, time, session and f"of {session}")
    made.add_row(Text("  ".join(each for each in head if each), "bold"))
    made.add_row(Padding(marked(text, spans, console().width - 6), (0, 0, 0, 2)))


def memory_row(made: Table, entry: MemoryEntry) -> None:
    _row(made, entry)


def _show_found(made: Table, entry: MemoryEntry) -> None:
    _row(made, entry, f"{entry.score:.3f}", spans=[(each.start, each.end) for each in entry.highlights])


def _found_json(entry: MemoryEntry) -> dict[str, Any]:
    return {**as_json(entry), "score": entry.score, "highlights": highlights_json(entry.highlights)}
