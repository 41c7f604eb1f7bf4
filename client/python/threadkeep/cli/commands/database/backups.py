"""`threadkeep db backup`, `restore` and `verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ...errors import Exit, counted
from ...options import Json, cli_of
from ...render.output import print_json
from ...server_part import ConfigFile, DatabaseUrl, DataDir, database_url_of, on_database, server_part, settings_of
from ..server import db_app
from .progress import reporting

_SHOWN = 20

PgBin = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder of pg_dump and pg_restore; default: Debian's for the newest version, or PATH."),
]
NoVerify = Annotated[bool, typer.Option("--no-verify", help="Do not read it whole afterwards.")]


@db_app.command("backup")
def backup(
    ctx: typer.Context,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write; its manifest is written next to it.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    no_verify: NoVerify = False,
    pg_bin: PgBin = None,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """Back up the database while its servers run.

    Writes FILE and FILE.manifest.json, which has its version, size and SHA-256. Then reads the backup whole, and exits with
    status 1 if it contradicts itself.
    """
    settings = _settings(config, data_dir, database_url)
    with reporting() as report:
        made = on_database(
            lambda _: _databases().back_up_database(
                settings, output.absolute(), report, force=force, verified=not no_verify, programs=pg_bin
            ),
            "",
        )
    manifest = made.manifest
    if cli_of(ctx, None, None, json).json:
        facts = {name: getattr(manifest, name) for name in ("bytes", "sha256", "schema_version")}
        print_json({"file": str(output)} | facts | _verified_json(made.verified))
    else:
        print(f"wrote {output}: {manifest.bytes:,} bytes, schema {manifest.schema_version}{_holding(made.verified)}")
        _print_findings(made.verified)
    _exit_with(made.verified)


@db_app.command("restore")
def restore(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup, with its manifest next to it.")],
    no_verify: NoVerify = False,
    pg_bin: PgBin = None,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """Restore a backup into a database that does not exist or is empty; no server may run on it.

    First compares the backup with its manifest. Subscribers and consumers resume where the backup was made.
    """
    settings = _settings(config, data_dir, database_url)
    with reporting() as report:
        done = on_database(
            lambda _: _databases().restore_database(settings, file.absolute(), report, verified=not no_verify, programs=pg_bin),
            "",
        )
    if cli_of(ctx, None, None, json).json:
        print_json({"file": str(file), "create_time": done.manifest.create_time} | _verified_json(done.verified))
    else:
        print(f"restored {file}, made at {done.manifest.create_time}{_holding(done.verified)}")
        _print_findings(done.verified)
    _exit_with(done.verified)


@db_app.command("verify")
def verify(
    ctx: typer.Context,
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="A backup; default: the server's database.")] = None,
    pg_bin: PgBin = None,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    json: Json = False,
) -> None:
    """Read a database or a backup whole, and print what contradicts itself. Exits with status 1 if anything does.

    Servers may run meanwhile. With the server's encryption keys in its settings, encrypted texts are read too.
    """
    settings = settings_of(config) if file is not None else _settings(config, data_dir, database_url)
    with reporting() as report:
        if file is None:
            done = on_database(lambda _: _databases().verify_database(settings, report), "")
        else:
            done = on_database(lambda _: _databases().verify_backup(settings, file.absolute(), report, programs=pg_bin), "")
    if cli_of(ctx, None, None, json).json:
        print_json(_verified_json(done))
    else:
        print(f"verified{_holding(done)}")
        _print_findings(done)
    _exit_with(done)


def _settings(config: Path | None, data_dir: Path | None, database_url: str | None) -> Any:
    database_url_of(config, data_dir=data_dir, database_url=database_url)  # refuses memory://
    return settings_of(config, data_dir=data_dir, database_url=database_url)


def _databases() -> Any:
    return server_part("app.databases")


def _holding(verified: Any) -> str:
    """Returns what was found in it, to end a line."""
    if verified is None:
        return ""
    content = verified.content
    held = "" if content is None else f"; {counted(content.sessions, 'session')}, {counted(content.events, 'event')}"
    unread = f", {counted(verified.unread, 'encrypted value')} not read: their keys are not given" if verified.unread else ""
    return f"{held}{unread}; {counted(verified.findings.total, 'finding')}"


def _print_findings(verified: Any) -> None:
    if verified is None:
        return
    for each in verified.findings.kept[:_SHOWN]:
        print(f"{each.kind}: {each.subject}: {each.problem}")
    if (rest := verified.findings.total - _SHOWN) > 0:
        print(f"and {counted(rest, 'more finding')}; --json prints the first {len(verified.findings.kept):,}")


def _verified_json(verified: Any) -> dict[str, Any]:
    if verified is None:
        return {"verified": False}
    content, findings = verified.content, verified.findings
    numbers = {name: getattr(content, name) for name in ("sessions", "events", "digest")} if content is not None else {}
    shown = [{"kind": each.kind, "subject": each.subject, "problem": each.problem} for each in findings.kept]
    counts = {"findings": findings.total, "by_kind": dict(findings.counts), "unread": verified.unread}
    return {"verified": True} | numbers | counts | {"shown": shown}


def _exit_with(verified: Any) -> None:
    if verified is not None and verified.findings.total:
        raise typer.Exit(Exit.FAILED)
