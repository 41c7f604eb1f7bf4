"""`threadkeep memory`: get, set, namespaces."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ... import AsyncClient, memory_entry, memory_name
from ...v1.memory_pb2 import MemoryEntry
from ...v1.memory_service_pb2 import MemoryWriteOutcome, UpsertedMemory
from ..errors import CliError, Exit
from ..memory_options import Labels, labels_text
from ..options import Address, Json, Token, cli_of, usage
from ..render.output import Listing, as_json, plain, print_json, say_more, table
from ..search_options import duration_of
from .memory import App, Author, Owner, memory_app, memory_of, memory_row, memory_table


@memory_app.command("get")
def get_memories(
    ctx: typer.Context,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="The entries' ids.")],
    namespace: Labels = None,
    refresh: Annotated[bool, typer.Option("--refresh-ttl", help="Let the entries expire one ttl from now.")] = False,
    user: Owner = "",
    app: App = None,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Print entries by id. With --json, one entry per line. Exit code 3 if one does not exist; the others are printed."""
    cli = cli_of(ctx, address, token, json)
    names = [memory_name(each, namespace or ()) for each in ids]

    async def found(client: AsyncClient) -> list[MemoryEntry | None]:
        return list(await memory_of(client, user, app).get_many(names, refresh_ttl=refresh))

    listing = Listing(as_json if cli.json else None, memory_table, memory_row, "")
    entries = cli.call(found)
    for entry in entries:
        if entry is not None:
            listing.add(entry)
    if listing.count:
        listing.end()
    missing = [each for each, entry in zip(ids, entries, strict=True) if entry is None]
    if missing:
        raise CliError(f"there is no memory {plain(missing[0])!r}{labels_text(namespace)}", Exit.NOT_FOUND, reason="NOT_FOUND")


@memory_app.command("set")
def set_memory(
    ctx: typer.Context,
    memory_id: Annotated[str, typer.Argument(metavar="ID", help="The entry's id.")],
    text: Annotated[str, typer.Argument(help="What to remember; - reads it from standard input.")],
    namespace: Labels = None,
    author: Author = "",
    metadata: Annotated[str, typer.Option("--metadata", help="Metadata, a JSON object.")] = "",
    ttl: Annotated[str, typer.Option("--ttl", metavar="DURATION", help="How long it is kept, as in 12h or 7d.")] = "",
    etag: Annotated[
        str | None, typer.Option("--etag", help="Only if the stored entry has this etag; empty: only if there is none.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep-existing", help="Keep an entry that exists.")] = False,
    user: Owner = "",
    app: App = None,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Write an entry. One with the same id in the namespace is replaced."""
    cli = cli_of(ctx, address, token, json)
    content = sys.stdin.read() if text == "-" else text
    if not content.strip():
        raise usage("TEXT must not be blank; say what to remember")
    kept = duration_of(ttl, "--ttl") if ttl else None
    labels = namespace or ()
    entry = memory_entry(content, id=memory_id, author=author, metadata=metadata or None, namespace=labels, ttl=kept)
    choice = "ignore" if keep else "replace"

    async def written(client: AsyncClient) -> UpsertedMemory:
        return (await memory_of(client, user, app).upsert(entry, if_exists=choice, expected_etag=etag))[0]

    done = cli.call(written)
    outcome = MemoryWriteOutcome.Name(done.outcome).removeprefix("MEMORY_WRITE_OUTCOME_").lower()
    if cli.json:
        print_json({"id": done.name.id, "namespace": list(done.name.namespace), "outcome": outcome, "etag": done.etag})
    else:
        print(f"{outcome} {plain(done.name.id)}{labels_text(namespace)}, etag {done.etag}")


@memory_app.command("namespaces")
def memory_namespaces(
    ctx: typer.Context,
    prefix: Annotated[list[str] | None, typer.Option("--prefix", metavar="LABEL", help="First labels; * is any.")] = None,
    suffix: Annotated[list[str] | None, typer.Option("--suffix", metavar="LABEL", help="Last labels; * is any.")] = None,
    max_depth: Annotated[int, typer.Option(min=0, max=16, help="Only so many labels of each; 0: all.")] = 0,
    limit: Annotated[int, typer.Option(min=0, help="Maximum number; 0: all.")] = 100,
    user: Owner = "",
    app: App = None,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """List the namespaces that have entries. With --json, an array of labels per line."""
    cli = cli_of(ctx, address, token, json)
    listing: Listing[tuple[str, ...]] = Listing(
        list if cli.json else None,
        lambda: table("namespace"),
        lambda made, labels: made.add_row(" / ".join(map(plain, labels)) or "(root)"),
        "no namespaces have entries",
    )

    async def found(client: AsyncClient) -> bool:
        memory = memory_of(client, user, app)
        return await listing.fill(memory.namespaces(prefix=prefix or (), suffix=suffix or (), max_depth=max_depth), limit)

    more = cli.call(found)
    listing.end()
    say_more(more, limit)
