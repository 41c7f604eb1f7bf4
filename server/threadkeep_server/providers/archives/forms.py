"""The formats of archives: each holds the JSON lines of an export and gives them back byte for byte."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import zlib
from pathlib import Path

from ...domain.retention.policies import Form
from .base import StorageFailed

_CHUNK = 1 << 20


def pack(lines: Path, into: Path, form: Form) -> None:
    """Writes an archive of a file of JSON lines."""
    if form is Form.PARQUET:
        from .parquet import pack as pack_rows  # needs the extra `archive`

        pack_rows(lines, into)
        return
    with lines.open("rb") as source, into.open("wb") as out:
        if form is Form.JSON_LINES:
            shutil.copyfileobj(source, out, _CHUNK)
            return
        # Without name and time the same lines make the same archive.
        with gzip.GzipFile("", "wb", fileobj=out, mtime=0) as packed:
            shutil.copyfileobj(source, packed, _CHUNK)


def unpack(archive: Path, into: Path, form: Form) -> None:
    """Writes the JSON lines of an archive. Raises StorageFailed if it is damaged."""
    if form is Form.PARQUET:
        from .parquet import unpack as unpack_rows

        unpack_rows(archive, into)
        return
    try:
        with archive.open("rb") as source, into.open("wb") as out:
            if form is Form.JSON_LINES:
                shutil.copyfileobj(source, out, _CHUNK)
                return
            with gzip.GzipFile(fileobj=source) as packed:
                shutil.copyfileobj(packed, out, _CHUNK)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise StorageFailed(f"the archive is damaged: {error}") from None


def digest(path: Path) -> str:
    """Returns the SHA-256 of a file, in hex."""
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
