"""Archives in Parquet: a row per line of the export, with the line itself and columns to select and count by."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .base import StorageFailed

_ROWS = 1_000
_SCHEMA = pa.schema(
    [
        ("type", pa.string()),
        ("session_id", pa.string()),
        ("seq", pa.int64()),
        ("event_id", pa.string()),
        ("role", pa.string()),
        ("record_time", pa.string()),
        ("event", pa.binary()),
        ("line", pa.large_string()),
    ]
)


def pack(lines: Path, into: Path) -> None:
    """Writes an archive of a file of JSON lines."""
    with lines.open(encoding="utf-8", newline="\n") as source, pq.ParquetWriter(into, _SCHEMA, compression="zstd") as out:
        rows = map(_row, source)
        while some := list(islice(rows, _ROWS)):
            out.write_table(pa.Table.from_pylist(some, schema=_SCHEMA))


def unpack(archive: Path, into: Path) -> None:
    """Writes the JSON lines of an archive. Raises StorageFailed if it is damaged."""
    try:
        with into.open("w", encoding="utf-8", newline="\n") as out:
            out.writelines(_lines(archive))
    except (pa.ArrowException, KeyError) as error:
        raise StorageFailed(f"the archive is damaged: {type(error).__name__}") from None


def _lines(archive: Path) -> Iterator[str]:
    with pq.ParquetFile(archive) as file:
        for batch in file.iter_batches(_ROWS, columns=["line"]):
            for line in batch.column("line").to_pylist():
                yield f"{line}\n"


def _row(line: str) -> dict[str, Any]:
    value = json.loads(line)
    row = {name: value.get(name) for name in ("type", "seq", "event_id", "role", "record_time")}
    row |= {"session_id": value.get("session") or value.get("session_id"), "line": line.removesuffix("\n")}
    row["event"] = base64.b64decode(value["event"]) if value.get("event") else None
    return row
