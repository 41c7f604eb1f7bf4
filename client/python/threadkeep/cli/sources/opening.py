"""From an argument of the command line to an input."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ..formats import FORMATS as FILE_FORMATS
from ..formats import ReadOptions
from ..options import usage
from .inputs import DatabaseInput, FileInput, Input
from .layouts import DATABASE_FORMATS
from .postgres import SCHEMES, PostgresDatabase, shown_url
from .sqlite import MAGIC, SqliteDatabase
from .transcripts import FORMAT as TRANSCRIPTS
from .transcripts import TranscriptInput, is_transcript


def opened(name: str, form: str | None, options: ReadOptions) -> Input:
    """The input of an argument: a file, `-` for standard input, a database or a directory. Raises CliError, OSError."""
    if name == "-":
        _check(name, "standard input", form, FILE_FORMATS)
        return FileInput(None, form, options)
    scheme = urlsplit(name).scheme.partition("+")[0] if "://" in name else ""
    if scheme in SCHEMES:
        _check(shown_url(name), "a PostgreSQL database", form, DATABASE_FORMATS)
        return DatabaseInput(shown_url(name), partial(PostgresDatabase, name), form, options)
    if scheme not in ("", "sqlite"):
        raise usage(f"{shown_url(name)} is no database that import can read; it reads sqlite:/// and postgresql:// addresses")
    return _at(Path(unquote(urlsplit(name).path).removeprefix("/")) if scheme else Path(name), form, options)


def _at(path: Path, form: str | None, options: ReadOptions) -> Input:
    if path.is_dir():
        _check(str(path), "a directory", form, (TRANSCRIPTS,))
        return TranscriptInput(path, options)
    if path.is_file():  # a pipe can be read only once
        with path.open("rb") as file:
            if file.read(len(MAGIC)) == MAGIC:
                _check(str(path), "a SQLite database", form, DATABASE_FORMATS)
                return DatabaseInput(str(path), partial(SqliteDatabase, path), form, options)
        if form == TRANSCRIPTS or (form is None and is_transcript(path)):
            return TranscriptInput(path, options)
    _check(str(path), "a file", form, FILE_FORMATS)
    return FileInput(path, form, options)


def _check(name: str, kind: str, form: str | None, forms: tuple[str, ...]) -> None:
    if form is not None and form not in forms:
        raise usage(f"{name} is {kind}; --format for it is {', '.join(forms)}, not {form}")
