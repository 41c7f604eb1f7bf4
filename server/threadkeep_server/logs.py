"""Log lines on standard error, as text or JSON. Payloads and credentials are never logged."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

from .telemetry.rpcs import log_fields

# The attributes of every record; the others come from `extra`.
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
_CONTROL = {code: f"\\x{code:02x}" for code in (*range(0x20), 0x7F) if code not in (0x09, 0x0A)}
# Libraries whose lines below WARNING are of no use to an operator.
_QUIET = ("asyncio", "uvicorn", "uvicorn.error", "uvicorn.access", "alembic", "sqlalchemy", "asyncpg", "grpc")


class JsonFormatter(logging.Formatter):
    """One JSON object per line: ts (UTC), level, logger, message, the extra fields, and exception if there is one.
    In a call, the fields are request_id and, in a trace, trace_id."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "ts": _timestamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {key: value for key, value in _extra(record).items() if key not in line}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class TextFormatter(logging.Formatter):
    """Time, level, logger, message and `key=value` for the extra fields, with control characters escaped."""

    def format(self, record: logging.LogRecord) -> str:
        extra = "".join(f" {key}={value}" for key, value in _extra(record).items())
        text = f"{record.getMessage()}{extra}".replace("\n", "\\n")
        line = f"{_timestamp(record)} {record.levelname:<7} {record.name}: {text}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line.translate(_CONTROL)


def setup_logging(level: str, format: str, stream: TextIO | None = None) -> None:  # noqa: A002  the setting's name
    """Writes the log of the process to `stream`, standard error by default, as `text` or `json`, from `level` on."""
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(JsonFormatter() if format == "json" else TextFormatter())
    root = logging.getLogger()
    for old in [each for each in root.handlers if isinstance(each.formatter, JsonFormatter | TextFormatter)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    logging.captureWarnings(capture=True)


def _timestamp(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    return log_fields() | {key: value for key, value in vars(record).items() if key not in _STANDARD}
