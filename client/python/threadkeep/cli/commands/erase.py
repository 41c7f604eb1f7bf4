"""`threadkeep erase`: deletes everything of a user, of an app, or with labels, and checks receipts."""

from __future__ import annotations

import json as json_
import sys
from base64 import b64decode
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ... import AsyncClient
from ...v1.erasure_pb2 import ErasureReceipt
from ..errors import CliError, Exit, counted
from ..options import Address, Cli, Json, Token, cli_of, pairs, usage
from ..progress import meter
from ..render.output import console, facts, plain, print_json, whole_json

erase_app = typer.Typer(help="Delete everything of a user, of an app, or with labels, permanently.", no_args_is_help=True)

RequestId = Annotated[
    str, typer.Option("--request-id", help="Repeated with this id, it continues, or returns the same receipt for 30 days.")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Also write the receipt to a file.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")]


@erase_app.command("user")
def erase_user(
    ctx: typer.Context,
    user: Annotated[str, typer.Argument(metavar="USER", help="The user's id.")],
    app: Annotated[str | None, typer.Option("--app", help="Only of this app. (default: all apps)")] = None,
    request_id: RequestId = "",
    output: Output = None,
    yes: Yes = False,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Delete everything of a user: sessions, memories, policies and, without --app, consumers."""
    cli = cli_of(ctx, address, token, json)
    what = f"everything of user {user}" + ("" if app is None else f" in app {app or '(none)'}")
    _erase(
        cli,
        what,
        lambda client, seen: client.delete_user(user, app=app, any_app=app is None, request_id=request_id, progress=seen),
        output,
        yes=yes,
    )


@erase_app.command("app")
def erase_of_app(
    ctx: typer.Context,
    app: Annotated[str, typer.Argument(metavar="APP", help="The app; '' is what has no app.")],
    request_id: RequestId = "",
    output: Output = None,
    yes: Yes = False,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Delete everything of an app: the sessions and memories of all its users, and policies."""
    cli = cli_of(ctx, address, token, json)
    what = f"everything of app {app or '(none)'}"
    _erase(cli, what, lambda client, seen: client.delete_app(app, request_id=request_id, progress=seen), output, yes=yes)


@erase_app.command("labels")
def erase_labeled(
    ctx: typer.Context,
    labels: Annotated[list[str], typer.Argument(metavar="KEY=VALUE...", help="Labels that the sessions have, all of them.")],
    user: Annotated[str, typer.Option("--user", help="Only of this user. (default: every user)")] = "",
    app: Annotated[str | None, typer.Option("--app", help="Only of this app. (default: all apps)")] = None,
    purge_memories: Annotated[bool, typer.Option("--purge-memories", help="Also the memories that came from them.")] = False,
    request_id: RequestId = "",
    output: Output = None,
    yes: Yes = False,
    address: Address = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Delete the sessions with labels."""
    cli = cli_of(ctx, address, token, json)
    wanted = pairs(labels, "KEY=VALUE")

    def erased(client: AsyncClient, seen: Callable[[ErasureReceipt], None]) -> Awaitable[ErasureReceipt]:
        return client.delete_by_label(
            wanted,
            user_id=user or None,
            app=app,
            any_user=not user,
            any_app=app is None,
            purge_memories=purge_memories,
            request_id=request_id,
            progress=seen,
        )

    _erase(cli, f"all sessions with {', '.join(labels)}", erased, output, yes=yes)


@erase_app.command("verify")
def verify(
    ctx: typer.Context,
    receipt: Annotated[Path, typer.Argument(metavar="FILE", help="A receipt, as written with -o or --json.")],
    key: Annotated[Path, typer.Option("--key", metavar="FILE", help="The server's public key, PEM.")],
    json: Json = False,
) -> None:
    """Check the signature of a receipt, and show what it states. Needs no server."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        public = load_pem_public_key(key.read_bytes())
    except ValueError:
        public = None
    if not isinstance(public, Ed25519PublicKey):
        raise usage(f"--key: {key} is not the PEM file of an Ed25519 public key")
    try:
        stored = json_.loads(receipt.read_text())
        statement, signature = stored["statement"], b64decode(stored["signature"])
    except (ValueError, KeyError, TypeError):
        raise usage(f"{receipt} is not a signed receipt; the server signs with its setting receipt_key_file") from None
    try:
        public.verify(signature, statement.encode())
    except InvalidSignature:
        raise CliError("the receipt was changed, or another key signed it", Exit.FAILED, reason="INVALID_SIGNATURE") from None
    stated = json_.loads(statement)
    if cli_of(ctx, None, None, json).json:
        print_json(stated)
        return
    print("the signature is valid; the receipt states:")
    console().print(facts([(name, plain(_text(value))) for name, value in stated.items()]))


def _erase(
    cli: Cli,
    what: str,
    erase: Callable[[AsyncClient, Callable[[ErasureReceipt], None]], Awaitable[ErasureReceipt]],
    output: Path | None,
    *,
    yes: bool,
) -> None:
    if not yes:
        if cli.json or not sys.stdin.isatty():
            raise usage("deletion is permanent; confirm with --yes")
        typer.confirm(f"Delete {plain(what)} permanently?", abort=True, err=True)
    with meter("erasing", quiet=cli.json) as shown:

        def seen(receipt: ErasureReceipt) -> None:
            shown.at(receipt.deleted_sessions, receipt.deleted_events)

        receipt = cli.call(lambda client: erase(client, seen))
    facts_of = whole_json(receipt)
    if output is not None:
        output.write_text(json_.dumps(facts_of, indent=2) + "\n")
    if cli.json:
        print_json(facts_of)
        return
    archives = (counted(receipt.deleted_archives, "archive"),) if receipt.HasField("deleted_archives") else ()
    counts = (
        counted(receipt.deleted_sessions, "session"),
        counted(receipt.deleted_events, "event"),
        counted(receipt.deleted_memories, "memory", "memories"),
        counted(receipt.deleted_consumers, "consumer"),
        *archives,
    )
    print(f"erased {', '.join(counts)}")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json_.dumps(value, ensure_ascii=False)
